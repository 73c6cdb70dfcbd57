"""The table itself: a row that does not apply, or names a test that is gone, proves nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.table import TABLE, Edit, Mutation
from tests.mutations.trying import ROOT, Ran, Verdict, apply, judge

ROW = Mutation(
    id="row", fault="", edits=(Edit(file="a.py", old="yes", new="no"),), tests=("t.py::test_a",)
)
CONTROL = Mutation(id="row", fault="", edits=ROW.edits, tests=ROW.tests, harmless=True)


def ran(*, passed: tuple[str, ...] = (), failed: tuple[str, ...] = (), said: str = "") -> Ran:
    return Ran(passed=frozenset(passed), failed=frozenset(failed), said=said)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_every_edit_applies_exactly_once_and_leaves_a_program(
    row: Mutation, tmp_path: Path
) -> None:
    for edit in row.edits:
        copy = tmp_path / edit.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((ROOT / edit.file).read_text())
    before = apply(row, tmp_path)
    for path, text in before.items():
        assert path.read_text() != text
        compile(path.read_text(), str(path), "exec")


def test_every_test_a_row_names_exists() -> None:
    assert all(row.tests for row in TABLE)
    named = sorted({test for row in TABLE for test in row.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *named], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_row_has_a_name_of_its_own_and_one_edit_is_harmless() -> None:
    assert len({row.id for row in TABLE}) == len(TABLE)
    assert [row.id for row in TABLE if row.harmless] == ["harmless"]
    assert len(TABLE) > 15


def test_an_old_text_that_stands_twice_or_never_is_not_applied(tmp_path: Path) -> None:
    for text in ("yes yes", "maybe"):
        (tmp_path / "a.py").write_text(text)
        with pytest.raises(LookupError):
            apply(ROW, tmp_path)
        assert (tmp_path / "a.py").read_text() == text


def test_a_row_is_caught_only_when_every_test_it_names_fails() -> None:
    assert judge(ROW, ran(failed=("t.py::test_a[memory]",))).verdict is Verdict.CAUGHT
    assert judge(ROW, ran(passed=("t.py::test_a",))).verdict is Verdict.MISSED
    assert judge(ROW, ran(failed=("t.py::test_ab",))).verdict is Verdict.MISSED
    assert judge(ROW, ran(said="no such module")).verdict is Verdict.BROKE
    assert judge(ROW, ran()).verdict is Verdict.BROKE


def test_a_harmless_edit_is_clean_and_a_red_test_under_it_a_false_alarm() -> None:
    assert judge(CONTROL, ran(passed=("t.py::test_a",))).verdict is Verdict.CLEAN
    assert judge(CONTROL, ran(failed=("t.py::test_a",))).verdict is Verdict.FALSE_ALARM
