"""A claim that stops half way holds nothing, whoever asks next."""

import asyncio
import logging

import pytest

from coordination.contract.answers import Absent, Conflict, Owner, Written
from coordination.contract.records import LeaseRecord, decode
from coordination.errors import OutcomeUnknown, Unavailable
from coordination.memory.store import MemoryBroker
from coordination.slots import cleanup
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock, Verb
from tests.slots.terms import AGE, CEO, ME, PEER, SHORT, claim, is_refused
from tests.support.waiting import eventually

OWNERS = pytest.mark.parametrize("asker", [ME, PEER])
TAKEOVER = pytest.mark.parametrize("takeover", [False, True])


async def lapse(peer: SlotStore, clock: ManualClock) -> None:
    """Let a peer's tenure lapse, its record still there."""
    await claim(peer, Owner("node-c:gone"), ttl=SHORT)
    clock.advance(SHORT)


@OWNERS
async def test_a_counter_refused_mid_claim_leaves_nothing_held(
    store: FaultyStore, peer: SlotStore, asker: Owner
) -> None:
    store.faults.fail(Verb.UPDATE, bucket="epochs")
    with pytest.raises(Unavailable):
        await claim(store)
    assert store.faults.struck == 1
    assert isinstance(await peer.leases.get(CEO), Absent)
    assert (await claim(peer, asker)).epoch == 1


@pytest.mark.parametrize(
    ("verb", "bucket", "nth", "gap"),
    [
        (Verb.UPDATE, "leases", 1, 0),
        (Verb.READ_REVISION, "leases", 1, 0),
        (Verb.READ, "epochs", 1, 0),
        (Verb.UPDATE, "epochs", 1, 0),
        (Verb.UPDATE, "leases", 2, 1),
    ],
)
@TAKEOVER
async def test_a_claim_refused_at_any_step_is_a_peers_for_the_asking(
    store: FaultyStore,
    peer: SlotStore,
    clock: ManualClock,
    verb: Verb,
    bucket: str,
    nth: int,
    gap: int,
    takeover: bool,
) -> None:
    if takeover:
        await lapse(peer, clock)
    store.faults.fail(verb, bucket=bucket, nth=nth)
    with pytest.raises(Unavailable):
        await claim(store)
    assert store.faults.struck == 1
    assert (await claim(peer, PEER)).epoch == (2 if takeover else 1) + gap


@pytest.mark.parametrize(("bucket", "epoch"), [("leases", 1), ("epochs", 2)])
@OWNERS
async def test_a_lost_acknowledgement_before_the_tenure_leaves_nothing_held(
    store: FaultyStore, peer: SlotStore, bucket: str, epoch: int, asker: Owner
) -> None:
    store.faults.lose(Verb.UPDATE, bucket=bucket)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert store.faults.struck == 1
    assert (await claim(peer, asker)).epoch == epoch


async def test_a_tenure_whose_acknowledgement_was_lost_is_its_owners_at_the_next_ask(
    store: FaultyStore, peer: SlotStore
) -> None:
    store.faults.lose(Verb.UPDATE, bucket="leases", nth=2)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert store.faults.struck == 1
    assert await is_refused(peer, PEER)
    assert (await claim(store)).epoch == 1


async def test_an_extension_whose_acknowledgement_was_lost_keeps_the_tenure(
    store: FaultyStore,
) -> None:
    await claim(store)
    store.faults.lose(Verb.UPDATE, bucket="leases")
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert (await claim(store)).epoch == 1


@pytest.mark.parametrize(("bucket", "nth"), [("leases", 1), ("leases", 2)])
@TAKEOVER
async def test_a_write_that_lands_after_its_claim_was_taken_back_is_fenced_out(
    store: FaultyStore, peer: SlotStore, clock: ManualClock, bucket: str, nth: int, takeover: bool
) -> None:
    if takeover:
        await lapse(peer, clock)
    late = store.faults.postpone(Verb.UPDATE, bucket=bucket, nth=nth)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert isinstance(await late.land(), Conflict)
    assert isinstance(await peer.leases.get(CEO), Absent)
    await claim(peer, PEER)


