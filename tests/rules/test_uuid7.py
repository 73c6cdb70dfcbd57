import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.errors import InvalidRequest
from coordination.rules.uuid7 import TAIL_BYTES, mint, parse, read_ms

# RFC 9562, appendix A.6
VECTOR = uuid.UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
VECTOR_MS = 0x017F22E279B0
VECTOR_TAIL = ((0xCC3 << 68) | 0x18C4DC0C0C07398F).to_bytes(TAIL_BYTES)


def test_the_rfcs_own_example_is_minted_and_read() -> None:
    assert mint(VECTOR_MS, VECTOR_TAIL) == VECTOR
    assert read_ms(parse(str(VECTOR))) == VECTOR_MS


@given(st.integers(0, (1 << 48) - 1), st.binary(min_size=TAIL_BYTES, max_size=TAIL_BYTES))
def test_the_millisecond_is_exact_and_the_form_is_version_seven(ms: int, tail: bytes) -> None:
    minted = mint(ms, tail)
    assert read_ms(minted) == ms
    assert minted.version == 7
    assert minted.variant == uuid.RFC_4122
    assert parse(str(minted)) == minted


@given(st.integers(0, (1 << 48) - 2), st.binary(min_size=TAIL_BYTES, max_size=TAIL_BYTES))
def test_a_later_millisecond_sorts_later(ms: int, tail: bytes) -> None:
    assert mint(ms, tail) < mint(ms + 1, bytes(TAIL_BYTES))


@pytest.mark.parametrize("ms", [-1, 1 << 48])
def test_a_millisecond_that_does_not_fit_is_refused(ms: int) -> None:
    with pytest.raises(InvalidRequest):
        mint(ms, bytes(TAIL_BYTES))


@pytest.mark.parametrize("size", [9, 11])
def test_a_tail_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(InvalidRequest):
        mint(0, bytes(size))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "017f22e279b07cc398c4dc0c0c07398f",
        "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
        "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-18c4-dc0c0c07398f",
    ],
)
def test_what_is_no_uuid7_in_its_canonical_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(text)
