"""The fleet's singleton duties."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from coordination.rules.keys import ResourceClass
from runtime import components, portal
from runtime.duties import Duty, DutyRun

CENSUS_EVERY: Final = timedelta(seconds=60)
CENSUS_TTL: Final = CENSUS_EVERY * 3
_NODE: Final = ResourceClass.parse("node")
_SEAT: Final = ResourceClass.parse("seat")


def count_the_living(run: DutyRun) -> Mapping[str, object]:
    """Count live presences and seats from certified listings; the figures ride the duty's lease."""
    run.check()
    return portal.run(_count)


async def _count() -> Mapping[str, object]:
    store = await components.store()
    nodes = await store.leases.list_live(_NODE)
    seats = await store.leases.list_live(_SEAT)
    return {"nodes": len(nodes), "seats": len(seats)}


CENSUS: Final = Duty(
    name="presence-census", cadence=CENSUS_EVERY, ttl=CENSUS_TTL, run=count_the_living
)
