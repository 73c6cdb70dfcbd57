from datetime import timedelta

import pytest

from coordination.errors import InvalidRequest, TtlTooLong
from coordination.rules.instants import Instant, nanos_of
from coordination.rules.keys import Resource
from coordination.rules.leases import (
    MAX_DUTY_TTL,
    Abandonment,
    LostReason,
    Move,
    Standing,
    check_claim,
    is_held,
    judge_acquire,
    judge_tenure,
    needs_clock,
    plan_abandon,
    ttl_ceiling,
)

AGE = timedelta(seconds=45)
WRITTEN = Instant(1_000_000_000)
BEFORE_END = WRITTEN + timedelta(seconds=29)
AT_END = WRITTEN + timedelta(seconds=30)
SEAT = Resource.parse("seat:ceo")
DUTY = Resource.parse("worker:scheduler")


def standing(owner: str = "me", epoch: int = 3, seconds: int = 30, claim: str = "") -> Standing:
    return Standing(
        owner=owner,
        epoch=epoch,
        ttl_ns=nanos_of(timedelta(seconds=seconds)),
        written_at=WRITTEN,
        claim=claim,
    )


TENURE = standing()
PEERS = standing("peer")
CLAIMING = standing(epoch=0, claim="c1")
PEER_CLAIMING = standing("peer", epoch=0, claim="c2")
TOMBSTONE = standing("")


@pytest.mark.parametrize(
    ("found", "held", "move"),
    [
        (None, False, Move.CLAIM),
        (TOMBSTONE, False, Move.CLAIM),
        (TENURE, True, Move.EXTEND),
        (TENURE, False, Move.CLAIM),
        (PEERS, True, Move.REFUSE_HELD),
        (PEERS, False, Move.CLAIM),
        (CLAIMING, True, Move.AGAIN),
        (CLAIMING, False, Move.CLAIM),
        (PEER_CLAIMING, True, Move.REFUSE_HELD),
        (PEER_CLAIMING, False, Move.CLAIM),
    ],
)
def test_an_acquire_moves_by_what_stands_and_whose_it_is(
    found: Standing | None, held: bool, move: Move
) -> None:
    assert judge_acquire(found, "me", held=held, in_flight={"c1"}) is move


def test_a_claim_of_ones_own_that_nobody_is_making_any_more_is_claimed_over() -> None:
    assert judge_acquire(CLAIMING, "me", held=True) is Move.CLAIM
    assert judge_acquire(PEER_CLAIMING, "me", held=True) is Move.REFUSE_HELD


@pytest.mark.parametrize(
    ("found", "epoch", "held", "lost"),
    [
        (None, 3, False, LostReason.ABSENT),
        (TOMBSTONE, 3, False, LostReason.RELEASED),
        (TENURE, 3, True, None),
        (TENURE, 3, False, LostReason.LAPSED),
        (TENURE, 2, True, LostReason.TAKEN_OVER),
        (TENURE, 4, True, LostReason.TAKEN_OVER),
        (PEERS, 3, True, LostReason.TAKEN_OVER),
        (PEERS, 3, False, LostReason.TAKEN_OVER),
        (CLAIMING, 3, True, LostReason.TAKEN_OVER),
        (CLAIMING, 0, True, LostReason.TAKEN_OVER),
    ],
)
def test_a_tenure_is_matched_on_owner_epoch_and_life(
    found: Standing | None, epoch: int, held: bool, lost: LostReason | None
) -> None:
    assert judge_tenure(found, "me", epoch, held=held) is lost


@pytest.mark.parametrize(
    ("found", "age", "asks"),
    [
        (TOMBSTONE, AGE, False),
        (TOMBSTONE, None, False),
        (standing(seconds=45), AGE, False),
        (standing(seconds=60), AGE, False),
        (standing(seconds=44), AGE, True),
        (standing(seconds=45), None, True),
        (CLAIMING, AGE, True),
    ],
)
def test_the_clock_is_asked_only_where_a_deadline_can_pass_before_the_age_does(
    found: Standing, age: timedelta | None, asks: bool
) -> None:
    assert needs_clock(found, age) is asks


