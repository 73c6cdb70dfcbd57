from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.errors import InvalidRequest
from coordination.rules.instants import NANOS, Instant, nanos_of, set_or_none, span_of

FIRST = Instant.parse("0001-01-01T00:00:00Z").nanos
LAST = Instant.parse("9999-12-31T23:59:59.999999999Z").nanos
INSTANTS = st.integers(FIRST, LAST).map(Instant)


@given(INSTANTS)
def test_an_instant_keeps_all_nine_digits_both_ways(instant: Instant) -> None:
    assert Instant.parse(instant.text()) == instant


@given(INSTANTS)
def test_its_text_has_no_trailing_zeros_and_ends_in_z(instant: Instant) -> None:
    text = instant.text()
    assert text.endswith("Z")
    assert "." not in text or not text.endswith(("0Z", ".Z"))


@given(INSTANTS, INSTANTS)
def test_instants_are_ordered_as_their_nanoseconds(one: Instant, other: Instant) -> None:
    assert (one < other) == (one.nanos < other.nanos)
    assert (one == other) == (one.nanos == other.nanos)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_datetime_reads_back_to_the_microsecond(moment: datetime) -> None:
    assert Instant.of(moment).as_datetime() == moment


@given(INSTANTS.filter(lambda one: one.nanos < LAST - NANOS), st.integers(0, NANOS - 1))
def test_a_span_added_is_the_span_between(start: Instant, micros: int) -> None:
    span = timedelta(microseconds=micros // 1000)
    assert nanos_of(span) == (start + span).nanos - start.nanos
    assert span_of(nanos_of(span)) == span


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-01t00:00:01z", NANOS),
    ],
)
def test_other_spellings_of_a_moment_are_read(text: str, nanos: int) -> None:
    assert Instant.parse(text).nanos == nanos


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-09-23",
        "2026-09-23T08:02:11",
        "2026-09-23T08:02:11.Z",
        "2026-09-23T08:02:11.1234567890Z",
        "2026-13-01T00:00:00Z",
        "2026-09-23T08:02:61Z",
        "2026-09-23 08:02:11Z",
        "２026-09-23T08:02:11Z",
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Instant.parse(text)


@pytest.mark.parametrize(
    "text",
    ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01", "2026-01-01T00:00:00.\u0663Z"],
)
def test_no_instant_is_read_that_no_calendar_can_show(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Instant.parse(text)


def test_a_moment_without_a_timezone_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        Instant.of(datetime(2026, 9, 23, 8, 2))  # noqa: DTZ001 - the fault under test


def test_the_first_instant_of_year_one_is_not_set() -> None:
    assert set_or_none(Instant.parse("0001-01-01T00:00:00Z")) is None
    assert set_or_none(None) is None
    assert set_or_none(Instant(0)) == Instant(0)
