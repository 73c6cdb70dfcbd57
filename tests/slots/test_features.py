"""Asking the fleet what its builds can do."""

import pytest

from coordination.contract.answers import Owner
from coordination.contract.leases import Supported, Unsupported
from coordination.errors import InvalidRequest, Unavailable
from coordination.rules.features import MCP_STATUS
from coordination.rules.keys import Resource
from coordination.testing import FaultyStore, ManualClock
from tests.slots.terms import AGE, CEO, ME, PEER, SHORT, claim

SAYS: dict[str, object] = {"status": {"features": [MCP_STATUS]}}
LACKS: dict[str, object] = {"status": {"in_flight": 1}}
SILENT: dict[str, object] = {"roles": ["seats"]}


async def present(store: FaultyStore, owner: Owner, meta: dict[str, object]) -> None:
    """A node that is alive and says this about itself."""
    node = Resource(("node", owner.partition(":")[0]))
    await store.leases.acquire(node, owner=owner, ttl=SHORT, meta=meta, gated=False)


async def test_a_fleet_supports_what_every_live_node_names(
    store: FaultyStore, clock: ManualClock
) -> None:
    await present(store, PEER, LACKS)
    clock.advance(SHORT)
    await present(store, ME, SAYS)
    assert await store.leases.all_support(MCP_STATUS) == Supported()


async def test_one_live_node_without_it_outranks_one_that_did_not_say(store: FaultyStore) -> None:
    await present(store, ME, SILENT)
    await present(store, PEER, LACKS)
    assert await store.leases.all_support(MCP_STATUS) == Unsupported()


async def test_a_fleet_of_nobody_or_of_silence_is_unknown(store: FaultyStore) -> None:
    with pytest.raises(Unavailable, match="not said"):
        await store.leases.all_support(MCP_STATUS)
    await present(store, ME, SAYS)
    await present(store, PEER, SILENT)
    with pytest.raises(Unavailable, match="not said"):
        await store.leases.all_support(MCP_STATUS)


@pytest.mark.parametrize(("meta", "answer"), [(SAYS, Supported()), (LACKS, Unsupported())])
async def test_a_seat_supports_what_its_own_holder_names(
    store: FaultyStore, meta: dict[str, object], answer: Supported | Unsupported
) -> None:
    await present(store, ME, meta)
    await present(store, PEER, SAYS if meta is LACKS else LACKS)
    await claim(store)
    assert await store.leases.holder_supports(CEO, MCP_STATUS) == answer


async def test_a_presence_of_another_incarnation_says_nothing_about_the_holder(
    store: FaultyStore,
) -> None:
    await present(store, Owner("node-a:core-2"), SAYS)
    await claim(store)
    with pytest.raises(Unavailable, match="not said"):
        await store.leases.holder_supports(CEO, MCP_STATUS)


async def test_a_holder_without_a_status_did_not_say(store: FaultyStore) -> None:
    await present(store, ME, SILENT)
    await claim(store)
    with pytest.raises(Unavailable, match="not said"):
        await store.leases.holder_supports(CEO, MCP_STATUS)


async def test_a_seat_nobody_holds_supports_what_the_whole_fleet_does(store: FaultyStore) -> None:
    await present(store, ME, SAYS)
    assert await store.leases.holder_supports(CEO, MCP_STATUS) == Supported()
    await present(store, PEER, LACKS)
    assert await store.leases.holder_supports(CEO, MCP_STATUS) == Unsupported()


async def test_a_store_that_could_not_be_asked_is_unknown_and_a_blank_name_an_error(
    store: FaultyStore,
) -> None:
    await present(store, ME, SAYS)
    await claim(store, ttl=AGE)
    with pytest.raises(InvalidRequest):
        await store.leases.all_support(" ")
    store.faults.make_unreachable()
    with pytest.raises(Unavailable):
        await store.leases.all_support(MCP_STATUS)
    with pytest.raises(Unavailable):
        await store.leases.holder_supports(CEO, MCP_STATUS)
