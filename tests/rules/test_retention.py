from datetime import timedelta

import pytest

from coordination.errors import InvalidRequest
from coordination.rules import retention
from coordination.rules.leases import DEFAULT_LEASE_TTL, MAX_DUTY_TTL
from coordination.rules.retention import every_bucket


def test_a_fence_and_a_pause_are_kept_for_ever() -> None:
    kept = (retention.EPOCHS, retention.CONFIG, retention.POSITIONS)
    assert [one.age for one in kept] == [None, None, None]


def test_duties_are_kept_for_the_longest_duty_and_leases_for_the_lease_ttl() -> None:
    assert retention.DUTIES.age == MAX_DUTY_TTL
    assert retention.leases(timedelta(seconds=45)).age == timedelta(seconds=45)


def test_the_lease_buckets_are_opened_first_and_each_bucket_once() -> None:
    suffixes = [kept.suffix for kept in every_bucket(DEFAULT_LEASE_TTL)]
    assert suffixes[:3] == ["leases", "duties", "epochs"]
    assert len(suffixes) == len(set(suffixes)) == 21


def test_no_bucket_is_opened_without_saying_what_it_holds_and_duties_alone_are_raised() -> None:
    table = every_bucket(DEFAULT_LEASE_TTL)
    assert all(kept.holds for kept in table)
    assert len({kept.holds for kept in table}) == len(table)
    assert [kept.suffix for kept in table if kept.raised] == ["duties"]


def test_what_is_swept_is_every_ageless_bucket_of_the_fleet_and_no_fencing_counter() -> None:
    ageless = [kept for kept in every_bucket(DEFAULT_LEASE_TTL) if kept.age is None]
    assert [*retention.SWEPT] == [kept for kept in ageless if kept is not retention.EPOCHS]
    assert retention.EPOCHS in ageless


@pytest.mark.parametrize("seconds", [0.0, -1.0, 0.05, 0.0999])
def test_an_age_no_broker_keeps_is_the_callers_error(seconds: float) -> None:
    with pytest.raises(InvalidRequest, match="leases"):
        every_bucket(timedelta(seconds=seconds))
    assert every_bucket(retention.SHORTEST_AGE)[0].age == timedelta(milliseconds=100)


@pytest.mark.parametrize(
    ("age", "window"), [(None, 120), (timedelta(hours=3), 120), (timedelta(seconds=45), 45)]
)
def test_message_ids_are_remembered_two_minutes_or_the_age(
    age: timedelta | None, window: int
) -> None:
    assert retention.duplicate_window(age) == timedelta(seconds=window)
