"""CFG-01 to CFG-16: the configuration pointer, its epoch and instant, and the payload beside it."""

import asyncio
from datetime import timedelta

import pytest

from coordination.contract.answers import Absent
from coordination.contract.config import Activation, Origin, Payload
from coordination.contract.store import Store
from coordination.errors import ActivationRaced, CoordinationError
from coordination.rules.instants import Instant
from tests.contract.backends import Backend
from tests.contract.cases import case
from tests.contract.terms import HOUR, MINUTE, T0, Crowd, insist

MILLISECOND = 1_000_000  # nanoseconds


def body(revision: str) -> bytes:
    """A revision's sealed payload."""
    return f"sealed {revision}".encode()


async def activate(
    store: Store,
    revision: str,
    *,
    expect: str | None = None,
    create_only: bool = False,
    at: Instant = T0,
) -> Activation:
    """Activate a revision with a payload that names it."""
    return await store.config.activate(
        revision, body(revision), at=at, expect=expect, expect_absent=create_only
    )


async def pointer(store: Store) -> Activation:
    """The pointer that stands."""
    found = await store.config.target()
    assert isinstance(found, Activation)
    return found


@case("CFG-01")
async def test_with_nothing_activated_there_is_no_pointer_and_no_payload(store: Store) -> None:
    assert await store.config.target() == Absent()
    assert await store.config.payload("rev-1") == Absent()


@case("CFG-02")
async def test_an_activation_is_read_back_at_its_epoch(store: Store) -> None:
    answer = await activate(store, "rev-1")
    assert answer.epoch > 0
    assert (await pointer(store)).epoch == answer.epoch
    assert (await pointer(store)).revision_id == "rev-1"


