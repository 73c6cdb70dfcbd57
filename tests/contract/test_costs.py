"""What each verb asks of the broker is what `docs/coordination.md` says it does."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from coordination.contract.answers import Epoch, NodeId, Revision
from coordination.contract.leases import Lease
from coordination.contract.pauses import Created, Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.rules.features import MCP_STATUS
from tests.contract.broker import BrokerBackend
from tests.contract.terms import CEO, LONG, SEAT, T0, A, B, ask, claim, node
from tests.support.wire import Wire

PAGE: Final = Path(__file__).parents[2] / "docs" / "coordination.md"
ROW: Final = re.compile(r"^\| (`\w+\.\w+`.*?) \| (\d) \| (\d) \| (\d) \| (\d) \|$", re.MULTILINE)
SAYS: Final = {"status": {"features": [MCP_STATUS]}}
STOPPED: Final = Pause(handle="swe", by="jane", at=T0)
REPORT: Final = ConfigStatus(node=NodeId("n"), epoch=Epoch(1), status="ok", updated_at=T0)

type Verb = Callable[[], Awaitable[object]]
type Cost = tuple[int, int, int, int]  # leader reads, writes, listings, clock


def cost(wire: Wire) -> Cost:
    """What went over the wire since it was cleared."""
    listings = wire.count(r"\.CONSUMER\.CREATE\.")
    clock = wire.count(r"\.STREAM\.INFO\.") - 2 * listings
    assert wire.count(r"\.CONSUMER\.DELETE\.") == listings
    assert wire.direct_reads == 0
    return wire.leader_reads, wire.count(r"\$KV\."), listings, clock


@pytest.fixture
async def wired() -> AsyncIterator[BrokerBackend]:
    """The one backend whose requests are counted."""
    backend = BrokerBackend()
    try:
        yield backend
    finally:
        await backend.close()


@pytest.mark.broker
async def test_every_verb_costs_what_the_page_says(wired: BrokerBackend) -> None:
    (store,) = await wired.open(lease_ttl=LONG)
    wire = wired.wires[0]
    measured: dict[str, Cost] = {}

    async def measure[T](name: str, verb: Callable[[], Awaitable[T]]) -> T:
        wire.sent.clear()
        answer = await verb()
        measured[name] = cost(wire)
        return answer

    await store.leases.protocol_floor()  # opens the gate's view, which then serves every judgement
    lease = await measure("`leases.acquire`, a new tenure, gated", lambda: claim(store, CEO, A))
    await measure(
        "`leases.acquire`, a new tenure, ungated",
        lambda: claim(store, node("n"), A, hint="n", meta=SAYS),
    )
    await measure("`leases.acquire`, an extension, ungated", lambda: claim(store, node("n"), A))
    await measure("`leases.acquire`, refused: held", lambda: ask(store, CEO, B))
    await store.leases.renew(lease, ttl=LONG)
    for name, verb in lease_verbs(store, lease).items():
        await measure(name, verb)
    for name, verb in record_verbs(store).items():
        await measure(name, verb)
    versions = await pause_versions(store, measure)
    assert versions == sorted(set(versions))
    said = {name: tuple(map(int, counts)) for name, *counts in ROW.findall(PAGE.read_text())}
    assert measured == said


def lease_verbs(store: Store, lease: Lease) -> dict[str, Verb]:
    """The lease verbs beside claims, the release last."""
    leases = store.leases
    return {
        "`leases.renew`": lambda: leases.renew(lease, ttl=LONG),
        "`leases.get`": lambda: leases.get(CEO),
        "`leases.list_live`": lambda: leases.list_live(SEAT),
        "`leases.list_owned`": lambda: leases.list_owned(A),
        "`leases.hints`": lambda: leases.hints(SEAT, "n"),
        "`leases.protocol_floor`": leases.protocol_floor,
        "`leases.all_support`": lambda: leases.all_support(MCP_STATUS),
        "`leases.holder_supports`": lambda: leases.holder_supports(CEO, MCP_STATUS),
        "`leases.release`": lambda: leases.release(lease),
    }


def record_verbs(store: Store) -> dict[str, Verb]:
    """The verbs of configuration and statuses."""
    return {
        "`config.activate`": lambda: store.config.activate("r-1", b"sealed", at=T0),
        "`config.target`": store.config.target,
        "`config.payload`": lambda: store.config.payload("r-1"),
        "`status.report`": lambda: store.status.report(REPORT),
        "`status.list`": store.status.list,
    }


async def pause_versions(
    store: Store, measure: Callable[[str, Verb], Awaitable[object]]
) -> list[Revision]:
    """Measure each pause verb; the versions they moved through."""
    pauses = store.pauses
    created = await measure("`pauses.create`", lambda: pauses.create(STOPPED))
    assert isinstance(created, Created)
    await measure("`pauses.create`, one stands already", lambda: pauses.create(STOPPED))
    await measure("`pauses.amend`", lambda: pauses.amend(STOPPED, created.version))
    (standing,) = await pauses.list()
    await measure("`pauses.get`", lambda: pauses.get("swe"))
    await measure("`pauses.list`", pauses.list)
    await measure("`pauses.lift`", lambda: pauses.lift("swe", standing.revision))
    again = await measure("`pauses.create`, after a resume", lambda: pauses.create(STOPPED))
    assert isinstance(again, Created)
    return [created.version, standing.revision, again.version]
