"""The gallery in a real browser: no accessibility violation, nothing wider than the window."""

from pathlib import Path

import axe_core_python
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser

from runtime.gallery import gallery_context

pytestmark = pytest.mark.browser

AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
CSS = Path(__file__).resolve().parents[2] / "static" / "css" / "app.css"
WIDTHS = (320, 390, 768, 1024, 1440)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_component_is_wider_than_the_window(chromium: Browser, width: int) -> None:
    with chromium.new_page(viewport={"width": width, "height": 900}) as page:
        page.set_content(render_to_string("gallery.html", gallery_context()))
        page.add_style_tag(path=CSS)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [320, 1440])
def test_the_gallery_has_no_accessibility_violation_in_either_theme(
    chromium: Browser, width: int
) -> None:
    with chromium.new_page(viewport={"width": width, "height": 900}) as page:
        page.set_content(render_to_string("gallery.html", gallery_context()))
        page.add_style_tag(path=CSS)
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run().then(result => result.violations)")
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_every_state_stands_in_the_gallery_in_both_themes() -> None:
    html = render_to_string("gallery.html", gallery_context())
    for state in ("value", "none", "unsaid", "unknown", "stale", "floor", "denied", "loading"):
        assert html.count(f'data-fact="{state}"') >= 6
    assert "theme-light" in html
    assert "theme-dark" in html
