"""A pause is one operation however often it is sent, and no retry pauses a seat again."""

import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from coordination.contract.answers import Absent, Conflict, Revision, Written
from coordination.contract.pauses import Created, Exists, Lifted
from coordination.contract.watch import Change, Cleared, Snapshot
from coordination.errors import CorruptRecord, InvalidRequest, OutcomeUnknown
from coordination.slots.store import SlotStore
from coordination.testing import FaultyStore, ManualClock, Verb
from tests.slots.terms import pause

AFTER_THE_WINDOW = timedelta(minutes=2)
JUNK = b"\xff{"


async def paused(store: SlotStore, *, request_id: str = "op-1") -> Revision:
    """The version of a pause that must be created."""
    answer = await store.pauses.create(pause(request_id=request_id))
    assert isinstance(answer, Created)
    return answer.version


async def test_an_unacknowledged_pause_is_found_by_its_request_id_and_its_retry_pauses_once(
    store: FaultyStore,
) -> None:
    store.faults.lose(Verb.UPDATE, bucket="positions")
    with pytest.raises(OutcomeUnknown):
        await store.pauses.create(pause())
    standing = await store.pauses.get("swe")
    assert not isinstance(standing, Absent)
    assert standing.request_id == "op-1"
    assert await store.pauses.create(pause()) == Created(version=standing.revision)


@pytest.mark.parametrize("later", [timedelta(0), AFTER_THE_WINDOW])
async def test_a_retry_of_a_standing_pause_is_the_same_operation(
    store: FaultyStore, clock: ManualClock, later: timedelta
) -> None:
    version = await paused(store)
    clock.advance(later)
    assert await store.pauses.create(pause()) == Created(version=version)


async def test_a_retry_after_somebody_resumed_does_not_pause_again(store: FaultyStore) -> None:
    version = await paused(store)
    await store.pauses.lift("swe", version, request_id="op-2")
    assert await store.pauses.create(pause()) == Created(version=version)
    assert isinstance(await store.pauses.get("swe"), Absent)


async def test_a_retry_behind_somebody_elses_pause_is_told_of_theirs(store: FaultyStore) -> None:
    await store.pauses.lift("swe", await paused(store), request_id="op-2")
    version = await paused(store, request_id="op-3")
    answer = await store.pauses.create(pause())
    assert isinstance(answer, Exists)
    assert (answer.version, answer.pause.request_id) == (version, "op-3")


async def test_a_pause_without_a_request_id_is_never_taken_for_anothers(
    store: FaultyStore,
) -> None:
    assert isinstance(await store.pauses.create(pause(request_id="")), Created)
    assert isinstance(await store.pauses.create(pause(request_id="")), Exists)


@pytest.mark.parametrize("was_paused_before", [False, True])
async def test_a_request_id_that_paused_one_seat_pauses_no_other(
    store: FaultyStore, was_paused_before: bool
) -> None:
    if was_paused_before:
        earlier = await store.pauses.create(pause("qa", request_id="op-0"))
        assert isinstance(earlier, Created)
        await store.pauses.lift("qa", earlier.version)
    await paused(store)
    with pytest.raises(InvalidRequest):
        await store.pauses.create(pause("qa"))
    assert isinstance(await store.pauses.get("qa"), Absent)


async def test_an_amendment_is_an_operation_of_its_own(store: FaultyStore) -> None:
    version = await paused(store)
    stopping = replace(pause(), stop_running=True)
    with pytest.raises(InvalidRequest):
        await store.pauses.amend(stopping, version)
    amended = await store.pauses.amend(replace(stopping, request_id="op-2"), version)
    assert isinstance(amended, Written)
    standing = await store.pauses.get("swe")
    assert not isinstance(standing, Absent)
    assert (standing.stop_running, standing.revision) == (True, amended.revision)


async def test_an_unacknowledged_amendment_is_done_once_by_its_retry(store: FaultyStore) -> None:
    version = await paused(store)
    stopping = replace(pause(request_id="op-2"), stop_running=True)
    store.faults.lose(Verb.UPDATE, bucket="positions")
    with pytest.raises(OutcomeUnknown):
        await store.pauses.amend(stopping, version)
    retried = await store.pauses.amend(stopping, version)
    assert retried == Written(revision=Revision(version + 1), duplicate=True)


async def test_an_unacknowledged_resume_is_done_once_by_its_retry(store: FaultyStore) -> None:
    version = await paused(store)
    store.faults.lose(Verb.REMOVE, bucket="positions")
    with pytest.raises(OutcomeUnknown):
        await store.pauses.lift("swe", version, request_id="op-2")
    assert isinstance(await store.pauses.lift("swe", version, request_id="op-2"), Lifted)


async def test_a_resume_with_the_pauses_own_id_is_refused_and_lifts_nothing(
    store: FaultyStore,
) -> None:
    version = await paused(store)
    with pytest.raises(InvalidRequest):
        await store.pauses.lift("swe", version, request_id="op-1")
    assert not isinstance(await store.pauses.get("swe"), Absent)


async def test_a_resume_of_a_pause_that_changed_is_refused(store: FaultyStore) -> None:
    version = await paused(store)
    await store.pauses.amend(replace(pause(request_id="op-2"), reason="still looping"), version)
    assert isinstance(await store.pauses.lift("swe", version, request_id="op-3"), Conflict)


async def test_one_undecodable_pause_is_never_left_out_of_an_answer(store: FaultyStore) -> None:
    await paused(store)
    await store.buckets.positions.put("seat_pause.qa", JUNK)
    for ask in (store.pauses.list, store.pauses.watch):
        with pytest.raises(CorruptRecord, match=r"seat_pause\.qa"):
            await ask()


async def test_an_undecodable_change_ends_the_watch_and_lifts_nothing(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with await store.pauses.watch() as watch:
        events = aiter(watch)
        assert isinstance(await anext(events), Snapshot)
        await store.buckets.positions.put("seat_pause.qa", JUNK)
        with caplog.at_level(logging.WARNING), pytest.raises(CorruptRecord):
            await anext(events)
    assert "seat_pause_undecodable handle=qa" in caplog.text


async def test_a_watch_tells_a_pause_and_its_resume_by_the_seats_handle(
    store: FaultyStore,
) -> None:
    async with await store.pauses.watch() as watch:
        events = aiter(watch)
        await anext(events)
        version = await paused(store)
        await store.pauses.lift("swe", version)
        told = await anext(events)
        assert isinstance(told, Change)
        assert (told.item, told.revision) == (replace(pause(), revision=version), version)
        cleared = await anext(events)
        assert isinstance(cleared, Cleared)
        assert cleared.name == "swe"


async def test_other_records_of_the_bucket_are_no_pauses(store: FaultyStore) -> None:
    await store.buckets.positions.put("node.node-a", b"{}")
    await store.buckets.positions.put("seat_pause.a.b", b"{}")
    assert await store.pauses.list() == ()
