"""The home's lock: one owner, and an orphan counts."""

import os
import subprocess
from pathlib import Path

import pytest

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.supervisor import lock


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.run.mkdir()
    return home


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "ORPHANS_GONE_WITHIN", 0.2)


def test_a_held_home_is_refused_naming_the_holder(home: Home) -> None:
    held = lock.take(home)
    with pytest.raises(StartRefused, match=f"process {os.getpid()}"):
        lock.take(home)
    os.close(held)
    os.close(lock.take(home))


def test_an_orphan_that_inherited_the_lock_still_holds_it(home: Home) -> None:
    held = lock.take(home)
    orphan = subprocess.Popen(["sleep", "60"], pass_fds=(held,))
    os.close(held)
    # As after a kill: the recorded supervisor is gone, its child is not.
    home.lock.write_text("4194304999")
    with pytest.raises(StartRefused, match="left behind"):
        lock.take(home)
    orphan.kill()
    orphan.wait()
    os.close(lock.take(home))


def test_a_lock_file_left_by_a_dead_owner_is_taken_over(home: Home) -> None:
    home.lock.write_text("4194304999")
    held = lock.take(home)
    assert home.lock.read_text() == str(os.getpid())
    os.close(held)
