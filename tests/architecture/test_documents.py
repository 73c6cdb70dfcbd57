"""What the pages promise is there."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_decisions_are_numbered_without_gaps_or_doubles() -> None:
    numbers = [int(page.name[:4]) for page in sorted((ROOT / "docs/decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_set_up_takes_the_two_commands_and_no_other() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert [line.split("#")[0].strip() for line in blocks[0].splitlines()] == [
        "make run",
        "make test",
    ]


def test_every_environment_variable_that_is_read_is_documented() -> None:
    read = set(re.findall(r'"(CREWLET_[A-Z_]+)"', (ROOT / "crewlet_site/env.py").read_text()))
    told = (ROOT / "docs/operating.md").read_text()
    assert {name for name in read if name not in told} == {"CREWLET_PROCESS"}
