import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coordination.errors import InvalidRequest
from coordination.rules.keys import (
    MAX_SUBJECT_BYTES,
    Resource,
    ResourceClass,
    escape,
    key_of,
    names_of,
    unescape,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
KEY_LIKE = st.text("aB9_-=.2EF:é ", max_size=12)


@given(NAMES)
def test_a_segment_reads_back_as_the_name_it_was_made_of(name: str) -> None:
    assert unescape(escape(name)) == name


@given(NAMES)
def test_an_escaped_segment_is_one_plain_subject_token(name: str) -> None:
    assert set(escape(name)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-="
    )


@given(NAMES, NAMES)
def test_no_two_names_share_a_segment(one: str, other: str) -> None:
    assume(one != other)
    assert escape(one) != escape(other)


@given(st.lists(NAMES, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_no_two_lists_of_names_share_a_key(one: list[str], other: list[str]) -> None:
    assume(one != other)
    assert key_of(*one) != key_of(*other)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_a_key_reads_back_as_its_names(names: list[str]) -> None:
    assert names_of(key_of(*names)) == tuple(names)


@given(st.one_of(KEY_LIKE, st.text(max_size=12)))
def test_what_was_never_encoded_is_never_decoded(key: str) -> None:
    names = names_of(key)
    assert names is None or key_of(*names) == key


@pytest.mark.parametrize(
    "key", ["", ".", "a.", ".a", "a..b", "a b", "=", "=4", "=4g", "=2e", "=41", "=FF", "é", "a:b"]
)
def test_a_key_nobody_writes_belongs_to_nobody(key: str) -> None:
    assert names_of(key) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("seat:ceo", "seat.ceo"),
        ("seat:dev.lead", "seat.dev=2Elead"),
        ("seat:zoé", "seat.zo=C3=A9"),
        ("node:10.0.0.7", "node.10=2E0=2E0=2E7"),
        ("merge:T 42", "merge.T=2042"),
        ("worker:setup:x", "worker.setup.x"),
    ],
)
def test_a_resource_has_the_key_every_writer_gives_it(text: str, key: str) -> None:
    resource = Resource.parse(text)
    assert resource.key == key
    assert Resource.of_key(key) == resource
    assert str(resource) == text


@given(st.text("ab:.é =", max_size=8))
def test_a_parsed_resource_reads_back_from_its_key(text: str) -> None:
    try:
        resource = Resource.parse(text)
    except InvalidRequest:
        return
    assert Resource.of_key(resource.key) == resource


@pytest.mark.parametrize("text", ["", "seat", "seat:", ":ceo", "seat::ceo", "se.at:ceo", "é:x"])
def test_a_name_that_cannot_be_listed_again_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Resource.parse(text)


@pytest.mark.parametrize(
    "parts", [(), ("seat",), ("seat", ""), ("seat", "a:b"), ("a b", "c"), ("", "ceo")]
)
def test_no_resource_is_made_of_parts_that_no_listing_reads_back(parts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest):
        Resource(parts)


@pytest.mark.parametrize("key", ["seat", "seat.a=3Ab", "a=20b.c", "seat.=zz", "seat.=3a", "seat."])
def test_a_key_of_no_resource_belongs_to_nobody(key: str) -> None:
    assert Resource.of_key(key) is None


@pytest.mark.parametrize("name", ["", "seat:", "se.at", "a b", ">", "*", "é"])
def test_a_class_that_cannot_address_keys_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        ResourceClass.parse(name)


def test_seats_and_presences_live_under_the_lease_ttl_and_nothing_else_does() -> None:
    lanes = {name: ResourceClass.parse(name).is_seat_lane for name in ("seat", "node", "worker")}
    assert lanes == {"seat": True, "node": True, "worker": False}


def test_a_key_longer_than_a_subject_is_refused() -> None:
    assert len(key_of("x" * MAX_SUBJECT_BYTES)) == MAX_SUBJECT_BYTES
    with pytest.raises(InvalidRequest, match="too long"):
        key_of("x" * (MAX_SUBJECT_BYTES + 1))


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        key_of("\ud800")
