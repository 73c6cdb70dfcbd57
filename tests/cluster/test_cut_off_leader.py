"""The ten-second window: what a leader cut off from its peers goes on answering, and for how long.

The member cut off here also leads the group that places streams: that is the longest window, since
any other notices sooner that it cannot reach a leader.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Final

import pytest

from coordination.contract.answers import Absent
from coordination.contract.bucket import Bucket, Entry
from coordination.contract.store import Credentials
from coordination.errors import Unavailable
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.support.cluster import Cluster
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(180)]

# A broker looks every ten seconds for peers unheard of for ten: 20 s at most, and what a busy
# machine adds.
WINDOW: Final = 20.0 + 5.0
MOVED_ON: Final = 20.0  # seconds in which the majority elects a leader and writes
SILENCE: Final = 3.0  # seconds of unavailable answers after which the window is over


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(separable=True, sync_interval="2m") as one:
        yield one


async def opened(cluster: Cluster, at: int) -> JetStreamStore:
    return await open_jetstream(
        cluster.members[at].url,
        credentials=Credentials(user=cluster.user, password=cluster.password),
        domain=cluster.domain,
        replicas=3,
    )


async def overwritten(bucket: Bucket) -> float:
    """Write through the majority; the loop's time when it was acknowledged."""

    async def written() -> bool:
        try:
            async with asyncio.timeout(1):
                await bucket.put("k", b"new")
                await bucket.put("unseen", b"new")
        except (Unavailable, TimeoutError):
            return False
        return True

    await eventually(written, within=MOVED_ON, why="the majority moves on")
    return asyncio.get_running_loop().time()


async def stale_reads(bucket: Bucket, until: float) -> list[float]:
    """The loop's time of each read of the old copy, until none was answered for a while."""
    loop = asyncio.get_running_loop()
    answered: list[float] = []
    unanswered = 0.0
    while loop.time() < until and not (unanswered and loop.time() - unanswered > SILENCE):
        try:
            entry = await bucket.read("k")
        except Unavailable:
            unanswered = unanswered or loop.time()
        else:
            assert isinstance(entry, Entry)
            assert entry.value == b"old", "the member was not cut off"
            assert await missing(bucket)
            answered.append(loop.time())
            unanswered = 0.0
        await asyncio.sleep(0.05)
    return answered


async def missing(bucket: Bucket) -> bool:
    """Whether the record only the majority has reads as absent, or cannot be read."""
    try:
        return await bucket.read("unseen") == Absent()
    except Unavailable:
        return True


async def test_a_cut_off_leader_answers_from_its_old_copy_for_a_bounded_time_and_writes_nothing(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = [await opened(cluster, at) for at in range(3)]
    leader = await cluster.meta_leader()
    await cluster.lead("KV_crewlet_positions", leader)
    at = cluster.members.index(leader)
    minority = stores[at].buckets.positions
    majority = stores[(at + 1) % 3].buckets.positions
    await minority.put("k", b"old")

    began = asyncio.get_running_loop().time()
    cluster.cut_off(leader)
    moving = asyncio.ensure_future(overwritten(majority))
    writing = asyncio.ensure_future(minority.put("mine", b"never"))
    answered = await stale_reads(minority, began + 2 * WINDOW)
    with pytest.raises(Unavailable):
        await writing
    moved_on = await moving
    assert answered, "the cut-off leader answered nothing"
    window = answered[-1] - began
    behind = [one for one in answered if one > moved_on]
    with capsys.disabled():
        sys.stdout.write(
            f"\ncut-off leader: {len(answered)} reads from its old copy for {window:.1f} s,"
            f" {len(behind)} of them after the majority had moved on at {moved_on - began:.1f} s\n"
        )
    assert behind, "the majority moved on after the window: nothing was shown"
    assert window <= WINDOW
    with pytest.raises(Unavailable):
        await minority.read("k")
    with pytest.raises(Unavailable):
        await minority.listing(">", what="positions")

    cluster.join(leader)

    async def caught_up() -> bool:
        try:
            entry = await minority.read("k")
            return isinstance(entry, Entry) and entry.value == b"new"
        except Unavailable:
            return False

    await eventually(caught_up, within=40, why="the member is one of them again")
    for bucket in (minority, majority):
        assert await bucket.read("mine") == Absent(), "a write through the minority landed"
    for store in stores:
        await store.close()
