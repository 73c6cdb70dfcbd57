"""What only several members can show: leaders, elections, refusals in process, lost members."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from coordination.contract.answers import NO_REVISION, Absent, Conflict, Revision, Written
from coordination.contract.bucket import Entry
from coordination.contract.store import Credentials
from coordination.errors import Unavailable
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster() as one:
        yield one


async def opened(cluster: Cluster, member: NatsServer | None = None) -> JetStreamStore:
    return await open_jetstream(
        member.url if member is not None else cluster.urls,
        credentials=Credentials(user=cluster.user, password=cluster.password),
        domain=cluster.domain,
        replicas=3,
    )


async def led(cluster: Cluster) -> NatsServer:
    """Open the buckets; who leads the positions."""
    store = await opened(cluster)
    await store.close()
    return await cluster.leader_of("KV_crewlet_positions")


async def revision_of(store: JetStreamStore, key: str) -> Revision:
    entry = await store.buckets.positions.read(key)
    return NO_REVISION if isinstance(entry, Absent) else entry.revision


async def test_racing_writers_win_or_lose_and_are_never_told_both(cluster: Cluster) -> None:
    stores = [await opened(cluster, member) for member in cluster.members]
    wins = 0

    async def race(store: JetStreamStore) -> None:
        nonlocal wins
        for _ in range(30):
            expected = await revision_of(store, "raced")
            answer = await store.buckets.positions.update("raced", b"1", expected)
            wins += isinstance(answer, Written)
            assert isinstance(answer, Written | Conflict)

    await asyncio.gather(*(race(store) for store in stores for _ in range(3)))
    info_entry = await stores[0].buckets.positions.read("raced")
    assert isinstance(info_entry, Entry)
    assert info_entry.revision == wins, "each win is one message, and no message is nobody's"
    for store in stores:
        await store.close()


async def test_a_key_written_through_one_member_is_read_through_every_other(
    cluster: Cluster,
) -> None:
    stores = [await opened(cluster, member) for member in cluster.members]
    for at in range(60):
        written = await stores[at % 3].buckets.positions.put(f"k.{at}", b"1")
        entry = await stores[(at + 1) % 3].buckets.positions.read(f"k.{at}")
        assert isinstance(entry, Entry)
        assert entry.revision == written.revision
        listed = await stores[(at + 2) % 3].buckets.positions.listing(">", what="all")
        assert len(listed.entries) == at + 1
    for store in stores:
        await store.close()


async def test_repeats_and_lost_races_answer_as_on_one_broker(cluster: Cluster) -> None:
    store = await opened(cluster)
    bucket = store.buckets.positions
    first = await bucket.update("k", b"1", NO_REVISION, message_id="op-1")
    assert isinstance(first, Written)
    again = await bucket.update("k", b"1", NO_REVISION, message_id="op-1")
    assert again == Written(revision=first.revision, duplicate=True)
    assert await bucket.update("k", b"2", NO_REVISION, message_id="op-2") == Conflict()
    won = await bucket.update("k", b"2", first.revision, message_id="op-2")
    assert isinstance(won, Written)
    assert not won.duplicate
    await store.close()


async def test_without_a_quorum_every_answer_is_unknown_and_then_right_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.jetstream.writes.ASK_WITHIN", timedelta(seconds=1))
    store = await opened(cluster, cluster.members[0])
    bucket = store.buckets.positions
    keys = [f"k.{at}" for at in range(5)]
    for key in keys:
        await bucket.put(key, b"1")
    others = cluster.members[1:]
    for member in others:
        await member.kill()

    unknown = 0
    ends = asyncio.get_running_loop().time() + 20
    while unknown < 3:
        assert asyncio.get_running_loop().time() < ends, "nothing was ever unknown"
        try:
            listed = await bucket.listing(">", what="without a leader")
        except Unavailable:
            unknown += 1
            continue
        assert [entry.key for entry in listed.entries] == keys
    with pytest.raises(Unavailable):
        await bucket.put("k.5", b"1")

    for member in others:
        await member.start()

    async def whole() -> bool:
        try:
            listed = await bucket.listing(">", what="whole again")
        except Unavailable:
            return False
        assert {entry.key for entry in listed.entries} >= set(keys)
        return True

    await eventually(whole, within=40)
    await store.close()


async def test_a_listing_while_the_leader_is_replaced_is_whole_or_unknown(
    cluster: Cluster,
) -> None:
    leader = await led(cluster)
    survivor = next(member for member in cluster.members if member is not leader)
    store = await opened(cluster, survivor)
    bucket = store.buckets.positions
    keys = [f"k.{at}" for at in range(5)]
    for key in keys:
        await bucket.put(key, b"1")
    await leader.kill()
    unknown, whole = 0, 0
    ends = asyncio.get_running_loop().time() + 40
    while whole < 3:
        assert asyncio.get_running_loop().time() < ends, "no listing was ever whole again"
        try:
            listed = await bucket.listing(">", what="through an election")
        except Unavailable:
            unknown += 1
            continue
        assert [entry.key for entry in listed.entries] == keys
        whole += 1
    assert unknown > 0, "no listing met the election: this proved nothing"
    await store.close()


async def test_a_watch_whose_member_dies_ends_or_goes_on_whole(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.jetstream.watch.WATCH_BEAT", timedelta(milliseconds=500))
    leader = await led(cluster)
    survivor = next(member for member in cluster.members if member is not leader)
    store = await opened(cluster, survivor)
    bucket = store.buckets.positions
    watches = [await bucket.watch(">", what="pauses") for _ in range(4)]
    await leader.kill()

    async def put() -> Revision | None:
        try:
            return (await bucket.put("late", b"1")).revision
        except Unavailable:
            return None

    written = await eventually(put, within=30)
    ended, whole = 0, 0
    for watch in watches:
        async with asyncio.timeout(15):
            try:
                async for found in watch.events():
                    if isinstance(found, Entry) and found.revision == written:
                        whole += 1
                        break
            except Unavailable:
                ended += 1
        await watch.close()
    assert ended + whole == len(watches)
    again = await bucket.watch(">", what="pauses")
    assert [entry.key for entry in again.listed.entries] == ["late"]
    await again.close()
    await store.close()
