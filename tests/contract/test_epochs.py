"""EPO-01 to EPO-03: the counters that fencing tokens are minted from outlive every lease."""

import json
from typing import Final

from coordination.contract.answers import Absent
from coordination.rules.keys import Resource
from coordination.rules.retention import SWEPT
from coordination.slots.store import SlotStore
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import CEO, CTO, PM, SECOND, A, B, claim, node
from tests.support.waiting import eventually

SCHEDULER: Final = Resource.parse("worker:scheduler")


@case("EPO-01", scope="kv")
async def test_each_class_is_walked_by_itself_because_the_broker_filters(
    wired: BrokerBackend,
) -> None:
    _, writer = await wired.open(handles=2)
    for resource in (CEO, CTO, PM, SCHEDULER, node("n1")):
        await claim(writer, resource, A)

    async def walk(slot: str, name: str) -> list[str]:
        """The keys of a class, which are all that the broker handed over."""
        wire = wired.wires[0]
        before = wire.deliveries
        listed = await wired.bucket(slot).listing(f"{name}.>", what=f"{name} {slot}")
        assert wire.deliveries - before == len(listed.entries)
        return [entry.key for entry in listed.entries]

    seats, presences, duties = ["seat.ceo", "seat.cto", "seat.pm"], ["node.n1"], [SCHEDULER.key]
    counters = {name: await walk("epochs", name) for name in ("seat", "worker", "node")}
    assert counters == {"seat": seats, "worker": duties, "node": presences}
    assert await walk("leases", "seat") == seats
    assert await walk("leases", "node") == presences
    assert await walk("leases", "worker") == []
    assert await walk("duties", "worker") == duties
    assert await walk("duties", "seat") == []


@case("EPO-02", scope="kv")
async def test_a_counter_outlives_the_lease_it_was_minted_for(wired: BrokerBackend) -> None:
    (store,) = await wired.open(lease_ttl=SECOND)
    lease = await claim(store, CEO, A, SECOND)
    minted = await wired.raw("epochs", CEO.key)
    assert minted is not None
    assert json.loads(minted)["epoch"] == lease.epoch

    async def reaped() -> bool:
        return await wired.raw("leases", CEO.key) is None

    assert not await reaped()
    await eventually(reaped, within=10, why="the broker reaps the lease")
    assert await store.leases.get(CEO) == Absent()
    assert await wired.raw("epochs", CEO.key) == minted
    assert (await claim(store, CEO, B, SECOND)).epoch == lease.epoch + 1


@case("EPO-03", scope="kv")
async def test_a_counter_is_never_aged_and_never_swept(wired: BrokerBackend) -> None:
    (store,) = await wired.open()
    lease = await claim(store, CEO, A)
    bucket = wired.bucket("epochs")
    config = (await (await wired.js()).stream_info(wired.stream("epochs"))).config
    assert not config.max_age
    assert (config.max_msgs, config.max_bytes) == (-1, -1)
    assert bucket.age is None
    opened = wired.stores[0]
    assert isinstance(opened, SlotStore)
    swept = [one.name for one in opened.buckets.swept()]
    assert bucket.name not in swept
    assert len(swept) == len(SWEPT) > 0
    assert (await store.leases.get(CEO)) == lease
