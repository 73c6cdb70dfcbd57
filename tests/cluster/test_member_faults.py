"""A member is lost, stands still, is cut off or gives up the lead, under claims, listings, a watch.

Whatever befalls it, an answer is right or unknown: no seat has two holders, no claim is refused
that nobody else asked for, no listing is short, no pause is lifted.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import pytest

from coordination.contract.answers import Epoch, Owner
from coordination.contract.leases import Granted, Renewed
from coordination.contract.pauses import Created, Pause
from coordination.contract.store import Credentials, Store
from coordination.contract.watch import Change, Cleared, Snapshot
from coordination.errors import Unavailable
from coordination.jetstream.store import open_jetstream
from tests.contract.terms import LONG, NODE, T0, claim, names, node, seat
from tests.support.cluster import Cluster
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(180)]

PRESENT: Final = [f"n{index}" for index in range(5)]
SETTLED: Final = 60.0  # seconds in which everything goes on, on two busy cores
STREAM: Final = "KV_crewlet_leases"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(separable=True, sync_interval="2m") as one:
        yield one


@dataclass(slots=True)
class Seen:
    """What the fleet was told."""

    granted: dict[str, dict[Owner, Epoch]] = field(default_factory=dict)
    refused: dict[str, set[Owner]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def total(self) -> dict[str, int]:
        """How many definite answers of each kind so far."""
        return dict(self.known)


async def contend(stores: list[Store], seen: Seen) -> None:
    """Seat after seat, one owner on each member claims it at the same time."""
    number = 0
    while True:
        number += 1
        handle = f"s{number}"

        async def one(at: int, handle: str = handle) -> None:
            owner = Owner(f"node-{at}:1")
            try:
                answer = await stores[at].leases.acquire(seat(handle), owner=owner, ttl=LONG)
            except Unavailable:
                seen.unknown["claims"] += 1
                return
            seen.known["claims"] += 1
            if isinstance(answer, Granted):
                seen.granted.setdefault(handle, {})[owner] = answer.lease.epoch
            else:
                seen.refused.setdefault(handle, set()).add(owner)

        await asyncio.gather(*(one(at) for at in range(len(stores))))


async def list_on(store: Store, seen: Seen) -> None:
    """Who is there, again and again; all of them, always."""
    whole = [f"node:{name}" for name in PRESENT]
    while True:
        try:
            listed = names(await store.leases.list_live(NODE))
        except Unavailable:
            seen.unknown["listings"] += 1
            await asyncio.sleep(0.01)
            continue
        seen.known["listings"] += 1
        if listed != whole:
            seen.wrong.append(f"a listing was short: {listed}")


async def beat_on(store: Store, seen: Seen, name: str) -> None:
    """A presence that is renewed and never lost."""
    lease = await claim(store, node(name), f"{name}:1")
    while True:
        with suppress(Unavailable):
            answer = await store.leases.renew(lease, ttl=LONG)
            if not isinstance(answer, Renewed):
                seen.wrong.append(f"{name} was told that it is gone: {answer}")
                return
            lease = answer.lease
            seen.known["renewals"] += 1
        await asyncio.sleep(0.02)


async def follow_on(store: Store, seen: Seen) -> None:
    """The pauses, followed anew whenever the watch ends; the one that stands is never lifted."""
    while True:
        with suppress(Unavailable):
            async with await store.pauses.watch() as watch:
                async for event in watch:
                    seen.known["watch"] += 1
                    if isinstance(event, Cleared):
                        seen.wrong.append("a pause was lifted")
                    if isinstance(event, Snapshot) and not event.items:
                        seen.wrong.append("a pause was missing from what a watch began with")
                    if isinstance(event, Change):
                        seen.known["changes"] += 1
        seen.unknown["watch"] += 1
        await asyncio.sleep(0.05)


async def hurt(cluster: Cluster, leader: NatsServer, fault: str) -> None:
    """What befalls the leader."""
    match fault:
        case "killed":
            await leader.kill()
        case "paused":
            leader.pause()
        case "cut off":
            cluster.cut_off(leader)
        case _:
            other = next(member for member in cluster.members if member is not leader)
            await cluster.lead(STREAM, other)


def judge(seen: Seen) -> None:
    """No seat has two holders, and nobody was refused a seat that no other can have held."""
    assert seen.wrong == []
    for handle, holders in seen.granted.items():
        assert len(holders) == 1, f"{handle} has {holders}"
    for handle, losers in seen.refused.items():
        assert len(losers) < 3, f"{handle} was refused to everybody"


@pytest.mark.parametrize("fault", ["killed", "paused", "cut off", "stepped down"])
async def test_whatever_befalls_the_leader_answers_are_right_or_unknown(
    cluster: Cluster, fault: str
) -> None:
    stores: list[Store] = [
        await open_jetstream(
            member.url,
            credentials=Credentials(user=cluster.user, password=cluster.password),
            domain=cluster.domain,
            replicas=3,
            lease_ttl=2 * LONG,
            connect_within=timedelta(seconds=20),
        )
        for member in cluster.members
    ]
    seen = Seen()
    created = await stores[0].pauses.create(Pause(handle="swe", by="jane", at=T0))
    assert isinstance(created, Created)
    for name in PRESENT:
        await claim(stores[0], node(name), f"{name}:1")
    leader = await cluster.leader_of(STREAM)
    at = cluster.members.index(leader)
    others = [store for index, store in enumerate(stores) if index != at]
    work = [
        asyncio.ensure_future(one)
        for one in (
            contend(stores, seen),
            *(list_on(store, seen) for store in stores),
            *(beat_on(others[0], seen, name) for name in PRESENT[:3]),
            *(follow_on(store, seen) for store in stores),
        )
    ]
    await eventually(lambda: min_of(seen) >= 3, within=SETTLED, why="everything runs")
    await hurt(cluster, leader, fault)
    if fault != "stepped down":
        await eventually(lambda: seen.unknown["claims"] > 0, within=SETTLED, why="it was felt")
    before = seen.total()
    await cluster.mend()
    await eventually(
        lambda: all(seen.known[kind] > before[kind] + 3 for kind in ("claims", "listings")),
        within=SETTLED,
        why="claims and listings go on",
    )
    assert not [one for one in work if one.done()], "something ended early"
    for one in work:
        one.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    judge(seen)
    for store in stores:
        await store.close()


def min_of(seen: Seen) -> int:
    """How often the rarest of what runs was answered."""
    return min(seen.known[kind] for kind in ("claims", "listings", "renewals", "watch"))
