"""The seal: opened by the right key for the right revision, and by nothing else."""

import random
import secrets
import zlib

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from company.seal import SEALED_LIMIT_BYTES, DocumentTooLarge, SealBroken, open_seal, seal
from company.yaml_nodes import DOCUMENT_LIMIT_BYTES
from crewlet_site.keyring import Keyring

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
KEYRING = Keyring(active_key_id="k2", keys={"k1": OLD, "k2": NEW})
TEXT = "name: Harbourline\nseats: []\n" * 20


def sealed_by_hand(plain: bytes, revision_id: str = "r-1") -> bytes:
    nonce = secrets.token_bytes(12)
    return b"v1:k2:" + nonce + AESGCM(NEW).encrypt(nonce, plain, f"config:{revision_id}".encode())


def test_a_sealed_document_opens_to_itself() -> None:
    assert open_seal("r-1", seal("r-1", TEXT, KEYRING), KEYRING) == TEXT


def test_the_form_is_version_key_id_and_nonce_first() -> None:
    sealed = seal("r-1", TEXT, KEYRING)
    assert sealed.startswith(b"v1:k2:")
    nonce, body = sealed[6:18], sealed[18:]
    assert zlib.decompress(AESGCM(NEW).decrypt(nonce, body, b"config:r-1")).decode() == TEXT


def test_two_seals_of_one_document_share_no_nonce() -> None:
    assert seal("r-1", TEXT, KEYRING)[6:18] != seal("r-1", TEXT, KEYRING)[6:18]


def test_an_older_key_of_the_ring_still_opens() -> None:
    sealed = seal("r-1", TEXT, Keyring(active_key_id="k1", keys={"k1": OLD}))
    assert open_seal("r-1", sealed, KEYRING) == TEXT


def test_another_revision_s_body_does_not_open() -> None:
    with pytest.raises(SealBroken, match="r-2"):
        open_seal("r-2", seal("r-1", TEXT, KEYRING), KEYRING)


def test_a_foreign_key_is_named() -> None:
    foreign = Keyring(active_key_id="k9", keys={"k9": OLD})
    with pytest.raises(SealBroken, match="no key 'k9'"):
        open_seal("r-1", seal("r-1", TEXT, foreign), KEYRING)


def test_one_changed_bit_anywhere_breaks_the_seal() -> None:
    sealed = seal("r-1", TEXT, KEYRING)
    for place in range(len(sealed)):
        broken = bytearray(sealed)
        broken[place] ^= 1
        with pytest.raises(SealBroken):
            open_seal("r-1", bytes(broken), KEYRING)


@pytest.mark.parametrize(
    "body",
    [b"", b"v1", b"v1:", b"v1::", b"v1:k2:", b"v1:k2:short", b"v2:k2:" + b"x" * 40, b"\xff" * 50,
     b"v1:\xff\xff:" + b"x" * 40, b"name: plain\n"],
)  # fmt: skip
def test_what_is_no_seal_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(SealBroken):
        open_seal("r-1", body, KEYRING)


def test_a_small_body_that_inflates_without_bound_is_refused() -> None:
    bomb = zlib.compress(b"x" * (DOCUMENT_LIMIT_BYTES + 1), level=9)
    assert len(bomb) < 20_000
    with pytest.raises(SealBroken, match="8,388,608"):
        open_seal("r-1", sealed_by_hand(bomb), KEYRING)


@pytest.mark.parametrize("plain", [b"not packed", zlib.compress(TEXT.encode())[:-6], b""])
def test_a_body_that_is_not_packed_whole_is_refused(plain: bytes) -> None:
    with pytest.raises(SealBroken):
        open_seal("r-1", sealed_by_hand(plain), KEYRING)


def test_a_document_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(DocumentTooLarge, match="8,388,609 bytes; the limit is 8,388,608"):
        seal("r-1", "x" * (DOCUMENT_LIMIT_BYTES + 1), KEYRING)


def test_a_sealed_body_over_the_limit_is_refused_with_both_sizes() -> None:
    noise = bytes(byte & 127 for byte in random.Random(7).randbytes(DOCUMENT_LIMIT_BYTES))
    with pytest.raises(DocumentTooLarge, match=f"the limit is {SEALED_LIMIT_BYTES:,}"):
        seal("r-1", noise.decode(), KEYRING)
