"""The configuration pointer: what stands after editors raced and acknowledgements were lost."""

import asyncio

import pytest

from coordination.contract.answers import Absent
from coordination.contract.config import Activation, Payload
from coordination.contract.watch import Change, Snapshot
from coordination.errors import ActivationRaced, CorruptRecord, InvalidRequest, OutcomeUnknown
from coordination.memory.clock import MANUAL_START
from coordination.rules.instants import Instant
from coordination.slots.config import PAYLOAD, POINTER
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, Verb


async def activate(store: SlotStore, revision: str, expect: str | None = None) -> Activation:
    """Make a revision current whose body is its own name."""
    return await store.config.activate(revision, revision.encode(), at=MANUAL_START, expect=expect)


async def body(store: SlotStore, revision: str) -> bytes | None:
    """A revision's body, None when another's is there."""
    answer = await store.config.payload(revision)
    return answer.body if isinstance(answer, Payload) else None


async def test_the_winner_puts_its_payload_again_when_a_loser_wrote_over_it(
    store: FaultyStore, peer: SlotStore
) -> None:
    await activate(peer, "r-0")
    moving = store.faults.hold(Verb.UPDATE, bucket="config")
    winner = asyncio.create_task(activate(store, "r-1", expect="r-0"))
    await moving.reached.wait()
    await peer.buckets.config.put(PAYLOAD, b'{"revision_id":"r-2","payload":"ci0y"}')
    moving.release()
    assert (await winner).revision_id == "r-1"
    assert await body(peer, "r-1") == b"r-1"


async def test_a_winner_already_replaced_leaves_its_successors_payload_alone(
    store: FaultyStore, peer: SlotStore
) -> None:
    moved = store.faults.hold(Verb.UPDATE, bucket="config", after=True)
    first = asyncio.create_task(activate(store, "r-1"))
    await moved.reached.wait()
    await activate(peer, "r-2", expect="r-1")
    moved.release()
    await first
    assert await body(peer, "r-2") == b"r-2"


@pytest.mark.parametrize("expect", ["r-0", None])
async def test_a_payload_that_comes_after_a_winner_never_overwrites_the_winners(
    store: FaultyStore, peer: SlotStore, expect: str | None
) -> None:
    await activate(peer, "r-0")
    putting = store.faults.hold(Verb.PUT, bucket="config")
    late = asyncio.create_task(activate(store, "r-1", expect=expect))
    await putting.reached.wait()
    await activate(peer, "r-2", expect="r-0")
    putting.release()
    if expect is None:
        await late
        assert await body(peer, "r-1") == b"r-1"
    else:
        with pytest.raises(ActivationRaced):
            await late
        assert await body(peer, "r-2") == b"r-2"


async def test_a_payload_of_no_revision_is_the_callers_error(store: FaultyStore) -> None:
    with pytest.raises(InvalidRequest):
        await store.config.payload(" ")
    assert store.faults.calls == []


async def test_a_loser_says_who_won(store: FaultyStore, peer: SlotStore) -> None:
    await activate(peer, "r-0")
    moving = store.faults.hold(Verb.UPDATE, bucket="config")
    loser = asyncio.create_task(activate(store, "r-1", expect="r-0"))
    await moving.reached.wait()
    await activate(peer, "r-2", expect="r-0")
    moving.release()
    with pytest.raises(ActivationRaced) as raced:
        await loser
    assert raced.value.standing == "r-2"


async def test_an_unacknowledged_activation_is_unknown_and_may_stand(store: FaultyStore) -> None:
    store.faults.lose(Verb.UPDATE, bucket="config")
    with pytest.raises(OutcomeUnknown):
        await activate(store, "r-1")
    target = await store.config.target()
    assert not isinstance(target, Absent)
    assert target.revision_id == "r-1"


@pytest.mark.parametrize(
    ("revision", "expect", "expect_absent"),
    [("", None, False), (" ", None, False), ("r-1", "r-0", True), ("r-1", "", False)],
)
async def test_an_activation_that_cannot_be_meant_publishes_nothing(
    store: FaultyStore, revision: str, expect: str | None, expect_absent: bool
) -> None:
    with pytest.raises(InvalidRequest):
        await store.config.activate(
            revision, b"", at=MANUAL_START, expect=expect, expect_absent=expect_absent
        )
    assert store.faults.calls == []


async def test_a_payload_too_large_is_refused_with_both_sizes_before_anything_is_put(
    store: FaultyStore,
) -> None:
    with pytest.raises(InvalidRequest, match=r"8388[67]\d\d bytes encoded.*8388608"):
        await store.config.activate("r-1", bytes(6 * 1024 * 1024), at=MANUAL_START)
    assert store.faults.calls == []


@pytest.mark.parametrize("key", [POINTER, PAYLOAD])
async def test_an_undecodable_record_concludes_nothing(store: FaultyStore, key: str) -> None:
    await store.buckets.config.put(key, b"\xff")
    ask = store.config.target() if key == POINTER else store.config.payload("r-1")
    with pytest.raises(CorruptRecord):
        await ask


async def test_a_watch_follows_the_pointer_and_not_its_payload(store: FaultyStore) -> None:
    first = await activate(store, "r-1")
    async with await store.config.watch() as watch:
        events = aiter(watch)
        assert await anext(events) == Snapshot(items=(first,), as_of=MANUAL_START)
        second = await activate(store, "r-2")
        told = await anext(events)
        assert isinstance(told, Change)
        assert told.item == second
        assert second.at > Instant(first.at.nanos)
