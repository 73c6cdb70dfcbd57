"""LSE-01 to LSE-22: who holds a lease, at which epoch, and what ends a tenure."""

from coordination.contract.answers import (
    Absent,
    Epoch,
    Lost,
    NotHeld,
    Owner,
    Refused,
    RefusedReason,
)
from coordination.contract.leases import Lease
from coordination.contract.store import Store
from tests.contract.backends import Backend
from tests.contract.cases import case
from tests.contract.terms import (
    CEO,
    CTO,
    LONG,
    SHORT,
    WINDOW,
    A,
    B,
    ask,
    claim,
    node,
    refused,
    release,
    renew,
    standing,
    tenure,
)


async def lapsed(backend: Backend, store: Store, owner: Owner = A) -> Lease:
    """A tenure of the seat that ended because nobody renewed it."""
    lease = await claim(store, CEO, owner, SHORT)
    await backend.lapse(SHORT)
    return lease


@case("LSE-01")
async def test_the_first_claim_of_a_seat_is_granted_at_epoch_one(store: Store) -> None:
    lease = await claim(store, CEO, A)
    assert lease.epoch == 1
    assert await standing(store, CEO) == lease


@case("LSE-02")
async def test_epoch_counters_are_per_resource(store: Store) -> None:
    assert (await claim(store, CEO, A)).epoch == 1
    assert (await claim(store, CTO, B)).epoch == 1


@case("LSE-03")
async def test_a_peer_is_refused_a_held_seat(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await refused(store, CEO, B)
    assert await standing(store, CEO) == lease


@case("LSE-04")
async def test_an_owner_is_one_process_incarnation_not_a_node(store: Store) -> None:
    lease = await claim(store, CEO, "node-0:aaaa")
    await refused(store, CEO, "node-0:bbbb")
    assert await standing(store, CEO) == lease


@case("LSE-05")
async def test_a_holder_claims_again_at_the_same_epoch(store: Store) -> None:
    first = await claim(store, CEO, A)
    again = await claim(store, CEO, A)
    assert again.epoch == first.epoch


@case("LSE-06")
async def test_a_holder_that_claims_again_extends_its_own_deadline(
    backend: Backend, store: Store
) -> None:
    first = await claim(store, CEO, A, WINDOW)
    again = await claim(store, CEO, A, LONG)
    assert again.epoch == first.epoch
    await backend.lapse(WINDOW)
    held = await standing(store, CEO)
    assert (held.owner, held.epoch) == (A, first.epoch)


@case("LSE-07")
async def test_a_peer_claims_a_lapsed_seat_at_a_higher_epoch(
    backend: Backend, store: Store
) -> None:
    before = await lapsed(backend, store)
    assert (await claim(store, CEO, B)).epoch > before.epoch


@case("LSE-08")
async def test_the_gap_ends_the_tenure_even_for_the_same_owner(
    backend: Backend, store: Store
) -> None:
    before = await lapsed(backend, store)
    assert (await claim(store, CEO, A)).epoch > before.epoch


@case("LSE-09")
async def test_a_renewal_pushes_the_deadline(backend: Backend, store: Store) -> None:
    first = await claim(store, CEO, A, WINDOW)
    await renew(store, first, LONG)
    await backend.lapse(WINDOW)
    held = await standing(store, CEO)
    assert (held.owner, held.epoch) == (A, first.epoch)


@case("LSE-10")
async def test_a_lapsed_lease_is_re_claimed_never_renewed(backend: Backend, store: Store) -> None:
    before = await lapsed(backend, store)
    assert isinstance(await store.leases.renew(before, ttl=LONG), Lost)
    assert await store.leases.get(CEO) == Absent()


@case("LSE-11")
async def test_a_zombie_cannot_renew_what_a_peer_took_over(backend: Backend, store: Store) -> None:
    before = await lapsed(backend, store)
    taken = await claim(store, CEO, B)
    assert isinstance(await store.leases.renew(before, ttl=LONG), Lost)
    assert await standing(store, CEO) == taken


@case("LSE-12")
async def test_a_peer_cannot_renew_another_owners_lease(store: Store) -> None:
    lease = await claim(store, CEO, A)
    answer = await store.leases.renew(tenure(CEO, B, lease.epoch), ttl=LONG)
    assert isinstance(answer, Lost)
    assert await standing(store, CEO) == lease


@case("LSE-13")
async def test_a_seat_never_claimed_cannot_be_renewed(store: Store) -> None:
    assert isinstance(await store.leases.renew(tenure(CEO, A, 1), ttl=LONG), Lost)
    assert await store.leases.get(CEO) == Absent()


@case("LSE-14")
async def test_a_refused_claim_leaves_the_holders_record_unchanged_in_every_field(
    store: Store,
) -> None:
    meta = {"roles": ["seats"], "labels": {"zone": "eu"}}
    await claim(store, node("n1"), "n1:winner", hint="n1", meta=meta)
    before = await standing(store, node("n1"))
    answer = await ask(
        store, node("n1"), "n1:loser", LONG / 2, hint="n2", meta={"roles": ["workers"]}
    )
    assert answer == Refused(because=RefusedReason.HELD)
    after = await standing(store, node("n1"))
    assert after == before
    assert (after.owner, after.hint, after.meta) == ("n1:winner", "n1", meta)
    assert after.expires_at == before.expires_at
    assert after.revision == before.revision
    assert await store.leases.hints(node("n1").resource_class, "n2") == ()


@case("LSE-15")
async def test_a_zombie_cannot_release_what_a_peer_took_over(
    backend: Backend, store: Store
) -> None:
    before = await lapsed(backend, store)
    taken = await claim(store, CEO, B)
    assert isinstance(await store.leases.release(before), NotHeld)
    assert await standing(store, CEO) == taken


@case("LSE-16")
async def test_a_released_seat_is_claimable_at_once(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await release(store, lease)
    assert await store.leases.list_owned(A) == ()
    assert (await claim(store, CEO, B)).owner == B


@case("LSE-17")
async def test_a_release_does_not_restart_the_counter_for_a_peer(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await release(store, lease)
    assert (await claim(store, CEO, B)).epoch > lease.epoch


@case("LSE-18")
async def test_a_release_does_not_restart_the_counter_for_the_same_owner(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await release(store, lease)
    assert (await claim(store, CEO, A)).epoch > lease.epoch


@case("LSE-19")
async def test_epochs_only_rise_over_many_tenures(store: Store) -> None:
    epochs: list[Epoch] = []
    for owner in ("a:1", "b:1", "a:1", "c:1", "c:1"):
        lease = await claim(store, CEO, owner)
        epochs.append(lease.epoch)
        await release(store, lease)
    assert epochs == sorted(set(epochs))
    assert len(epochs) == 5


@case("LSE-20")
async def test_a_released_lease_cannot_be_renewed(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await release(store, lease)
    assert isinstance(await store.leases.renew(lease, ttl=LONG), Lost)
    assert await store.leases.get(CEO) == Absent()


@case("LSE-21")
async def test_releasing_twice_is_a_no_and_no_error(store: Store) -> None:
    lease = await claim(store, CEO, A)
    await release(store, lease)
    assert isinstance(await store.leases.release(lease), NotHeld)


@case("LSE-22")
async def test_releasing_a_seat_never_claimed_is_a_no_and_no_error(store: Store) -> None:
    assert isinstance(await store.leases.release(tenure(CEO, A, 1)), NotHeld)
    assert await store.leases.get(CEO) == Absent()
