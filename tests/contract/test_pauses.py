"""PAU-01 to PAU-09: which seats a person has stopped. A pause has no expiry."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Written
from coordination.contract.pauses import Created, Exists, Lifted, Pause
from coordination.contract.store import Store
from coordination.contract.watch import Change, Cleared, Event, Heard, Snapshot
from coordination.errors import CorruptRecord, InvalidRequest, Unavailable
from coordination.rules.instants import Instant
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import T0
from tests.support.waiting import eventually

HEARD_WITHIN = 10.0  # seconds in which a change reaches a watch, on two busy cores


def pause(handle: str, by: str = "jane", *, reason: str = "", stop_running: bool = False) -> Pause:
    """A pause to write."""
    return Pause(handle=handle, by=by, at=T0, reason=reason, stop_running=stop_running)


async def stand(store: Store, handle: str, by: str = "jane", *, stop: bool = False) -> Pause:
    """Pause a seat and read it back."""
    answer = await store.pauses.create(pause(handle, by, stop_running=stop))
    assert isinstance(answer, Created)
    found = await read(store, handle)
    assert found.revision == answer.version
    return found


async def read(store: Store, handle: str) -> Pause:
    """The pause that stands."""
    found = await store.pauses.get(handle)
    assert isinstance(found, Pause)
    return found


async def heard(events: AsyncIterator[Event[Pause, str]]) -> Event[Pause, str]:
    """The next event that says something changed."""
    async with asyncio.timeout(HEARD_WITHIN):
        while isinstance(event := await anext(events), Heard):
            pass
        return event


@case("PAU-01")
async def test_a_second_pause_never_overwrites_the_first(store: Store) -> None:
    created = await store.pauses.create(pause("swe", "jane", reason="looping"))
    assert isinstance(created, Created)
    assert created.version != NO_REVISION
    answer = await store.pauses.create(pause("swe", "omar", reason="no", stop_running=True))
    assert isinstance(answer, Exists)
    assert answer.version == created.version
    for seen in (answer.pause, await read(store, "swe")):
        assert (seen.handle, seen.by, seen.reason) == ("swe", "jane", "looping")
        assert (seen.stop_running, seen.at, seen.revision) == (False, T0, created.version)


@case("PAU-02")
async def test_an_amendment_at_the_version_seen_wins_and_moves_the_version(store: Store) -> None:
    before = await stand(store, "swe")
    answer = await store.pauses.amend(
        pause("swe", "omar", reason="still looping", stop_running=True), before.revision
    )
    assert isinstance(answer, Written)
    assert answer.revision not in (before.revision, NO_REVISION)
    after = await read(store, "swe")
    assert (after.by, after.reason, after.stop_running) == ("omar", "still looping", True)
    assert after.revision == answer.revision
    stale = await store.pauses.amend(pause("swe", "eve"), before.revision)
    assert stale == Conflict()
    assert await read(store, "swe") == after


@case("PAU-03")
async def test_without_a_version_nothing_is_resumed_and_nothing_is_amended(store: Store) -> None:
    before = await stand(store, "swe")
    assert await store.pauses.lift("swe", NO_REVISION) == Conflict()
    assert await store.pauses.amend(pause("qa"), NO_REVISION) == Conflict()
    assert await store.pauses.get("qa") == Absent()
    assert await store.pauses.list() == (before,)


@case("PAU-04")
async def test_a_resumed_seat_can_be_paused_again(store: Store) -> None:
    before = await stand(store, "swe", "jane")
    assert await store.pauses.lift("swe", before.revision) == Lifted()
    assert await store.pauses.get("swe") == Absent()
    again = await stand(store, "swe", "omar")
    assert await store.pauses.list() == (again,)
    assert again.by == "omar"


@case("PAU-05")
async def test_a_pause_without_seat_author_or_instant_is_an_error(store: Store) -> None:
    nowhen = Pause(handle="swe", by="jane", at=Instant.parse("0001-01-01T00:00:00Z"))
    for wrong in (pause(""), pause("swe", ""), nowhen):
        with pytest.raises(InvalidRequest):
            await store.pauses.create(wrong)
    assert await store.pauses.list() == ()


@case("PAU-06")
async def test_pauses_are_listed_in_the_order_of_their_keys(store: Store) -> None:
    for handle in ("swe", "qa", "ops", "pm"):
        await stand(store, handle)
    assert [found.handle for found in await store.pauses.list()] == ["ops", "pm", "qa", "swe"]
    assert await store.pauses.get("cto") == Absent()


@case("PAU-07")
async def test_a_watch_gives_what_stands_then_each_change_then_closes(store: Store) -> None:
    ops = await stand(store, "ops")
    async with await store.pauses.watch() as watch:
        events = aiter(watch)
        first = await heard(events)
        assert isinstance(first, Snapshot)
        assert first.items == (ops,)
        swe = await stand(store, "swe", stop=True)
        changed = await heard(events)
        assert isinstance(changed, Change)
        assert (changed.item, changed.revision) == (swe, swe.revision)
        assert await store.pauses.lift("swe", swe.revision) == Lifted()
        cleared = await heard(events)
        assert isinstance(cleared, Cleared)
        assert cleared.name == "swe"
        waiting = asyncio.ensure_future(heard(events))
        await asyncio.sleep(0)
    with pytest.raises(StopAsyncIteration):
        await waiting


@case("PAU-08", scope="kv")
async def test_a_pause_that_cannot_be_decoded_fails_the_listing_and_the_watch(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    await stand(store, "ops")
    await wired.put_raw("positions", "seat_pause.swe", b'{"handle":"swe",')
    with pytest.raises(CorruptRecord, match=r"seat_pause\.swe"):
        await store.pauses.list()
    with pytest.raises(CorruptRecord, match=r"seat_pause\.swe"):
        async with await store.pauses.watch() as watch:
            await heard(aiter(watch))
    assert await wired.consumers("positions") == 0


@case("PAU-08", scope="kv")
async def test_a_change_that_cannot_be_decoded_ends_the_watch_and_lifts_nothing(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    swe = await stand(store, "swe")
    async with await store.pauses.watch() as watch:
        events = aiter(watch)
        first = await heard(events)
        assert isinstance(first, Snapshot)
        assert first.items == (swe,)
        await wired.put_raw("positions", "seat_pause.swe", b"nothing of ours")
        with pytest.raises(CorruptRecord, match=r"seat_pause\.swe"):
            await heard(events)


@case("PAU-09", scope="cluster")
async def test_a_leader_change_lifts_no_pause(wired: BrokerBackend) -> None:
    (store,) = await wired.open()
    swe = await stand(store, "swe")
    gone = False
    after: list[Event[Pause, str]] = []
    async with await store.pauses.watch() as watch:
        events = aiter(watch)
        first = await heard(events)
        assert isinstance(first, Snapshot)
        assert first.items == (swe,)
        before = await wired.leader("positions")
        await wired.step_down("positions")
        await eventually(lambda: _led_by_another(wired, before), within=20, why="a new leader")
        await eventually(lambda: _paused(store, "qa"), within=30, why="the new leader writes")
        try:
            while not after or not _is_of(after[-1], "qa"):
                after.append(await heard(events))
        except Unavailable:
            gone = True
    assert not [event for event in after if isinstance(event, Cleared)], "a pause was lifted"
    assert gone or _is_of(after[-1], "qa")
    assert {found.handle for found in await store.pauses.list()} == {"qa", "swe"}


async def _led_by_another(wired: BrokerBackend, before: str) -> bool:
    return await wired.leader("positions") not in ("", before)


async def _paused(store: Store, handle: str) -> bool:
    """Whether a pause stands; an unknown on the way is asked again."""
    try:
        await store.pauses.create(pause(handle))
        return isinstance(await store.pauses.get(handle), Pause)
    except Unavailable:
        return False


def _is_of(event: Event[Pause, str], handle: str) -> bool:
    return isinstance(event, Change) and event.item.handle == handle