@case("CFG-03")
async def test_the_origin_is_whole_in_the_answer_and_in_the_pointer(store: Store) -> None:
    origin = Origin(
        author="maya",
        author_kind="operator",
        source="api",
        created_at=Instant(T0.nanos - HOUR // timedelta(microseconds=1) * 1000),
    )
    answer = await store.config.activate(
        "rev-1", body("rev-1"), at=T0, summary="raise caps", origin=origin
    )
    for seen in (answer, await pointer(store)):
        assert seen.origin == origin
        assert (seen.summary, seen.at) == ("raise caps", T0)


@case("CFG-04")
async def test_every_activation_has_a_greater_epoch(store: Store) -> None:
    epochs = [(await activate(store, f"rev-{index}")).epoch for index in range(4)]
    assert epochs == sorted(set(epochs))
    assert len(epochs) == 4


@case("CFG-05")
async def test_an_edit_of_a_revision_no_longer_active_is_raced(store: Store) -> None:
    await activate(store, "rev-1")
    second = await activate(store, "rev-2", expect="rev-1")
    with pytest.raises(ActivationRaced) as raced:
        await activate(store, "rev-3", expect="rev-1")
    assert raced.value.standing == "rev-2"
    assert await pointer(store) == second
    assert await store.config.payload("rev-2") == Payload(body("rev-2"))


@case("CFG-06")
async def test_an_edit_of_the_active_revision_lands(store: Store) -> None:
    await activate(store, "rev-1")
    answer = await activate(store, "rev-2", expect="rev-1")
    assert await pointer(store) == answer
    assert answer.revision_id == "rev-2"


@case("CFG-07")
async def test_with_no_pointer_there_is_nobody_to_lose_to(store: Store) -> None:
    answer = await activate(store, "rev-1", expect="rev-0")
    assert await pointer(store) == answer


@case("CFG-08")
async def test_an_activation_without_expectation_lands_over_any(store: Store) -> None:
    await activate(store, "rev-1")
    await activate(store, "rev-2")
    assert (await pointer(store)).revision_id == "rev-2"


@case("CFG-09")
async def test_a_create_only_activation_lands_where_there_is_none(store: Store) -> None:
    answer = await activate(store, "rev-1", create_only=True)
    assert await pointer(store) == answer
    assert await store.config.payload("rev-1") == Payload(body("rev-1"))


@case("CFG-10")
async def test_a_create_only_activation_never_replaces_a_fleets_company(store: Store) -> None:
    standing = await activate(store, "the-fleets")
    with pytest.raises(ActivationRaced) as raced:
        await activate(store, "another", create_only=True)
    assert raced.value.standing == "the-fleets"
    assert await pointer(store) == standing
    assert await store.config.payload("the-fleets") == Payload(body("the-fleets"))


@case("CFG-11")
async def test_two_expectations_at_once_are_the_callers_mistake(store: Store) -> None:
    with pytest.raises(CoordinationError) as fault:
        await activate(store, "rev-1", expect="rev-0", create_only=True)
    assert not isinstance(fault.value, ActivationRaced)
    assert await store.config.target() == Absent()
    assert await store.config.payload("rev-1") == Absent()


@case("CFG-12")
async def test_of_eight_edits_of_one_base_exactly_one_lands_with_its_payload(
    backend: Backend,
) -> None:
    stores = await backend.open(handles=4)
    await activate(stores[0], "base")

    crowd = Crowd()

    async def edit(index: int) -> Activation | None:
        revision = f"edit-{index}"
        try:
            with crowd:
                return await insist(lambda: activate(stores[index % 4], revision, expect="base"))
        except ActivationRaced:
            return None

    answers = await asyncio.gather(*(edit(index) for index in range(8)))
    assert crowd.most == 8, "the edits did not run beside one another: no race happened"
    (winner,) = [answer for answer in answers if answer is not None]
    standing = await pointer(stores[0])
    assert (standing.revision_id, standing.epoch) == (winner.revision_id, winner.epoch)
    payload = await stores[1].config.payload(winner.revision_id)
    assert payload == Payload(body(winner.revision_id))


@case("CFG-13")
async def test_concurrent_activations_are_handed_distinct_epochs(backend: Backend) -> None:
    stores = await backend.open(handles=4)
    crowd = Crowd()

    async def one(index: int) -> Activation:
        with crowd:
            return await activate(stores[index % 4], f"rev-{index}")

    answers = await asyncio.gather(*(one(index) for index in range(8)))
    assert crowd.most == 8, "the activations did not run beside one another: no race happened"
    epochs = {answer.epoch for answer in answers}
    assert len(epochs) == 8
    assert (await pointer(stores[0])).epoch == max(epochs)


@case("CFG-14")
async def test_an_activation_is_never_earlier_than_the_one_it_replaces(store: Store) -> None:
    before = await activate(store, "rev-0", at=T0)
    assert before.at == T0
    asked = (
        (Instant(T0.nanos - 3600 * 1000 * MILLISECOND), None),
        (T0, "rev-1"),
        (Instant(T0.nanos + 2_400_000), None),
    )
    for index, (at, expect) in enumerate(asked, start=1):
        answer = await activate(store, f"rev-{index}", at=at, expect=expect)
        assert answer.at > before.at
        assert answer.at.nanos // MILLISECOND > before.at.nanos // MILLISECOND
        assert answer.at.nanos % MILLISECOND == 0
        assert await pointer(store) == answer
        before = answer
    last = await activate(store, "rev-4", at=T0 + MINUTE)
    assert last.at == T0 + MINUTE
    assert await pointer(store) == last


@case("CFG-15")
async def test_a_payload_is_the_asked_revisions_or_none(store: Store) -> None:
    await activate(store, "rev-1")
    await activate(store, "rev-2")
    assert await store.config.payload("rev-1") == Absent()
    assert await store.config.payload("rev-2") == Payload(body("rev-2"))


@case("CFG-16")
async def test_a_payload_handed_in_or_out_is_a_copy(store: Store) -> None:
    sealed = bytearray(b"sealed rev-1")
    await store.config.activate("rev-1", bytes(sealed), at=T0)
    sealed[:] = b"x" * len(sealed)
    first = await store.config.payload("rev-1")
    assert isinstance(first, Payload)
    assert isinstance(first.body, bytes), "a caller could change the body it was handed"
    assert await store.config.payload("rev-1") == Payload(b"sealed rev-1")
