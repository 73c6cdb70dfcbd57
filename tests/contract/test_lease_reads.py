"""RDM-01 to RDM-22: what reads of leases say, placement hints, and the meta a holder publishes."""

import copy
from contextlib import suppress
from typing import cast

import pytest

from coordination.contract.answers import Absent
from coordination.contract.store import Store
from coordination.errors import InvalidRequest
from coordination.rules.keys import Resource, ResourceClass
from tests.contract.backends import Backend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    CTO,
    NODE,
    PM,
    SEAT,
    SHORT,
    WORKER,
    A,
    B,
    C,
    ask,
    claim,
    names,
    node,
    release,
    seat,
    standing,
)

SCHEDULER = Resource.parse("worker:scheduler")
PLACED: dict[str, object] = {"roles": ["seats"], "labels": {"zone": "eu"}}


@case("RDM-01")
async def test_nobody_holds_a_seat_never_claimed(store: Store) -> None:
    assert await store.leases.get(CEO) == Absent()


@case("RDM-02")
async def test_a_lease_reads_back_as_it_was_written(store: Store) -> None:
    lease = await claim(store, CEO, A, hint="node-a", protocol=3)
    read = await standing(store, CEO)
    assert (read.owner, read.epoch, read.hint, read.protocol) == (A, lease.epoch, "node-a", 3)


@case("RDM-03")
async def test_a_lapsed_lease_reads_as_nobodys(backend: Backend, store: Store) -> None:
    lease = await claim(store, CEO, A, SHORT)
    await backend.lapse(SHORT)
    assert await store.leases.get(CEO) == Absent()
    assert (await claim(store, CEO, B)).epoch > lease.epoch


@case("RDM-04")
async def test_a_released_lease_reads_as_nobodys(store: Store) -> None:
    await release(store, await claim(store, CEO, A))
    assert await store.leases.get(CEO) == Absent()


@case("RDM-05")
async def test_an_owner_owns_what_it_holds_and_not_what_lapsed(
    backend: Backend, store: Store
) -> None:
    await claim(store, CEO, A)
    await claim(store, PM, B)
    await claim(store, CTO, A, SHORT)
    await backend.lapse(SHORT)
    assert names(await store.leases.list_owned(A)) == ["seat:ceo"]
    assert names(await store.leases.list_owned(B)) == ["seat:pm"]
    assert await store.leases.list_owned(C) == ()


@case("RDM-06")
async def test_an_owner_no_longer_owns_what_it_released(store: Store) -> None:
    ceo = await claim(store, CEO, A)
    await claim(store, CTO, A)
    await release(store, ceo)
    assert names(await store.leases.list_owned(A)) == ["seat:cto"]


@case("RDM-07")
async def test_an_accepted_handle_reads_back_under_its_own_name(store: Store) -> None:
    handles = ("alice.smith", "a/b", "a b", "ünïcødé", "a=b", "*", ">", "a:b", "A.B")
    accepted: dict[str, str] = {}
    for index, handle in enumerate(handles):
        with suppress(InvalidRequest):
            await claim(store, seat(handle), f"owner-{index}:1")
            accepted[f"seat:{handle}"] = f"owner-{index}:1"
    assert accepted
    for name, owner in accepted.items():
        read = await standing(store, Resource.parse(name))
        assert (str(read.resource), read.owner) == (name, owner)
    listed = await store.leases.list_live(SEAT)
    assert {str(lease.resource): lease.owner for lease in listed} == accepted
    assert len(listed) == len(accepted)


@case("RDM-08")
async def test_each_class_lists_its_own_members_only(store: Store) -> None:
    await claim(store, CEO, A)
    await claim(store, SCHEDULER, A)
    await claim(store, node("node-a"), A)
    assert names(await store.leases.list_live(SEAT)) == ["seat:ceo"]
    assert names(await store.leases.list_live(WORKER)) == ["worker:scheduler"]
    assert names(await store.leases.list_live(NODE)) == ["node:node-a"]


@case("RDM-09")
@pytest.mark.parametrize("name", ["", "seat:", "se.at"])
async def test_a_class_that_cannot_address_keys_is_an_error_never_an_empty_answer(
    store: Store, name: str
) -> None:
    await claim(store, CEO, A)
    with pytest.raises(InvalidRequest):
        await store.leases.list_live(ResourceClass(name))
    with pytest.raises(InvalidRequest):
        await store.leases.hints(ResourceClass(name), "node-a")


@case("RDM-10")
async def test_the_fleet_is_its_live_presence_leases(backend: Backend, store: Store) -> None:
    for name in "abc":
        await claim(store, node(name), f"{name}:1")
    await claim(store, CEO, "a:1")
    await claim(store, node("c"), "c:1", SHORT)
    await backend.lapse(SHORT)
    assert names(await store.leases.list_live(NODE)) == ["node:a", "node:b"]


@case("RDM-11")
async def test_a_hint_is_in_the_answer_the_read_and_the_hints_of_its_node(store: Store) -> None:
    lease = await claim(store, CEO, A, hint="node-a")
    assert lease.hint == "node-a"
    assert (await standing(store, CEO)).hint == "node-a"
    assert await store.leases.hints(SEAT, "node-a") == (CEO,)
    assert await store.leases.hints(SEAT, "node-b") == ()
    assert (await claim(store, CEO, A)).hint == "node-a", "a re-claim without a hint keeps it"
    assert await store.leases.hints(SEAT, "node-a") == (CEO,)


