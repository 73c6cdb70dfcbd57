from datetime import timedelta

import pytest

from coordination.rules import retention
from coordination.rules.leases import MAX_DUTY_TTL


def test_a_fence_and_a_pause_are_kept_for_ever() -> None:
    kept = (retention.EPOCHS, retention.CONFIG, retention.POSITIONS)
    assert [one.age for one in kept] == [None, None, None]


def test_duties_are_kept_for_the_longest_duty_and_leases_for_the_lease_ttl() -> None:
    assert retention.DUTIES.age == MAX_DUTY_TTL
    assert retention.leases(timedelta(seconds=45)).age == timedelta(seconds=45)


@pytest.mark.parametrize(
    ("age", "window"), [(None, 120), (timedelta(hours=3), 120), (timedelta(seconds=45), 45)]
)
def test_message_ids_are_remembered_two_minutes_or_the_age(
    age: timedelta | None, window: int
) -> None:
    assert retention.duplicate_window(age) == timedelta(seconds=window)
