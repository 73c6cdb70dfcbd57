import json
import stat
from pathlib import Path

import pytest

from crewlet_site import keyring
from crewlet_site.errors import StartRefused


def test_a_minted_keyring_is_private_and_reads_back(tmp_path: Path) -> None:
    minted = keyring.mint(tmp_path)
    path = tmp_path / keyring.FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keyring.load(tmp_path) == minted
    assert [entry.name for entry in tmp_path.iterdir()] == [keyring.FILE_NAME]


def test_no_keyring_yet_is_none_and_not_an_error(tmp_path: Path) -> None:
    assert keyring.load(tmp_path) is None
    assert keyring.load(tmp_path / "file" / "below") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"active_key_id": "k2", "keys": []}', '{"keys": [{"id": "a"}]}']
)
def test_a_damaged_keyring_is_refused_and_never_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / keyring.FILE_NAME
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StartRefused, match="put back a copy"):
        keyring.load(tmp_path)
    assert path.read_text(encoding="utf-8") == text


def test_each_purpose_gets_its_own_secret_and_the_same_one_again() -> None:
    ring = keyring.Keyring(active_key_id="a", keys={"a": b"1" * 32, "b": b"2" * 32})
    assert ring.derive("one") == ring.derive("one")
    assert ring.derive("one") != ring.derive("two")
    assert len(ring.derive("one")) == 64


def test_after_a_rotation_the_old_secret_is_a_fallback() -> None:
    keys = {"a": b"1" * 32, "b": b"2" * 32}
    before = keyring.Keyring(active_key_id="a", keys=keys)
    after = keyring.Keyring(active_key_id="b", keys=keys)
    assert before.derive("cookies") in after.derive_fallbacks("cookies")
    assert after.derive("cookies") not in after.derive_fallbacks("cookies")


def test_a_keyring_shows_no_material(tmp_path: Path) -> None:
    minted = keyring.mint(tmp_path)
    material = json.loads((tmp_path / keyring.FILE_NAME).read_text())["keys"][0]["material"]
    assert material not in repr(minted)
    assert repr(minted.keys["k1"]) not in repr(minted)
