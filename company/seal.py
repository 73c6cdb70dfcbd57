"""Sealing the company document for the fleet's `config` slot.

Form: `v1:<key id>:` + nonce (12 bytes) + AES-256-GCM over the zlib-compressed document, with
`config:<revision id>` as associated data, so that one revision's body cannot pass for another's.
"""

import re
import secrets
import zlib
from collections.abc import Mapping
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from company.yaml_nodes import DOCUMENT_LIMIT_BYTES

VERSION: Final = b"v1"
NONCE_BYTES: Final = 12  # what GCM is defined for without hashing the nonce
KEY_BYTES: Final = 32
# One coordination value is at most 8 MiB encoded; base64 makes four bytes of three, and the record
# around it is a revision id and two field names.
SEALED_LIMIT_BYTES: Final = (DOCUMENT_LIMIT_BYTES - 1024) // 4 * 3
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


class Keyring(Protocol):
    """Keys of 32 bytes by id; the active one seals, all of them open."""

    @property
    def active_key_id(self) -> str:
        """The id of the key that seals."""

    @property
    def keys(self) -> Mapping[str, bytes]:
        """The key material by id."""


class DocumentTooLarge(ValueError):
    """Refused before anything was sent; names both sizes in bytes."""


class SealBroken(ValueError):
    """The body cannot be opened: unknown form or key, another revision's body, or damaged."""


def seal(revision_id: str, text: str, keyring: Keyring) -> bytes:
    """Seal one revision's document.

    Raises:
        DocumentTooLarge: over 8 MiB, plain or sealed and encoded.
    """
    plain = text.encode()
    _refuse_over(len(plain), DOCUMENT_LIMIT_BYTES, "The document")
    key_id = keyring.active_key_id
    nonce = secrets.token_bytes(NONCE_BYTES)
    cipher = AESGCM(_key(keyring, key_id))
    body = cipher.encrypt(nonce, zlib.compress(plain, level=9), _associated(revision_id))
    sealed = b"%s:%s:%s%s" % (VERSION, key_id.encode(), nonce, body)
    _refuse_over(len(sealed), SEALED_LIMIT_BYTES, "The sealed document")
    return sealed


def open_seal(revision_id: str, sealed: bytes, keyring: Keyring) -> str:
    """The document that was sealed for this revision.

    Raises:
        SealBroken: with a sentence that says which of the reasons it is.
    """
    key_id, rest = _split(sealed)
    cipher = AESGCM(_key(keyring, key_id))
    try:
        packed = cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], _associated(revision_id))
    except (InvalidTag, ValueError) as fault:
        msg = f"The body is damaged, or it is not the body of revision {revision_id}."
        raise SealBroken(msg) from fault
    return _unpack(packed)


def _split(sealed: bytes) -> tuple[str, bytes]:
    version, _, rest = sealed.partition(b":")
    key_id, colon, body = rest.partition(b":")
    if version != VERSION or not colon or len(key_id) > 64:
        raise SealBroken("The body is not sealed in a form that this build reads (v1).")  # noqa: EM101 - nothing to fill in
    return key_id.decode("ascii", "replace"), body


def _key(keyring: Keyring, key_id: str) -> bytes:
    key = keyring.keys.get(key_id) if _KEY_ID.match(key_id) else None
    if key is None or len(key) != KEY_BYTES:
        msg = f"This node's keyring has no key {key_id[:64]!r}; give it the fleet's keyring."
        raise SealBroken(msg)
    return key


def _unpack(packed: bytes) -> str:
    # Bounded, since a few kilobytes can inflate to gigabytes.
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(packed, DOCUMENT_LIMIT_BYTES + 1)
        _refuse_over(len(plain), DOCUMENT_LIMIT_BYTES, "The document in the seal")
        if not inflate.eof:
            raise SealBroken("The body ends early.")  # noqa: EM101 - one place, one sentence
        return plain.decode()
    except (zlib.error, UnicodeDecodeError, DocumentTooLarge) as fault:
        msg = f"The body opens to something that is no document: {fault}"
        raise SealBroken(msg) from fault


def _associated(revision_id: str) -> bytes:
    return f"config:{revision_id}".encode()


def _refuse_over(size: int, limit: int, what: str) -> None:
    if size > limit:
        msg = f"{what} has {size:,} bytes; the limit is {limit:,}."
        raise DocumentTooLarge(msg)
