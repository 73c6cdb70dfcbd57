"""TRI-01 to TRI-07: yes, no, and could not ask are three different answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta

import pytest

from coordination.contract.answers import (
    Absent,
    Epoch,
    Lost,
    NodeId,
    Owner,
)
from coordination.contract.leases import Lease
from coordination.contract.pauses import Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.errors import InvalidRequest, Unavailable
from coordination.rules.keys import Resource
from tests.contract.backends import Backend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    LONG,
    NODE,
    SEAT,
    SECOND,
    SHORT,
    T0,
    A,
    B,
    ask,
    claim,
    refused,
    renew,
    standing,
    tenure,
)

type Asking = Callable[[], Awaitable[object]]


def every_verb(store: Store, held: Lease) -> Mapping[str, Asking]:
    """Each question the slots of this store answer, about a seat that is held."""
    leases, config, pauses = store.leases, store.config, store.pauses
    stopped = Pause(handle="ceo", by="jane", at=T0)
    report = ConfigStatus(node=NodeId("n"), epoch=Epoch(1), status="ok", updated_at=T0)
    return {
        "claim": lambda: ask(store, CEO, A),
        "claim another": lambda: ask(store, Resource.parse("seat:other"), A),
        "renew": lambda: leases.renew(held, ttl=LONG),
        "release": lambda: leases.release(held),
        "get": lambda: leases.get(CEO),
        "list_owned": lambda: leases.list_owned(A),
        "list_live": lambda: leases.list_live(NODE),
        "hints": lambda: leases.hints(SEAT, "node-a"),
        "floor": leases.protocol_floor,
        "all support": lambda: leases.all_support("mcp_status"),
        "holder supports": lambda: leases.holder_supports(CEO, "mcp_status"),
        "watch leases": lambda: leases.watch(SEAT),
        "activate": lambda: config.activate("rev-1", b"sealed", at=T0),
        "target": config.target,
        "payload": lambda: config.payload("rev-1"),
        "watch config": config.watch,
        "report": lambda: store.status.report(report),
        "list statuses": store.status.list,
        "watch statuses": store.status.watch,
        "pause": lambda: pauses.create(stopped),
        "amend": lambda: pauses.amend(stopped, held.revision),
        "lift": lambda: pauses.lift("ceo", held.revision),
        "read pause": lambda: pauses.get("ceo"),
        "list pauses": pauses.list,
        "watch pauses": pauses.watch,
    }


@case("TRI-01")
async def test_a_claim_on_an_unreachable_store_is_unknown_never_a_refusal(
    backend: Backend, store: Store
) -> None:
    await backend.make_unreachable()
    with pytest.raises(Unavailable):
        await ask(store, CEO, A)
    await backend.heal()
    assert await store.leases.get(CEO) == Absent()


@case("TRI-02")
async def test_a_held_seat_is_a_no_and_no_error(store: Store) -> None:
    await claim(store, CEO, A)
    await refused(store, CEO, B)


@case("TRI-03")
@pytest.mark.parametrize("silent", [False, True], ids=["cut", "silent"])
async def test_a_renewal_that_could_not_be_asked_ends_no_tenure(
    backend: Backend, store: Store, silent: bool
) -> None:
    lease = await claim(store, CEO, A)
    await backend.make_unreachable(silent=silent)
    with pytest.raises(Unavailable):
        await store.leases.renew(lease, ttl=LONG)
    await backend.heal()
    assert (await renew(store, lease)).epoch == lease.epoch
    assert (await standing(store, CEO)).epoch == lease.epoch


@case("TRI-04")
async def test_a_lapsed_tenure_is_a_no_and_no_error(backend: Backend, store: Store) -> None:
    lease = await claim(store, CEO, A, SHORT)
    await backend.lapse(SHORT)
    assert isinstance(await store.leases.renew(lease, ttl=LONG), Lost)


@case("TRI-05", definite=False)
@pytest.mark.parametrize("silent", [False, True], ids=["cut", "silent"])
async def test_no_read_of_an_unreachable_store_answers_nothing_there(
    backend: Backend, store: Store, silent: bool
) -> None:
    await backend.make_unreachable(silent=silent)
    verbs = every_verb(store, tenure(CEO, A, 1))
    answers = await asyncio.gather(*(verb() for verb in verbs.values()), return_exceptions=True)
    said = dict(zip(verbs, answers, strict=True))
    assert {name: type(answer) for name, answer in said.items() if not _unknown(answer)} == {}


def _unknown(answer: object) -> bool:
    return isinstance(answer, Unavailable)


@case("TRI-06")
async def test_a_claim_that_cannot_be_meant_is_an_error_and_grants_nothing(store: Store) -> None:
    for name in ("", ":ceo", "seat:", "seat::ceo"):
        with pytest.raises(InvalidRequest):
            await ask(store, Resource.parse(name), A)
        with pytest.raises(InvalidRequest):
            await ask(store, Resource(tuple(name.split(":"))), A)
    for owner, ttl in (("", LONG), ("  ", LONG), (A, timedelta(0)), (A, -SECOND)):
        with pytest.raises(InvalidRequest):
            await ask(store, CEO, owner, ttl)
    assert await store.leases.list_live(SEAT) == ()
    lease = await claim(store, CEO, A)
    before = await standing(store, CEO)
    with pytest.raises(InvalidRequest):
        await store.leases.renew(tenure(CEO, "", lease.epoch), ttl=LONG)
    for ttl in (timedelta(0), -SECOND):
        with pytest.raises(InvalidRequest):
            await store.leases.renew(lease, ttl=ttl)
    with pytest.raises(InvalidRequest):
        await store.leases.release(tenure(CEO, "", lease.epoch))
    with pytest.raises(InvalidRequest):
        await store.leases.list_owned(Owner(""))
    assert await standing(store, CEO) == before


@case("TRI-07")
async def test_a_call_whose_deadline_is_over_answers_nothing(store: Store) -> None:
    held = await claim(store, CEO, A)
    before = await standing(store, CEO)
    said: dict[str, object] = {}
    for name, verb in every_verb(store, held).items():
        with suppress(TimeoutError, Unavailable):
            async with asyncio.timeout(0):
                said[name] = await verb()
    assert said == {}
    assert await standing(store, CEO) == before
    assert await store.leases.get(Resource.parse("seat:other")) == Absent()


@case("TRI-07")
async def test_a_cancelled_call_answers_nothing_and_leaves_nothing(store: Store) -> None:
    held = await claim(store, CEO, A)
    before = await standing(store, CEO)
    for name, verb in every_verb(store, held).items():

        async def give_up(verb: Asking = verb) -> object:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return await verb()

        calling = asyncio.ensure_future(give_up())
        await asyncio.wait({calling})
        assert calling.cancelled(), f"{name} answered although its caller had given up"
    assert await standing(store, CEO) == before
    assert await store.leases.get(Resource.parse("seat:other")) == Absent()
    assert await store.pauses.list() == ()
    assert await store.config.target() == Absent()
