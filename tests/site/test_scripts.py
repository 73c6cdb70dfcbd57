"""The scripts behind the two commands, on machines made of stubs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIM = "#!/bin/sh\necho 'command not found in this version' >&2\nexit 127\n"


@pytest.fixture
def bin_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    return directory


def put(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def real(says: str) -> str:
    """An interpreter that runs and says where it is."""
    return f"#!/bin/sh\necho {says}\n"


def find(bin_directory: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", ROOT / "scripts" / "find-python"],
        env={"PATH": str(bin_directory), "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_shim_that_does_not_run_is_passed_over(bin_directory: Path, tmp_path: Path) -> None:
    put(bin_directory, "python3.14", SHIM)
    put(bin_directory, "python3.13", SHIM)
    put(bin_directory, "python3.12", real("/opt/three-twelve"))
    assert find(bin_directory, tmp_path).stdout == "/opt/three-twelve\n"


def test_the_newest_named_one_is_taken_first(bin_directory: Path, tmp_path: Path) -> None:
    put(bin_directory, "python3.12", real("/opt/three-twelve"))
    put(bin_directory, "python3.14", real("/opt/three-fourteen"))
    assert find(bin_directory, tmp_path).stdout == "/opt/three-fourteen\n"


def test_a_version_managers_own_directory_is_the_last_resort(
    bin_directory: Path, tmp_path: Path
) -> None:
    put(bin_directory, "python3", SHIM)
    version = tmp_path / ".pyenv" / "versions" / "3.12.1" / "bin"
    version.mkdir(parents=True)
    put(version, "python3", real("/pyenv/three-twelve"))
    assert find(bin_directory, tmp_path).stdout == "/pyenv/three-twelve\n"


def test_this_interpreter_counts_as_usable(bin_directory: Path, tmp_path: Path) -> None:
    (bin_directory / "python3").symlink_to(sys.executable)
    found = find(bin_directory, tmp_path)
    assert found.returncode == 0
    assert Path(found.stdout.strip()).exists()


def test_without_any_the_sentence_says_what_to_install(bin_directory: Path, tmp_path: Path) -> None:
    put(bin_directory, "python3", SHIM)
    found = find(bin_directory, tmp_path)
    assert found.returncode != 0
    assert "Python 3.12 or newer" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the scripts, and an environment whose pip only takes notes."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "requirements.txt").write_text("one==1\n")
    (tmp_path / "requirements-dev.txt").write_text("-r requirements.txt\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    put(
        tmp_path / ".venv" / "bin",
        "python",
        '#!/bin/sh\ncase "$*" in *pip*) echo "$*" >> notes; [ ! -f fail ] ;; esac\n',
    )
    return tmp_path


def prepare(checkout: Path, wanted: str) -> int:
    command = ["/bin/sh", str(checkout / "scripts" / "prepare-venv"), wanted]
    return subprocess.run(
        command, cwd="/", env=os.environ.copy(), capture_output=True, check=False
    ).returncode


def installs(checkout: Path) -> int:
    notes = checkout / "notes"
    return len(notes.read_text().splitlines()) if notes.exists() else 0


def test_a_prepared_environment_is_not_installed_again(checkout: Path) -> None:
    assert prepare(checkout, "run") == 0
    assert prepare(checkout, "run") == 0
    assert installs(checkout) == 1


def test_a_changed_pin_is_installed(checkout: Path) -> None:
    prepare(checkout, "run")
    (checkout / "requirements.txt").write_text("one==2\n")
    prepare(checkout, "run")
    assert installs(checkout) == 2


def test_the_development_set_covers_the_runtime_set(checkout: Path) -> None:
    prepare(checkout, "dev")
    prepare(checkout, "run")
    assert installs(checkout) == 1


def test_a_failed_installation_is_tried_again(checkout: Path) -> None:
    (checkout / "fail").touch()
    assert prepare(checkout, "run") != 0
    (checkout / "fail").unlink()
    assert prepare(checkout, "run") == 0
    assert installs(checkout) == 2


def test_the_launcher_works_from_any_directory_and_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "crewlet"
    link.symlink_to(ROOT / "crewlet")
    shown = subprocess.run(
        [link, "version"], cwd="/", capture_output=True, text=True, check=True
    ).stdout
    assert shown.startswith("6.1")
