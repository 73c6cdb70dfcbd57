"""What the lease slot makes of odd records, lost races and a fleet of two builds."""

import asyncio
import logging

import pytest

from coordination.contract.answers import Absent, Owner, Refused, RefusedReason
from coordination.contract.bucket import Operation
from coordination.contract.leases import Renewed
from coordination.errors import (
    ConfigurationMismatch,
    CorruptRecord,
    InvalidRequest,
    OutcomeUnknown,
)
from coordination.rules.keys import Resource
from coordination.slots.gate import Gate
from coordination.slots.leases import LeaseSlot
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock, Verb
from tests.slots.terms import AGE, CEO, ME, PEER, SEATS, SHORT, claim

OLD = Owner("node-old:core-1")
OLD_NODE = Resource.parse("node:node-old")
JUNK = b"\xff{"


async def test_sixteen_renewals_at_once_lose_no_tenure(store: FaultyStore) -> None:
    lease = await claim(store)
    answers = await asyncio.gather(*(store.leases.renew(lease, ttl=AGE) for _ in range(16)))
    assert all(isinstance(answer, Renewed) for answer in answers)
    assert store.faults.calls.count(("crewlet_leases", Verb.UPDATE)) > 18  # races were lost


async def test_a_renewal_whose_acknowledgement_was_lost_is_settled_by_the_next(
    store: FaultyStore,
) -> None:
    lease = await claim(store)
    store.faults.lose(Verb.UPDATE, bucket="leases")
    with pytest.raises(OutcomeUnknown):
        await store.leases.renew(lease, ttl=AGE)
    assert isinstance(await store.leases.renew(lease, ttl=AGE), Renewed)


