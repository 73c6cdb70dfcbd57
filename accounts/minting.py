"""Ids and secrets: what is random, and what of it is kept."""

import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from coordination.rules import uuid7

SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted:
    """A secret in clear, shown once, and the hash that is kept."""

    text: str = field(repr=False)
    secret_hash: str


def mint_id() -> UUID:
    """A UUIDv7 of this moment."""
    return uuid7.mint(time.time_ns() // 1_000_000, secrets.token_bytes(uuid7.TAIL_BYTES))


def mint_secret() -> Minted:
    """256 random bits; a plain hash keeps them, since nobody can guess from that many."""
    text = secrets.token_urlsafe(SECRET_BYTES)
    return Minted(text=text, secret_hash=hash_of(text))


def hash_of(secret: str) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
