from hypothesis import given
from hypothesis import strategies as st

from coordination.rules.listing import keys_to_read

KEYS = st.text("abc", min_size=1, max_size=3)


@given(st.sets(KEYS), st.dictionaries(KEYS, st.booleans()))
def test_every_indexed_key_without_a_delivered_value_is_read_once(
    index: set[str], passed: dict[str, bool]
) -> None:
    delivered = {key for key, is_value in passed.items() if is_value}
    assert keys_to_read(index, passed) == tuple(sorted(index - delivered))


def test_a_quiet_store_costs_no_reads() -> None:
    assert keys_to_read(["a", "b"], {"a": True, "b": True}) == ()


def test_a_marker_is_no_answer_for_a_key_the_leader_names() -> None:
    assert keys_to_read(["a"], {"a": False}) == ("a",)


def test_a_marker_the_leader_does_not_name_needs_no_read() -> None:
    assert keys_to_read([], {"a": False}) == ()