@pytest.mark.parametrize(
    ("found", "now", "held"),
    [
        (TENURE, BEFORE_END, True),
        (TENURE, AT_END, False),
        (CLAIMING, BEFORE_END, True),
        (CLAIMING, AT_END, False),
        (TOMBSTONE, BEFORE_END, False),
    ],
)
def test_a_lease_ends_at_its_deadline(found: Standing, now: Instant, held: bool) -> None:
    assert is_held(found, AGE, now) is held
    assert is_held(found, None, now) is held


def test_a_lease_of_the_whole_age_is_held_while_its_key_is_there() -> None:
    assert is_held(standing(seconds=45), AGE, None)


def test_a_deadline_is_never_judged_without_the_brokers_clock() -> None:
    with pytest.raises(InvalidRequest):
        is_held(TENURE, AGE, None)


@pytest.mark.parametrize(
    ("found", "revision", "made_over", "plan"),
    [
        (CLAIMING, 7, 0, Abandonment.TOMBSTONE),
        (CLAIMING, 7, 5, Abandonment.TOMBSTONE),
        (PEER_CLAIMING, 7, 0, Abandonment.NOTHING),
        (TENURE, 8, 0, Abandonment.NOTHING),
        (PEERS, 8, 5, Abandonment.NOTHING),
        (None, 0, 0, Abandonment.FENCE),
        (None, 0, 5, Abandonment.NOTHING),
        (PEERS, 5, 5, Abandonment.TOMBSTONE),
        (TOMBSTONE, 5, 5, Abandonment.TOMBSTONE),
        (TOMBSTONE, 6, 5, Abandonment.NOTHING),
        (None, 5, 5, Abandonment.TOMBSTONE),
    ],
)
def test_a_half_made_claim_is_taken_back_or_fenced_and_nothing_else_is_touched(
    found: Standing | None, revision: int, made_over: int, plan: Abandonment
) -> None:
    assert plan_abandon(found, claim="c1", revision=revision, made_over=made_over) is plan


@pytest.mark.parametrize(
    ("revision", "plan"), [(8, Abandonment.TOMBSTONE), (9, Abandonment.NOTHING)]
)
def test_a_tenure_is_taken_back_only_where_it_was_written(revision: int, plan: Abandonment) -> None:
    found = plan_abandon(TENURE, claim="c1", revision=revision, made_over=5, tenure=8)
    assert found is plan


def test_seats_are_bounded_by_the_age_and_duties_by_three_hours() -> None:
    assert ttl_ceiling(SEAT, AGE) == AGE
    assert ttl_ceiling(Resource.parse("node:n1"), AGE) == AGE
    assert ttl_ceiling(DUTY, AGE) == MAX_DUTY_TTL


@pytest.mark.parametrize(
    ("resource", "ttl"),
    [(SEAT, AGE + timedelta(microseconds=1)), (DUTY, MAX_DUTY_TTL + timedelta(microseconds=1))],
)
def test_a_ttl_its_bucket_cannot_keep_is_refused_and_never_clamped(
    resource: Resource, ttl: timedelta
) -> None:
    with pytest.raises(TtlTooLong):
        check_claim(resource, "me", ttl, AGE)
    check_claim(resource, "me", ttl - timedelta(microseconds=1), AGE)


@pytest.mark.parametrize(
    ("owner", "ttl"), [("", AGE), ("  ", AGE), ("me", timedelta(0)), ("me", timedelta(seconds=-1))]
)
def test_a_claim_that_cannot_be_meant_is_refused(owner: str, ttl: timedelta) -> None:
    with pytest.raises(InvalidRequest):
        check_claim(SEAT, owner, ttl, AGE)
