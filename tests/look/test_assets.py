"""What the browser is given: within its budget, without inline code, all its parts there."""

import gzip
import re
from pathlib import Path

import pytest

from runtime.gallery import CHIPS, STATUSES
from runtime.wording import SAFE_DIRECTIONS

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
KIB = 1024


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9))


def test_the_styles_stay_within_twenty_kilobytes_compressed() -> None:
    assert sum(packed(path) for path in (ROOT / "static" / "css").glob("*.css")) <= 20 * KIB


@pytest.mark.parametrize("page", ["base.html", "bare.html"])
def test_our_scripts_on_a_page_stay_within_ten_kilobytes_compressed(page: str) -> None:
    text = (ROOT / "templates" / page).read_text()
    loaded = re.findall(r"{% static 'js/(\w+\.js)' %}", text)
    assert loaded
    assert sum(packed(ROOT / "static" / "js" / name) for name in loaded) <= 10 * KIB


def test_every_script_of_ours_is_loaded_by_a_page() -> None:
    pages = "".join(path.read_text() for path in TEMPLATES)
    assert all(f"js/{path.name}" in pages for path in SCRIPTS)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_carries_inline_code_or_style(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle\s*=", text), "a style attribute"
    assert "<style" not in text
    assert not re.search(r"<script(?![^>]*\ssrc=)", text), "a script without src"
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']", text), "an event attribute"
    assert "javascript:" not in text


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_reaches_another_origin(path: Path) -> None:
    assert not re.search(r"(src|href)=[\"']\s*(https?:)?//", path.read_text())


def test_every_symbol_that_is_used_exists() -> None:
    drawn = set(re.findall(r'id="s-([a-z]+)"', (ROOT / "templates/_symbols.html").read_text()))
    used = {mark for mark, _ in STATUSES if mark != "unknown"} | {shape for _, shape, _, _ in CHIPS}
    for path in TEMPLATES:
        text = path.read_text()
        used |= set(re.findall(r"{% symbol \"([a-z]+)\"", text))
        used |= set(re.findall(r"{% status \"([a-z]+)\"", text)) - {"unknown"}
    for path in ROOT.glob("*/pages/*.py"):
        used |= set(re.findall(r"mark=\"([a-z]+)\"", path.read_text()))
    used |= set(re.findall(r"\[\"([a-z]+)\", \"[A-Z]", (ROOT / "static/js/live.js").read_text()))
    assert used <= drawn, used - drawn


def test_the_stylesheet_loads_nothing_and_animates_only_a_changed_cell() -> None:
    css = (ROOT / "static/css/app.css").read_text()
    assert "url(" not in css
    assert "@import" not in css
    assert re.findall(r"@keyframes (\w+)", css) == ["changed"]
    for feature in ("reduced-motion", "prefers-contrast", "forced-colors", "@media print"):
        assert feature in css


def test_no_script_evaluates_text() -> None:
    for path in SCRIPTS:
        text = path.read_text()
        assert not re.search(r"\beval\(|new Function|document\.write|setAttribute\(\"style", text)


def test_each_safe_direction_is_a_sentence_of_its_own() -> None:
    sentences = [row.sentence for row in SAFE_DIRECTIONS.values()]
    assert len(set(sentences)) == len(sentences)
    assert all(row.brief and row.label for row in SAFE_DIRECTIONS.values())