async def test_a_counter_write_that_lands_late_costs_a_gap_and_never_a_token_twice(
    store: FaultyStore, peer: SlotStore
) -> None:
    late = store.faults.postpone(Verb.UPDATE, bucket="epochs")
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert isinstance(await late.land(), Written)
    assert (await claim(peer, PEER)).epoch == 2


@pytest.mark.parametrize(
    ("verb", "bucket", "nth", "after"),
    [
        (Verb.UPDATE, "leases", 1, True),
        (Verb.READ_REVISION, "leases", 1, False),
        (Verb.UPDATE, "epochs", 1, False),
        (Verb.UPDATE, "epochs", 1, True),
        (Verb.UPDATE, "leases", 2, False),
    ],
)
@OWNERS
async def test_a_claim_cancelled_half_way_is_free_when_its_caller_is_gone(
    store: FaultyStore,
    peer: SlotStore,
    verb: Verb,
    bucket: str,
    nth: int,
    after: bool,
    asker: Owner,
) -> None:
    held = store.faults.hold(verb, bucket=bucket, nth=nth, after=after)
    call = asyncio.create_task(claim(store))
    await held.reached.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert isinstance(await peer.leases.get(CEO), Absent)
    await claim(peer, asker)


async def test_a_caller_cancelled_twice_leaves_the_taking_back_to_finish(
    store: FaultyStore, peer: SlotStore
) -> None:
    minting = store.faults.hold(Verb.UPDATE, bucket="epochs")
    call = asyncio.create_task(claim(store))
    await minting.reached.wait()
    taking_back = store.faults.hold(Verb.READ, bucket="leases")
    call.cancel()
    await taking_back.reached.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    taking_back.release()
    await store.close()
    await claim(peer, PEER)


async def test_a_claim_that_could_not_be_taken_back_says_so_and_keeps_its_own_error(
    store: FaultyStore,
    peer: SlotStore,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store.leases._acquiring._cleanup, "_within", SHORT / 3000)
    store.faults.lose(Verb.UPDATE, bucket="epochs")
    store.faults.fail(Verb.READ, bucket="leases", nth=2)
    with caplog.at_level(logging.WARNING), pytest.raises(OutcomeUnknown):
        await claim(store)
    assert store.faults.struck == 2
    assert "coord_kv_claim_abandon_failed resource=seat:ceo owner=node-a:core-1" in caplog.text
    assert await is_refused(peer, PEER)


async def test_a_claim_left_behind_is_a_peers_after_its_ttl_and_its_owners_at_once(
    store: FaultyStore, peer: SlotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.leases._acquiring._cleanup, "_within", SHORT / 3000)
    store.faults.lose(Verb.UPDATE, bucket="epochs")
    store.faults.fail(Verb.READ, bucket="leases", nth=2)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert await is_refused(peer, PEER)
    assert (await claim(store)).epoch == 2


async def test_a_taking_back_that_could_not_be_asked_is_tried_again(
    store: FaultyStore, peer: SlotStore
) -> None:
    store.faults.lose(Verb.UPDATE, bucket="epochs")
    store.faults.fail(Verb.READ, bucket="leases", nth=2)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert store.faults.struck == 2
    assert (await claim(peer, PEER)).epoch == 2


async def test_a_taking_back_that_is_answered_nothing_is_asked_again_in_time(
    store: FaultyStore, peer: SlotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "_ATTEMPT", 0.01)
    store.faults.lose(Verb.UPDATE, bucket="epochs")
    store.faults.hold(Verb.READ, bucket="leases", nth=2)
    with pytest.raises(OutcomeUnknown):
        await claim(store)
    assert store.faults.struck == 2
    assert (await claim(peer, PEER)).epoch == 2


