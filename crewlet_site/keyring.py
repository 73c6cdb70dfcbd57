"""The node's bootstrap keyring: what secrets are sealed with, and what SECRET_KEY derives from.

From the bootstrap file where that names keys; else from `keyring.json` in the home (mode 0600),
minted by the first `./crewlet up`. Key material is 32 bytes and never leaves the process.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from crewlet_site.errors import StartRefused

FILE_NAME: Final = "keyring.json"
MATERIAL_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """Named keys, of which one is active: it seals, the others still open."""

    active_key_id: str
    keys: Mapping[str, bytes] = field(repr=False)
    is_ephemeral: bool = False

    def derive(self, purpose: str) -> str:
        """A secret for one purpose from the active key, as text."""
        return _derive(self.keys[self.active_key_id], purpose)

    def derive_fallbacks(self, purpose: str) -> tuple[str, ...]:
        """The same from the other keys, so that a rotation signs nobody out."""
        others = sorted(set(self.keys) - {self.active_key_id})
        return tuple(_derive(self.keys[key_id], purpose) for key_id in others)


def load(home: Path) -> Keyring | None:
    """Read the home's keyring; None when none was minted yet.

    Raises:
        StartRefused: the file is there and cannot be used.
    """
    path = home / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        msg = f"The keyring {path} cannot be read ({error.strerror})."
        raise StartRefused(msg) from error
    try:
        document = json.loads(text)
        keys = {row["id"]: decode_material(row["material"]) for row in document["keys"]}
        active = document["active_key_id"]
        keys[active]
    except (ValueError, KeyError, TypeError) as error:
        msg = (
            f"The keyring {path} is damaged; put back a copy of it, because what it sealed "
            "cannot be read without it."
        )
        raise StartRefused(msg) from error
    return Keyring(active_key_id=active, keys=keys)


def mint(home: Path) -> Keyring:
    """Make a keyring with one fresh key and keep it in the home, readable by its owner alone."""
    material = secrets.token_bytes(MATERIAL_BYTES)
    row = {"id": "k1", "material": base64.b64encode(material).decode()}
    write_private(home / FILE_NAME, json.dumps({"active_key_id": "k1", "keys": [row]}))
    return Keyring(active_key_id="k1", keys={"k1": material})


def ephemeral() -> Keyring:
    """A keyring for processes that serve nobody (checks, tests): gone when they end."""
    keys = {"ephemeral": secrets.token_bytes(MATERIAL_BYTES)}
    return Keyring(active_key_id="ephemeral", keys=keys, is_ephemeral=True)


def decode_material(text: str) -> bytes:
    """Decode base64 key material of 32 bytes; ValueError says what is wrong."""
    try:
        material = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("is not base64") from error  # noqa: EM101 - completed by the caller
    if len(material) != MATERIAL_BYTES:
        raise ValueError(f"holds {len(material)} bytes, not {MATERIAL_BYTES}")  # noqa: EM102
    return material


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _derive(material: bytes, purpose: str) -> str:
    # HKDF with one output block (RFC 5869): extract with a fixed salt, expand with the purpose.
    extracted = hmac.digest(b"crewlet keyring", material, hashlib.sha256)
    return hmac.new(extracted, purpose.encode() + b"\x01", hashlib.sha256).hexdigest()