@case("RDM-12")
async def test_a_hint_outlives_its_tenure_and_never_gates(backend: Backend, store: Store) -> None:
    before = await claim(store, CEO, A, SHORT, hint="node-a")
    await backend.lapse(SHORT)
    assert await store.leases.hints(SEAT, "node-a") == (CEO,)
    after = await claim(store, CEO, B)
    assert after.epoch > before.epoch
    assert after.hint == "node-a"
    assert (await standing(store, CEO)).hint == "node-a"
    assert await store.leases.hints(SEAT, "node-a") == (CEO,)


@case("RDM-13")
async def test_a_new_hint_replaces_the_one_before(backend: Backend, store: Store) -> None:
    await claim(store, CEO, A, SHORT, hint="node-a")
    await backend.lapse(SHORT)
    assert (await claim(store, CEO, B, hint="node-b")).hint == "node-b"
    assert await store.leases.hints(SEAT, "node-a") == ()
    assert await store.leases.hints(SEAT, "node-b") == (CEO,)


@case("RDM-14")
async def test_hints_are_asked_per_class(store: Store) -> None:
    await claim(store, CEO, A, hint="node-a")
    await claim(store, SCHEDULER, A, hint="node-a")
    assert await store.leases.hints(SEAT, "node-a") == (CEO,)
    assert await store.leases.hints(WORKER, "node-a") == (SCHEDULER,)


@case("RDM-15")
async def test_meta_keeps_every_entry_everywhere(store: Store) -> None:
    meta: dict[str, object] = {
        "replicas": 3,
        "ratio": 1.5,
        "on": True,
        "roles": ["seats", "workers"],
        "labels": {"zone": "eu"},
    }
    lease = await claim(store, node("n1"), A, meta=meta)
    read = await standing(store, node("n1"))
    (listed,) = await store.leases.list_live(NODE)
    for seen in (lease.meta, read.meta, listed.meta):
        assert seen == meta
        assert seen["on"] is True


@case("RDM-16")
async def test_meta_is_the_same_on_all_four_paths(store: Store) -> None:
    lease = await claim(store, node("n1"), A, meta=PLACED)
    read = await standing(store, node("n1"))
    (live,) = await store.leases.list_live(NODE)
    (owned,) = await store.leases.list_owned(A)
    for seen in (lease, read, live, owned):
        assert seen.meta == PLACED


@case("RDM-17")
async def test_a_seat_claimed_without_meta_has_none(store: Store) -> None:
    assert (await claim(store, CEO, A)).meta == {}
    assert (await standing(store, CEO)).meta == {}


@case("RDM-18")
async def test_a_re_claim_without_meta_keeps_what_stands(store: Store) -> None:
    meta = {"roles": ["workers"]}
    await claim(store, node("n1"), A, meta=meta)
    assert (await claim(store, node("n1"), A)).meta == meta
    assert (await standing(store, node("n1"))).meta == meta


@case("RDM-19")
async def test_a_re_claim_with_meta_replaces_it_whole(store: Store) -> None:
    both = {"roles": ["seats", "workers"], "labels": {"zone": "eu"}}
    await claim(store, node("n1"), A, meta=both)
    assert (await claim(store, node("n1"), A, meta={"roles": ["seats"]})).meta == {
        "roles": ["seats"]
    }
    assert (await standing(store, node("n1"))).meta == {"roles": ["seats"]}


@case("RDM-20")
async def test_meta_handed_in_or_out_is_a_copy(store: Store) -> None:
    meta = copy.deepcopy(PLACED)
    lease = await claim(store, node("n1"), A, meta=meta)
    meta["more"] = 1
    cast("list[str]", meta["roles"]).append("workers")
    for handed_out in (lease, await standing(store, node("n1"))):
        with suppress(TypeError, AttributeError):
            cast("list[str]", handed_out.meta["roles"]).append("workers")
        with suppress(TypeError):
            cast("dict[str, object]", handed_out.meta)["more"] = 1
    assert (await standing(store, node("n1"))).meta == PLACED


@case("RDM-21")
@pytest.mark.parametrize(
    "value",
    [object(), float("inf"), 10**400, {1, 2}, "\ud800", {"deep": [float("nan")]}],
    ids=["no-json", "infinity", "overflow", "set", "no-text", "nested-no-number"],
)
async def test_meta_that_does_not_read_back_is_an_error_and_writes_nothing(
    store: Store, value: object
) -> None:
    with pytest.raises(InvalidRequest):
        await ask(store, node("n1"), A, meta={"value": value})
    assert await store.leases.get(node("n1")) == Absent()
    assert (await claim(store, node("n1"), B)).epoch == 1


@case("RDM-22")
async def test_a_nodes_status_reads_back_as_it_was_written(store: Store) -> None:
    status = {
        "in_flight": 2,
        "posture": "serve",
        "mcp": [
            {"server": "github", "shared": True, "started": 1, "failed": 0, "tools": 12},
            {
                "server": "jira",
                "shared": False,
                "started": 1,
                "failed": 1,
                "tools": 9,
                "error": "401",
                "error_seat": "pm",
            },
        ],
    }
    await claim(store, node("n1"), A, meta={"status": status})
    (listed,) = await store.leases.list_live(NODE)
    for seen in (await standing(store, node("n1")), listed):
        assert seen.meta["status"] == status
