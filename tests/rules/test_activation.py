import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.rules.activation import published_at
from coordination.rules.instants import Instant

MILLI = 1_000_000
INSTANTS = st.integers(0, 10**19).map(Instant)


@given(INSTANTS, INSTANTS)
def test_each_activation_is_published_in_a_later_millisecond(
    requested: Instant, previous: Instant
) -> None:
    published = published_at(requested, previous)
    assert published.nanos // MILLI > previous.nanos // MILLI


@given(INSTANTS, INSTANTS)
def test_an_instant_is_as_requested_or_a_whole_millisecond(
    requested: Instant, previous: Instant
) -> None:
    published = published_at(requested, previous)
    assert published == requested or published.nanos % MILLI == 0


@pytest.mark.parametrize("nanos", [0, 1, 2_400_001])
def test_the_first_activation_is_published_as_requested(nanos: int) -> None:
    assert published_at(Instant(nanos), None) == Instant(nanos)
