"""CLU-02, CLU-03, CLU-05 and LST-13: a leaf, followers, and a bucket that nobody leads."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import nats
import nats.js.errors
import pytest

from coordination.contract.answers import Refused
from coordination.contract.bucket import Bucket, Entry
from coordination.contract.leases import Granted
from coordination.errors import Unavailable
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.cluster import ClusterBackend
from tests.contract.leaf import shared_leaf
from tests.contract.terms import (
    CEO,
    CTO,
    PM,
    SEAT,
    A,
    B,
    ask,
    claim,
    names,
    renew,
    standing,
)
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually
from tests.support.wire import Frame

WHAT: Final = "node positions"
KEYS: Final = [f"k{index}" for index in range(10)]
BEHIND: Final = 2_000  # writes a stopped follower misses
ELECTED: Final = 40.0  # seconds in which a mended cluster answers, on two busy cores


@case("CLU-02", scope="leaf")
async def test_a_leaf_without_storage_serves_claims_listings_and_watches(
    wired: BrokerBackend,
) -> None:
    reader, writer = await wired.open(handles=2)
    plain = await nats.connect(
        shared_leaf().url, user=wired.server.user, password=wired.server.password
    )
    try:
        with pytest.raises(nats.js.errors.ServiceUnavailableError):
            await plain.jetstream().account_info()  # the leaf itself stores nothing
    finally:
        await plain.close()
    lease = await claim(writer, CEO, A)
    assert (await standing(reader, CEO)).owner == A
    await renew(writer, lease)
    assert names(await reader.leases.list_live(SEAT)) == ["seat:ceo"]
    assert isinstance(await ask(reader, CEO, B), Refused)
    async with await reader.pauses.watch() as watch:
        assert (await anext(aiter(watch))) is not None
    assert wired.wires[0].direct_reads == 0


def followers(clustered: ClusterBackend, leader: NatsServer) -> list[int]:
    """The handles whose member does not lead."""
    return [at for at, member in enumerate(clustered.servers) if member is not leader]


@case("CLU-03", scope="cluster")
async def test_a_handle_on_a_follower_reads_what_was_just_written_on_the_leader(
    clustered: ClusterBackend,
) -> None:
    await clustered.open(handles=3)
    leader = await clustered.leads("positions")
    writer = clustered.bucket("positions", clustered.servers.index(leader))
    for at in followers(clustered, leader):
        reader, wire = clustered.bucket("positions", at), clustered.wires[at]
        wire.sent.clear()
        for key in KEYS:
            written = await writer.put(key, b"%d" % at)
            entry = await reader.read(key)
            assert isinstance(entry, Entry)
            assert (entry.value, entry.revision) == (b"%d" % at, written.revision)
        assert wire.leader_reads == len(KEYS)
        assert wire.direct_reads == 0
    assert await clustered.leads("positions") is leader, "the leader moved: nothing was shown"


@case("CLU-03", scope="cluster")
async def test_a_follower_that_is_behind_answers_with_the_leaders_value(
    clustered: ClusterBackend,
) -> None:
    await clustered.open(handles=3)
    leader = await clustered.leads("positions")
    behind = followers(clustered, leader)[0]
    writer = clustered.bucket("positions", clustered.servers.index(leader))
    await writer.put("k", b"old")
    await clustered.pause(clustered.servers[behind])
    for first in range(0, BEHIND, 200):
        await asyncio.gather(*(writer.put(f"n{at}", b"") for at in range(first, first + 200)))
    written = await writer.put("k", b"new")
    assert await lag(clustered, clustered.servers[behind]) > 0, "the follower was never behind"
    reading = asyncio.ensure_future(clustered.bucket("positions", behind).read("k"))
    await asyncio.sleep(0)
    clustered.servers[behind].resume()
    entry = await reading
    assert isinstance(entry, Entry)
    assert (entry.value, entry.revision) == (b"new", written.revision)


async def lag(clustered: ClusterBackend, member: NatsServer) -> int:
    """How many entries a member lacks, as the leader of the positions sees it."""
    info = await clustered.api(f"STREAM.INFO.{clustered.stream('positions')}", {})
    return next(
        int(peer.get("lag", 0))
        for peer in info["cluster"]["replicas"]
        if peer["name"] == member.name
    )


@case("CLU-05", scope="cluster")
async def test_a_write_lands_with_one_member_down_and_is_unknown_with_two(
    clustered: ClusterBackend,
) -> None:
    stores = await clustered.open(handles=3)
    await claim(stores[0], CEO, A)
    await clustered.kill(clustered.servers[1])
    lease = await through_an_election(lambda: claim(stores[0], CTO, A))
    assert await through_an_election(lambda: standing(stores[2], CTO)) == lease
    await clustered.kill(clustered.servers[2])
    unknown = await asyncio.gather(
        *(ask(stores[0], PM, owner) for owner in (A, B)), return_exceptions=True
    )
    assert [type(one) for one in unknown if not isinstance(one, Unavailable)] == []
    await clustered.mend()
    # What was in flight may land late, and then holds the seat for its owner: one of them has it.
    answers = [
        await through_an_election(partial(ask, stores[at], PM, owner))
        for at, owner in enumerate((A, B))
    ]
    assert sorted(type(answer).__name__ for answer in answers) == ["Granted", "Refused"]
    (granted,) = [answer.lease for answer in answers if isinstance(answer, Granted)]
    for store in stores:
        pm = await through_an_election(partial(standing, store, PM))
        assert (pm.owner, pm.epoch) == (granted.owner, granted.epoch)
        landed = await through_an_election(partial(standing, store, CTO))
        assert landed == lease, "what landed with one member down is still there after two"
    held = await through_an_election(lambda: standing(stores[1], CEO))
    assert (held.owner, held.epoch) == (A, 1)


async def through_an_election[T](call: Callable[[], Awaitable[T]]) -> T:
    """The first answer; an unknown is asked again for as long as an election may take."""
    answers: list[T] = []

    async def answered() -> bool:
        try:
            answers.append(await call())
        except Unavailable:
            return False
        return True

    await eventually(answered, within=ELECTED, why="an election is over")
    return answers[0]


@case("LST-13", scope="cluster")
async def test_a_bucket_that_nobody_leads_is_unavailable_never_shorter(
    clustered: ClusterBackend,
) -> None:
    await clustered.open(handles=3)
    leader = await clustered.leads("positions")
    left, other = followers(clustered, leader)
    bucket = clustered.bucket("positions", left)
    for key in KEYS:
        await bucket.put(key, b"v")
    assert await keys(bucket) == sorted(KEYS)
    await clustered.kill(leader)
    await clustered.pause(clustered.servers[other])
    for _ in range(2):
        with pytest.raises(Unavailable, match=WHAT):
            await bucket.listing(">", what=WHAT)
    await clustered.mend()

    async def whole() -> bool:
        try:
            return await keys(bucket) == sorted(KEYS)
        except Unavailable:
            return False

    await eventually(whole, within=ELECTED, why="a leader was elected")


@case("LST-13", scope="cluster")
async def test_a_listing_whose_leader_steps_down_is_whole_or_unavailable(
    clustered: ClusterBackend,
) -> None:
    await clustered.open(handles=3)
    bucket, wire = clustered.bucket("positions"), clustered.wires[0]
    for key in KEYS:
        await bucket.put(key, b"v")
    moved = whole = 0
    for _ in range(2):
        before = await clustered.leader("positions")
        wire.withheld = 0
        wire.keepers.append(_withhold)
        listing = asyncio.ensure_future(bucket.listing(">", what=WHAT))
        await eventually(lambda: wire.withheld > 0, why="the pass is under way")
        await clustered.step_down("positions")
        assert not listing.done(), "the listing ended before its leader moved"
        wire.keepers.clear()
        try:
            listed = await listing
        except Unavailable:
            pass
        else:
            assert [entry.key for entry in listed.entries] == sorted(KEYS)
            whole += 1
        moved += (await clustered.leads("positions")).name != before
    assert moved > 0, "the leader never moved"
    assert await keys(bucket) == sorted(KEYS)


def _withhold(frame: Frame) -> bool:
    return False


async def keys(bucket: Bucket) -> list[str]:
    """The keys of a whole listing, in its order."""
    return [entry.key for entry in (await bucket.listing(">", what=WHAT)).entries]