@OWNERS
async def test_a_tenure_whose_caller_was_cancelled_is_free_when_the_caller_is_gone(
    store: FaultyStore, peer: SlotStore, asker: Owner
) -> None:
    held = store.faults.hold(Verb.READ, bucket="leases", nth=2)
    call = asyncio.create_task(claim(store))
    await held.reached.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert isinstance(await peer.leases.get(CEO), Absent)
    assert (await claim(peer, asker)).epoch == 2


@OWNERS
async def test_a_tenure_whose_caller_left_before_its_acknowledgement_is_free(
    store: FaultyStore, peer: SlotStore, asker: Owner
) -> None:
    held = store.faults.hold(Verb.UPDATE, bucket="leases", nth=2, after=True)
    call = asyncio.create_task(claim(store))
    await held.reached.wait()
    call.cancel()
    await asyncio.sleep(0)
    held.release()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert isinstance(await peer.leases.get(CEO), Absent)
    assert (await claim(peer, asker)).epoch == 2


async def test_a_tenure_another_call_of_its_owner_has_extended_outlives_the_cancelled_one(
    store: FaultyStore, peer: SlotStore
) -> None:
    held = store.faults.hold(Verb.READ, bucket="leases", nth=2)
    call = asyncio.create_task(claim(store))
    await held.reached.wait()
    extended = await claim(peer)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await peer.leases.get(CEO) == extended


async def test_a_claim_taken_back_leaves_a_tombstone_that_keeps_hint_and_meta(
    store: FaultyStore, peer: SlotStore, clock: ManualClock
) -> None:
    await store.leases.acquire(CEO, owner=PEER, ttl=SHORT, hint="node-b", meta={"zone": "eu"})
    clock.advance(SHORT)
    store.faults.fail(Verb.UPDATE, bucket="epochs")
    with pytest.raises(Unavailable):
        await claim(store)
    regained = await claim(peer, PEER)
    assert regained.hint == "node-b"
    assert regained.meta == {"zone": "eu"}


async def test_a_tombstone_asks_for_its_lanes_longest_ttl(
    store: FaultyStore, broker: MemoryBroker
) -> None:
    await store.leases.release(await claim(store, ttl=SHORT))
    (entry,) = (await store.buckets.leases.listing(">", what="test")).entries
    record = decode(LeaseRecord, entry.value, subject="test")
    assert (record.owner, record.epoch, record.ttl_ns) == ("", 1, 300_000_000_000)


async def test_thirty_two_racers_leave_one_winner_and_one_token(
    broker: MemoryBroker,
) -> None:
    stores = [broker.open() for _ in range(32)]
    answers = await asyncio.gather(
        *(
            one.leases.acquire(CEO, owner=Owner(f"node-{index}:x"), ttl=AGE)
            for index, one in enumerate(stores)
        )
    )
    winner = await stores[0].leases.get(CEO)
    assert not isinstance(winner, Absent)
    assert [one.lease for one in answers if hasattr(one, "lease")] == [winner]
    assert winner.epoch == 1


async def test_one_owners_sixteen_claims_at_once_mint_one_token(store: FaultyStore) -> None:
    leases = await asyncio.gather(*(claim(store) for _ in range(16)))
    assert {lease.epoch for lease in leases} == {1}
    assert store.faults.calls.count(("crewlet_epochs", Verb.UPDATE)) == 1


async def test_a_taking_back_is_bounded_in_time(
    store: FaultyStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.leases._acquiring._cleanup, "_within", SHORT / 3000)
    store.faults.fail(Verb.UPDATE, bucket="epochs")
    store.faults.hold(Verb.READ, bucket="leases", nth=2)
    with pytest.raises(Unavailable):
        await claim(store)
    await eventually(lambda: "coord_kv_claim_abandon_failed" in caplog.text)
