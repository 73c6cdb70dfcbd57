"""MRK-01 to MRK-05: what a sweep of removal markers removes, and what it never changes."""

from collections.abc import Iterable

import pytest

from coordination.contract.answers import Absent, Revision
from coordination.contract.bucket import Entry, Operation
from coordination.contract.cells import Cell, Cells, Created, Exists, Removed
from coordination.contract.markers import Swept
from coordination.contract.store import Store
from coordination.errors import TtlTooLong
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from coordination.rules.leases import MAX_DUTY_TTL
from coordination.rules.retention import MARKER_RETENTION
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.filing import Record, buckets_of, cells
from tests.contract.terms import HOUR, MARGIN, A, ask, claim
from tests.support.waiting import eventually

AGELESS = (
    "channels",
    "config",
    "integrations",
    "mailboxes",
    "objects",
    "positions",
    "sandbox_runs",
    "secrets",
)


def families(store: Store) -> dict[str, Cells[Record]]:
    """The record families whose removals leave markers."""
    return {
        "runs": cells(store, "sandbox_runs"),
        "mailboxes": cells(store, "mailboxes"),
        "secrets": cells(store, "secrets"),
        "integrations": cells(store, "integrations"),
        "holds": cells(store, "positions", key_class="hold"),
    }


async def create(slot: Cells[Record], name: str, text: str) -> Revision:
    """Create a record that is not there; its version."""
    created = await slot.create((name,), Record(text))
    assert isinstance(created, Created)
    return created.version


async def answers(
    every: Iterable[Cells[Record]],
) -> list[tuple[tuple[Cell[Record], ...], list[Cell[Record] | Absent]]]:
    """What each family lists, and reads under each name these cases use."""
    names = ("kept", "removed", "again", "never")
    return [(await slot.list(), [await slot.read((name,)) for name in names]) for slot in every]


@case("MRK-01")
async def test_a_sweep_removes_every_marker_and_changes_no_answer(backend: Backend) -> None:
    (store,) = await backend.open()
    every = families(store)
    for slot in every.values():
        await create(slot, "kept", "stays")
        version = await create(slot, "removed", "goes")
        assert await slot.remove(("removed",), version) == Removed()
    runs = every["runs"]
    first = await create(runs, "again", "first")
    assert await runs.remove(("again",), first) == Removed()
    await create(runs, "again", "second")

    async def counted() -> bool:
        listed = [len(found) for found, _ in await answers(every.values())]
        assert listed == [2, 1, 1, 1, 1]
        return True

    if backend.has_replicas:
        await eventually(counted, within=5, why="no listing lags behind the removals")
    assert await counted()
    before = await answers(every.values())
    cutoff = await store.probe() + HOUR
    assert await store.markers.sweep(cutoff) == Swept(removed=len(every))
    assert await store.markers.sweep(cutoff) == Swept(removed=0)
    assert await answers(every.values()) == before


async def index(wired: BrokerBackend, slot: str) -> list[str]:
    """The subjects the broker itself names in a bucket."""
    info = await (await wired.js()).stream_info(wired.stream(slot), subjects_filter=">")
    return sorted(info.state.subjects or {})


async def messages(wired: BrokerBackend) -> int:
    """How many messages the broker keeps in all buckets of this store."""
    js = await wired.js()
    return sum([(await js.stream_info(name)).state.messages for name in await wired.streams()])


@case("MRK-02", scope="kv")
async def test_only_markers_older_than_the_cutoff_are_removed(wired: BrokerBackend) -> None:
    (store,) = await wired.open()
    bucket = wired.bucket("mailboxes")
    before_all = await bucket.now()
    for key in ("live", "old", "young"):
        await bucket.put(key, b"{}")
    await bucket.remove("old", Operation.DELETE)
    await wired.advance(MARGIN)
    between = await bucket.now()
    await wired.advance(MARGIN)
    await bucket.remove("young", Operation.PURGE)
    old, young = await bucket.read("old"), await bucket.read("young")
    assert isinstance(old, Entry)
    assert isinstance(young, Entry)
    assert before_all < old.written_at < between < young.written_at
    kept = await messages(wired)
    for cutoff, removed in ((before_all, 0), (between, 1), (await bucket.now() + HOUR, 1)):
        assert await store.markers.sweep(cutoff) == Swept(removed=removed)
        assert await messages(wired) == kept - removed
        kept -= removed
    assert await index(wired, "mailboxes") == [wired.subject("mailboxes", "live")]
    live = await bucket.read("live")
    assert isinstance(live, Entry)
    assert live.is_live


@case("MRK-02", scope="kv")
async def test_a_cutoff_at_the_markers_own_instant_leaves_it(wired: BrokerBackend) -> None:
    (store,) = await wired.open()
    bucket = wired.bucket("secrets")
    written = await bucket.put("gone", b"{}")
    await bucket.remove("gone", Operation.PURGE, written.revision)
    marker = await bucket.read("gone")
    assert isinstance(marker, Entry)
    assert await store.markers.sweep(marker.written_at) == Swept(removed=0)
    just_after = Instant(marker.written_at.nanos + 1)
    assert await store.markers.sweep(just_after) == Swept(removed=1)


@case("MRK-03", scope="kv")
async def test_the_sweep_takes_every_ageless_bucket_but_the_fencing_counters(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    wire = wired.wires[0]
    wire.sent.clear()
    assert await store.markers.sweep(await store.probe() + HOUR) == Swept(removed=0)
    made = [subject for subject in wire.sent if ".CONSUMER.CREATE." in subject]
    passed = sorted(subject.split(".CONSUMER.CREATE.")[1].split(".")[0] for subject in made)
    js = await wired.js()
    ageless = [
        name
        for name in await wired.streams()
        if not (await js.stream_info(name)).config.max_age and name != wired.stream("epochs")
    ]
    assert passed == sorted(ageless) == [wired.stream(suffix) for suffix in AGELESS]
    aged = {bucket.name for bucket in buckets_of(store).by_suffix().values() if bucket.age}
    assert not aged & {bucket.name for bucket in buckets_of(store).swept()}
    assert await wired.consumers("mailboxes") == 0


@case("MRK-04", scope="kv")
async def test_a_create_over_a_live_and_over_a_removed_key_asks_the_leader_once(
    wired: BrokerBackend,
) -> None:
    (store,) = await wired.open()
    slot, wire = cells(store, "mailboxes"), wired.wires[0]
    await create(slot, "live", "stands")
    version = await create(slot, "removed", "goes")
    assert await slot.remove(("removed",), version) == Removed()
    standing = await slot.read(("live",))
    assert isinstance(standing, Cell)
    wire.sent.clear()
    assert await slot.create(("live",), Record("late")) == Exists(cell=standing)
    assert (wire.leader_reads, wire.direct_reads) == (1, 0)
    wire.sent.clear()
    assert await create(slot, "removed", "back") > version
    assert (wire.leader_reads, wire.direct_reads) == (1, 0)
    back = await slot.read(("removed",))
    assert isinstance(back, Cell)
    assert back.record == Record("back")
    wired.tally.yes += 1


@case("MRK-05")
async def test_a_marker_is_kept_as_long_as_the_longest_claim(store: Store) -> None:
    assert MARKER_RETENTION == MAX_DUTY_TTL == 3 * HOUR
    duty = Resource.parse("worker:longest")
    lease = await claim(store, duty, A, MARKER_RETENTION)
    assert lease.ttl == MARKER_RETENTION
    with pytest.raises(TtlTooLong):
        await ask(store, duty, A, MARKER_RETENTION + MARGIN)
