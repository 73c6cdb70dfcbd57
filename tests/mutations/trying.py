"""Trying one row: edit a copy of the tree, run the row's tests there, put the copy back."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.mutations.table import Mutation

ROOT: Final = Path(__file__).resolve().parents[2]
_WITHIN: Final = 300  # seconds a row's tests may take
_EACH: Final = 60  # seconds a test may take
_LEFT_BEHIND: Final = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "node_modules", "var"
)


class Verdict(StrEnum):
    """What came of a row."""

    CAUGHT = "caught"
    CLEAN = "clean"  # every test passed, as for a harmless edit they should
    MISSED = "MISSED"
    NOT_APPLIED = "DID NOT APPLY"
    BROKE = "BROKE"  # the tests could not even be run
    FALSE_ALARM = "FALSE ALARM"  # a harmless edit was caught


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A row's verdict, and what to look at when it is no good one."""

    mutation: Mutation
    verdict: Verdict
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Whether the suite does what the row asks of it."""
        return self.verdict in (Verdict.CAUGHT, Verdict.CLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run of pytest said: node ids without module path oddities, by outcome."""

    passed: frozenset[str]
    failed: frozenset[str]
    said: str  # its last lines; empty where it ran to its end

    def named(self, test: str, among: frozenset[str]) -> bool:
        """Whether a test, or one of its parameters, is among these."""
        return any(one == test or one.startswith((f"{test}[", f"{test}::")) for one in among)


def copy_tree(into: Path) -> Path:
    """A copy of the tree to edit."""
    copy = into / "tree"
    shutil.copytree(ROOT, copy, ignore=_LEFT_BEHIND, symlinks=True)
    return copy


def run_tests(tree: Path, tests: Sequence[str]) -> Ran:
    """Run these tests in a tree, all of them whatever fails."""
    report = tree.parent / "report.xml"
    report.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0"),
        *("--durations-min=1000", f"--timeout={_EACH}", f"--junitxml={report}"),
        *("-o", "junit_family=xunit1", *tests),
    ]
    # Two edits within one second may leave files of one size, which stale bytecode would hide.
    fresh = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=tree, env=fresh, capture_output=True, text=True, check=False, timeout=_WITHIN
    )
    ends = "" if done.returncode in (0, 1) else (done.stdout + done.stderr)[-1500:]
    passed, failed = set(), set()
    for case in ET.parse(report).iter("testcase") if report.exists() else ():
        name = f"{case.get('file')}::{case.get('name')}"
        if case.find("failure") is not None:
            failed.add(name)
        elif case.find("error") is None and case.find("skipped") is None:
            passed.add(name)
    return Ran(passed=frozenset(passed), failed=frozenset(failed), said=ends)


def apply(mutation: Mutation, tree: Path) -> dict[Path, str]:
    """Make a row's edits; the texts they replaced.

    Raises:
        LookupError: an old text does not stand exactly once; nothing was edited.
    """
    before: dict[Path, str] = {}
    after: dict[Path, str] = {}
    for edit in mutation.edits:
        path = tree / edit.file
        before.setdefault(path, path.read_text())
        text = after.get(path, before[path])
        if text.count(edit.old) != 1:
            msg = f"{edit.file}: stands {text.count(edit.old)} times: {edit.old!r}"
            raise LookupError(msg)
        after[path] = text.replace(edit.old, edit.new)
    for path, text in after.items():
        path.write_text(text)
    return before


def try_row(mutation: Mutation, tree: Path) -> Result:
    """Apply a row, run its tests, take it back."""
    try:
        before = apply(mutation, tree)
    except LookupError as fault:
        return Result(mutation=mutation, verdict=Verdict.NOT_APPLIED, detail=str(fault))
    try:
        ran = run_tests(tree, mutation.tests)
    except subprocess.TimeoutExpired:
        detail = f"its tests did not end within {_WITHIN} s"
        return Result(mutation=mutation, verdict=Verdict.BROKE, detail=detail)
    finally:
        for path, text in before.items():
            path.write_text(text)
    return judge(mutation, ran)


def judge(mutation: Mutation, ran: Ran) -> Result:
    """What a run under a row's edit means."""
    if ran.said or not (ran.passed or ran.failed):
        detail = ran.said or "no test ran to a verdict"
        return Result(mutation=mutation, verdict=Verdict.BROKE, detail=detail)
    if mutation.harmless:
        verdict = Verdict.FALSE_ALARM if ran.failed else Verdict.CLEAN
        return Result(mutation=mutation, verdict=verdict, detail=", ".join(sorted(ran.failed)))
    green = [test for test in mutation.tests if not _is_red(ran, test)]
    verdict = Verdict.MISSED if green else Verdict.CAUGHT
    return Result(mutation=mutation, verdict=verdict, detail=", ".join(green))


def _is_red(ran: Ran, test: str) -> bool:
    return ran.named(test, ran.failed)
