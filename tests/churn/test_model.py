"""The model itself: it calls out each broken promise, and lets every true story pass."""

from datetime import timedelta

import pytest

from coordination.contract.answers import (
    Absent,
    Epoch,
    Lost,
    Owner,
    Refused,
    RefusedReason,
    Released,
    Revision,
)
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.rules.instants import Instant, nanos_of
from coordination.rules.keys import Resource
from coordination.rules.leases import LostReason
from tests.churn.model import Answer, BrokenPromiseError, Model

SEAT = "seat:ceo"
TTL = timedelta(seconds=10)
HELD = Refused(because=RefusedReason.HELD)
GONE = Lost(because=LostReason.LAPSED)


def lease(owner: str, epoch: int, *, since: int, renewed: int) -> Lease:
    return Lease(
        resource=Resource.parse(SEAT),
        owner=Owner(owner),
        epoch=Epoch(epoch),
        ttl=TTL,
        renewed_at=at(renewed),
        expires_at=at(renewed) + TTL,
        acquired_at=at(since),
        revision=Revision(1),
    )


def at(second: int) -> Instant:
    return Instant(nanos_of(timedelta(seconds=1_000 + second)))


class Told:
    """A model, told whole calls."""

    def __init__(self) -> None:
        self.model = Model()

    def grant(self, owner: str, epoch: int, second: int) -> None:
        granted = Granted(lease=lease(owner, epoch, since=second, renewed=second))
        self.answer("claim", owner, 0, second, granted)

    def answer(self, verb: str, owner: str, epoch: int, second: int, answer: Answer) -> None:
        call = self.model.begin(verb, SEAT, owner, at(second), ttl=nanos_of(TTL), epoch=epoch)
        self.model.end(call, answer, at(second))


@pytest.fixture
def told() -> Told:
    """A's tenure at epoch 1, from second 0 to 10."""
    one = Told()
    one.grant("a", 1, 0)
    return one


def test_a_true_story_passes(told: Told) -> None:
    renewed = Renewed(lease=lease("a", 1, since=0, renewed=5))
    told.answer("renew", "a", 1, 5, renewed)
    told.answer("claim", "b", 0, 6, HELD)
    told.answer("release", "a", 1, 7, Released())
    told.grant("b", 2, 7)
    told.answer("renew", "b", 2, 8, None)
    told.grant("c", 3, 19)
    told.answer("renew", "b", 2, 19, GONE)
    told.model.read(SEAT, lease("c", 3, since=19, renewed=19), at(20), at(20))


def test_two_holders_at_one_instant_are_called_out(told: Told) -> None:
    with pytest.raises(BrokenPromiseError, match="two holders"):
        told.grant("b", 2, 9)


def test_a_token_granted_twice_or_lower_is_called_out(told: Told) -> None:
    with pytest.raises(BrokenPromiseError, match="granted twice"):
        told.grant("b", 1, 11)
    told.grant("b", 3, 22)
    with pytest.raises(BrokenPromiseError, match="granted after 3"):
        told.grant("c", 2, 40)


def test_a_renewal_past_its_end_or_under_an_old_token_is_called_out(told: Told) -> None:
    with pytest.raises(BrokenPromiseError, match="after its end"):
        told.answer("renew", "a", 1, 11, Renewed(lease=lease("a", 1, since=0, renewed=11)))
    told = Told()
    told.grant("a", 1, 0)
    told.grant("b", 2, 10)
    with pytest.raises(BrokenPromiseError, match="after 2"):
        told.answer("renew", "a", 1, 10, Renewed(lease=lease("a", 1, since=0, renewed=10)))


def test_a_wrong_refusal_and_a_wrong_loss_are_called_out(told: Told) -> None:
    with pytest.raises(BrokenPromiseError, match="lost"):
        told.answer("renew", "a", 1, 5, GONE)
    with pytest.raises(BrokenPromiseError, match="nobody can hold"):
        told.answer("claim", "b", 0, 11, HELD)


def test_an_unanswered_call_may_have_been_carried_out(told: Told) -> None:
    told.answer("renew", "a", 1, 5, None)
    told.answer("claim", "b", 0, 14, HELD)
    told.grant("b", 2, 15)


def test_a_read_that_hides_a_holder_is_called_out(told: Told) -> None:
    with pytest.raises(BrokenPromiseError, match="holds, and a read says"):
        told.model.read(SEAT, Absent(), at(5), at(5))
