"""`./crewlet` as a shell meets it: its name, and an output that nobody takes."""

import subprocess
from pathlib import Path

import pytest

from tests.support.running_node import plain_environ

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(tmp_path: Path) -> str:
    """`./crewlet`, through a symbolic link to a symbolic link."""
    (tmp_path / "one").symlink_to(ROOT / "crewlet")
    (tmp_path / "two").symlink_to("one")
    return str(tmp_path / "two")


def shell(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd="/",
        env=plain_environ(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_usage_calls_it_by_the_name_people_type(command: str) -> None:
    said = shell(f"{command} seats pause")
    assert said.returncode == 2
    assert "usage: crewlet seats pause" in said.stderr
    assert "manage.py" not in said.stderr


def test_a_reader_that_has_seen_enough_hears_no_complaint(command: str) -> None:
    said = shell(f"{{ sleep 0.2; {command} diffsettings; echo code $? >&2; }} | true")
    assert said.stderr == "code 1\n"


def test_an_output_that_cannot_be_written_is_one_sentence(command: str) -> None:
    said = shell(f"{command} diffsettings > /dev/full")
    assert said.returncode == 1
    assert said.stderr == "Nothing more can be written: No space left on device.\n"