@pytest.mark.parametrize("next_owner", [ME, PEER])
async def test_a_tenure_already_ended_when_it_is_read_back_is_not_granted(
    store: FaultyStore, peer: SlotStore, next_owner: Owner
) -> None:
    reading_back = store.faults.hold(Verb.READ, bucket="leases", nth=2)
    call = asyncio.create_task(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    await reading_back.reached.wait()
    tenure = await peer.leases.get(CEO)
    assert not isinstance(tenure, Absent)
    await peer.leases.release(tenure)
    assert (await claim(peer, next_owner)).epoch == 2
    reading_back.release()
    assert await call == Refused(because=RefusedReason.HELD)


async def test_a_lease_of_the_whole_age_ends_with_its_key(
    store: FaultyStore, clock: ManualClock
) -> None:
    await claim(store)
    clock.advance(AGE)
    assert isinstance(await store.leases.get(CEO), Absent)
    assert isinstance(await store.buckets.leases.read(CEO.key), Absent)
    assert (await claim(store, PEER)).epoch == 2


async def test_an_undecodable_record_is_nobodys_answer_by_key(store: FaultyStore) -> None:
    await store.buckets.leases.put(CEO.key, JUNK)
    with pytest.raises(CorruptRecord):
        await store.leases.get(CEO)
    with pytest.raises(CorruptRecord):
        await claim(store)


async def test_a_listing_skips_what_it_cannot_decode_and_says_so(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    lease = await claim(store)
    await store.buckets.leases.put("seat.junk", JUNK)
    await store.buckets.leases.put("seat.=zz", b"{}")
    with caplog.at_level(logging.WARNING):
        assert await store.leases.list_live(SEATS) == (lease,)
        assert await store.leases.list_owned(ME) == (lease,)
    assert "coord_kv_undecodable_record bucket=crewlet_leases key=seat.junk" in caplog.text
    assert "coord_kv_undecodable_key bucket=crewlet_leases key=seat.=zz" in caplog.text


@pytest.mark.parametrize(
    "field",
    [
        b'"ttl_ns":1e30',
        b'"ttl_ns":1000000000000000000000000000000',
        b'"ttl_ns":1,"epoch":-1',
        b'"ttl_ns":1,"acquired_at":"9999-12-31T23:59:59-23:59"',
        b'"ttl_ns":1,"meta":{"a":%s}' % (b"[" * 50_000 + b"]" * 50_000),
        b'"ttl_ns":1,"later":%s' % (b"[" * 50_000 + b"]" * 50_000),
    ],
)
async def test_no_strangers_record_takes_a_listing_down(store: FaultyStore, field: bytes) -> None:
    lease = await claim(store)
    hostile = b'{"resource":"seat:x","owner":"them","epoch":1,%s}' % field
    await store.buckets.leases.put("seat.x", hostile)
    assert await store.leases.list_live(SEATS) == (lease,)
    assert await store.leases.protocol_floor() == lease.protocol
    with pytest.raises(CorruptRecord):
        await store.leases.get(Resource.parse("seat:x"))


@pytest.mark.parametrize("epoch", [-1, 0])
async def test_a_counter_below_one_mints_no_token(store: FaultyStore, epoch: int) -> None:
    await store.buckets.epochs.put(CEO.key, b'{"resource":"seat:ceo","epoch":%d}' % epoch)
    with pytest.raises(CorruptRecord):
        await claim(store)
    assert isinstance(await store.leases.get(CEO), Absent)


@pytest.mark.parametrize("levels", [65, 900, 100_000])
async def test_a_meta_nested_too_deep_is_the_callers_error_and_writes_nothing(
    store: FaultyStore, levels: int
) -> None:
    meta: dict[str, object] = {}
    for _ in range(levels - 1):
        meta = {"in": meta}
    with pytest.raises(InvalidRequest):
        await store.leases.acquire(CEO, owner=ME, ttl=AGE, meta=meta)
    assert store.faults.calls == []


async def test_a_meta_nested_as_deep_as_may_be_reads_back(store: FaultyStore) -> None:
    meta: dict[str, object] = {}
    for _ in range(63):
        meta = {"in": meta}
    await store.leases.acquire(CEO, owner=ME, ttl=AGE, meta=meta)
    lease = await store.leases.get(CEO)
    assert not isinstance(lease, Absent)
    assert lease.meta == meta


@pytest.mark.parametrize("node", ["", " "])
async def test_hints_of_no_node_are_an_error_and_no_listing(store: FaultyStore, node: str) -> None:
    await claim(store)
    store.faults.calls.clear()
    with pytest.raises(InvalidRequest):
        await store.leases.hints(SEATS, node)
    assert store.faults.calls == []


@pytest.mark.parametrize("removed", [False, True])
async def test_a_counter_that_cannot_be_read_is_never_begun_again(
    store: FaultyStore, removed: bool
) -> None:
    await store.leases.release(await claim(store))
    if removed:
        await store.buckets.epochs.remove(CEO.key, Operation.PURGE)
    else:
        await store.buckets.epochs.put(CEO.key, JUNK)
    with pytest.raises(CorruptRecord):
        await claim(store)
    assert isinstance(await store.leases.get(CEO), Absent)


async def test_a_start_another_writer_left_unset_is_not_known(store: FaultyStore) -> None:
    body = (
        b'{"resource":"seat:ceo","owner":"node-a:core-1","epoch":3,"ttl_ns":300000000000,'
        b'"acquired_at":"0001-01-01T00:00:00Z","protocol":4,"later":{"than":"us"}}'
    )
    await store.buckets.leases.put(CEO.key, body)
    lease = await store.leases.get(CEO)
    assert not isinstance(lease, Absent)
    assert (lease.epoch, lease.acquired_at) == (3, None)


async def test_an_older_build_seen_behind_the_write_gets_the_seat_back(
    store: FaultyStore, peer: SlotStore, caplog: pytest.LogCaptureFixture
) -> None:
    minting = store.faults.hold(Verb.UPDATE, bucket="epochs")
    call = asyncio.create_task(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    await minting.reached.wait()
    await peer.leases.acquire(OLD_NODE, owner=OLD, ttl=AGE, protocol=1, gated=False)
    with caplog.at_level(logging.INFO):
        minting.release()
        assert await call == Refused(because=RefusedReason.PROTOCOL)
    assert "coord_kv_claim_yielded_to_older_peer resource=seat:ceo" in caplog.text
    assert isinstance(await peer.leases.get(CEO), Absent)


async def test_an_older_build_seen_behind_an_extension_takes_no_seat_away(
    store: FaultyStore, peer: SlotStore
) -> None:
    lease = await claim(store)
    extending = store.faults.hold(Verb.UPDATE, bucket="leases")
    call = asyncio.create_task(store.leases.acquire(CEO, owner=ME, ttl=AGE))
    await extending.reached.wait()
    await peer.leases.acquire(OLD_NODE, owner=OLD, ttl=AGE, protocol=1, gated=False)
    extending.release()
    assert await call == Refused(because=RefusedReason.PROTOCOL)
    assert isinstance(await store.leases.renew(lease, ttl=AGE), Renewed)


async def test_a_claim_being_made_by_an_older_build_counts_and_its_tombstone_does_not(
    store: FaultyStore, peer: SlotStore
) -> None:
    gate = Gate(peer.buckets.leases, logging.getLogger("coordination"))
    minting = store.faults.hold(Verb.UPDATE, bucket="epochs")
    call = asyncio.create_task(store.leases.acquire(CEO, owner=OLD, ttl=AGE, protocol=1))
    await minting.reached.wait()
    assert await gate.blocks(2)
    assert not await gate.blocks(1)
    call.cancel()
    await asyncio.wait({call})
    assert isinstance(await gate.floor(), Absent)
    await gate.close()


async def test_the_gate_judges_by_the_deadline_even_where_the_age_decides_who_holds(
    store: FaultyStore, clock: ManualClock
) -> None:
    await store.leases.acquire(OLD_NODE, owner=OLD, ttl=SHORT, protocol=1, gated=False)
    assert await store.leases.protocol_floor() == 1
    clock.advance(SHORT)
    assert isinstance(await store.leases.protocol_floor(), Absent)


async def test_a_lease_bucket_that_forgets_nothing_is_refused_at_boot(store: FaultyStore) -> None:
    buckets = store.buckets
    with pytest.raises(ConfigurationMismatch):
        LeaseSlot(
            buckets.epochs,
            buckets.duties,
            buckets.epochs,
            logging.getLogger("coordination"),
            ticks=store.ticks,
        )
