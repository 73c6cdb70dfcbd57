"""The oldest live build, from records taken in one by one, equals a look through all of them."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from coordination.rules.instants import NANOS, Instant
from coordination.rules.leases import Standing
from coordination.rules.protocols import LiveProtocols

AGE = timedelta(seconds=10)


def standing(written: float, ttl: float, *, owner: str = "node-a:1", claim: str = "") -> Standing:
    return Standing(
        owner=owner,
        epoch=0 if claim else 1,
        ttl_ns=int(ttl * NANOS),
        written_at=Instant(int(written * NANOS)),
        claim=claim,
    )


def at(seconds: float) -> Instant:
    return Instant(int(seconds * NANOS))


def test_nothing_taken_in_is_nobody_alive() -> None:
    assert LiveProtocols(AGE).lowest(at(0)) is None


def test_a_claim_being_made_counts_and_a_tombstone_does_not() -> None:
    live = LiveProtocols(AGE)
    live.put("seat.ceo", 1, standing(0, 5, claim="c-1"))
    assert live.lowest(at(1)) == 1
    live.put("seat.ceo", 1, standing(1, 5, owner=""))
    assert live.lowest(at(1)) is None


def test_a_record_ends_at_its_own_deadline() -> None:
    live = LiveProtocols(AGE)
    live.put("seat.ceo", 1, standing(0, 5))
    live.put("seat.cto", 3, standing(0, 9))
    assert live.lowest(at(4.9)) == 1
    assert live.lowest(at(5)) == 3


def test_a_deadline_that_a_clock_running_back_has_not_reached_counts_again() -> None:
    live = LiveProtocols(AGE)
    live.put("seat.ceo", 1, standing(0, 5))
    assert live.lowest(at(6)) is None
    assert live.lowest(at(4)) == 1


def test_a_key_counts_for_the_build_that_wrote_it_last() -> None:
    live = LiveProtocols(AGE)
    live.put("seat.ceo", 1, standing(0, 9))
    live.put("seat.ceo", 4, standing(1, 9))
    assert live.lowest(at(2)) == 4
    live.drop("seat.ceo")
    assert live.lowest(at(2)) is None


def test_what_the_age_removed_is_not_kept() -> None:
    live = LiveProtocols(AGE)
    for number in range(1_000):
        live.put(f"seat.s{number}", 4, standing(number / 1_000, 1))
    live.put("seat.fresh", 4, standing(15, 1))
    assert live.lowest(at(15.5)) == 4
    assert len(live) == 1


def test_a_bucket_without_an_age_keeps_every_record() -> None:
    live = LiveProtocols(None)
    live.put("seat.ceo", 4, standing(0, 1))
    assert live.lowest(at(1_000)) is None
    assert len(live) == 1


RECORDS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.integers(0, 3),
        st.integers(1, 10),
        st.sampled_from(("node-a:1", "")),
        st.integers(0, 4),
    ),
    max_size=30,
)


@given(RECORDS, st.integers(0, 10))
def test_any_history_reads_like_its_newest_records(
    history: list[tuple[str, int, int, str, int]], later: int
) -> None:
    live = LiveProtocols(AGE)
    newest: dict[str, tuple[int, Standing]] = {}
    now = 0
    for key, protocol, ttl, owner, passed in history:
        now += passed
        newest[key] = (protocol, standing(now, ttl, owner=owner))
        live.put(key, *newest[key])
        alive = [p for p, s in newest.values() if s.owner and s.deadline > at(now)]
        assert live.lowest(at(now)) == min(alive, default=None)
    alive = [p for p, s in newest.values() if s.owner and s.deadline > at(now + later)]
    assert live.lowest(at(now + later)) == min(alive, default=None)
