"""LST-01, LST-02 and LST-12: a listing names every key that was live throughout, or fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from coordination.contract.answers import Owner, Written
from coordination.contract.leases import Lease
from coordination.contract.pauses import Created, Pause
from coordination.contract.store import Store
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.terms import NODE, SEAT, T0, claim, names, node, renew, seat

LISTINGS = 200
MOST = 5_000  # listings after which a run that no write raced proves nothing


@dataclass(slots=True)
class Churn:
    """How many rewrites landed so far."""

    landed: int = 0


@asynccontextmanager
async def rewriting(*writers: Callable[[], Awaitable[object]]) -> AsyncIterator[Churn]:
    """Each writer in a tight loop of its own; one that fails fails the case."""
    churn = Churn()

    async def loop(write: Callable[[], Awaitable[object]]) -> None:
        while True:
            await write()
            churn.landed += 1
            await asyncio.sleep(0)

    loops = [asyncio.ensure_future(loop(write)) for write in writers]
    try:
        yield churn
        assert not [one for one in loops if one.done()], "a writer ended early"
    finally:
        for one in loops:
            one.cancel()
        ended = await asyncio.gather(*loops, return_exceptions=True)
        failed = [end for end in ended if not isinstance(end, asyncio.CancelledError)]
    assert failed == []


async def list_through(churn: Churn, listing: Callable[[], Awaitable[None]]) -> None:
    """At least 200 listings, and on until a write landed while one ran."""
    raced = done = 0
    while done < LISTINGS or not raced:
        before = churn.landed
        await listing()
        raced += churn.landed > before
        done += 1
        assert done < MOST, "no write landed during any listing: the run proves nothing"


@case("LST-01")
async def test_a_listing_names_every_key_however_often_it_is_rewritten(backend: Backend) -> None:
    reader, writer = await backend.open(handles=2)
    rows = [f"n{index}" for index in range(5)]
    versions = {}
    for row in rows:
        created = await reader.pauses.create(Pause(handle=row, by="jane", at=T0))
        assert isinstance(created, Created)
        versions[row] = created.version

    def rewriter(row: str) -> Callable[[], Awaitable[None]]:
        async def rewrite() -> None:
            answer = await writer.pauses.amend(Pause(handle=row, by="jane", at=T0), versions[row])
            assert isinstance(answer, Written)
            versions[row] = answer.revision

        return rewrite

    async with rewriting(*(rewriter(row) for row in ("n0", "n2", "n4"))) as churn:

        async def listing() -> None:
            assert [pause.handle for pause in await reader.pauses.list()] == rows

        await list_through(churn, listing)


@case("LST-02")
async def test_membership_is_whole_while_heartbeats_rewrite_it(backend: Backend) -> None:
    reader, writer = await backend.open(handles=2)
    members = [f"n{index}" for index in range(5)]
    leases: dict[str, Lease] = {}
    for name in members:
        leases[name] = await claim(reader, node(name), f"{name}:1", protocol=2)
    leases["old"] = await claim(reader, node("old"), "old:1", protocol=1)
    whole = [f"node:{name}" for name in (*members, "old")]

    def heartbeat(name: str) -> Callable[[], Awaitable[None]]:
        async def beat() -> None:
            leases[name] = await renew(writer, leases[name])

        return beat

    async with rewriting(*(heartbeat(name) for name in ("n0", "n2", "old"))) as churn:

        async def listing() -> None:
            assert names(await reader.leases.list_live(NODE)) == whole
            assert names(await reader.leases.list_owned(Owner("old:1"))) == ["node:old"]
            assert await reader.leases.protocol_floor() == 1

        await list_through(churn, listing)


@case("LST-12", scope="kv")
async def test_three_hundred_listings_under_renewals_are_whole_and_were_certified(
    wired: BrokerBackend,
) -> None:
    reader, writer = await wired.open(handles=2)
    handles = [f"s{index}" for index in range(5)]
    leases = {name: await claim(writer, seat(name), "node-a:1") for name in handles}
    whole = [f"seat:{name}" for name in handles]

    def heartbeat(store: Store, name: str) -> Callable[[], Awaitable[None]]:
        async def beat() -> None:
            leases[name] = await renew(store, leases[name])

        return beat

    wire = wired.wires[0]
    before = wire.leader_reads
    async with rewriting(*(heartbeat(writer, name) for name in handles[:3])) as churn:
        done = 0
        while done < 300 or wire.leader_reads == before:
            assert names(await reader.leases.list_live(SEAT)) == whole
            done += 1
            assert done < MOST, "no listing needed certifying: the run proves nothing"
        assert churn.landed > 0
    assert wire.leader_reads > before
    assert wire.direct_reads == 0
