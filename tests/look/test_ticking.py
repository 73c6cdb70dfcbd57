"""Ages tick in the browser without the page being laid out anew for each of them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.look.conftest import Stage

TIMES = 400
ADD = """moments => {
  const list = document.createElement("ul");
  list.id = "ticking";
  for (const moment of moments) {
    const time = document.createElement("time");
    time.dateTime = moment;
    time.dataset.form = "span";
    const item = document.createElement("li");
    item.append(time);
    list.append(item);
  }
  document.querySelector("main").append(list);
}"""
SELECT = "getSelection().selectAllChildren(document.querySelector('#ticking li:nth-child(2)'))"


def add_times(stage: Stage) -> None:
    """Times whose words change at every second."""
    began = datetime.now(UTC) - timedelta(seconds=5)
    stage.page.evaluate(ADD, [began.isoformat()] * TIMES)
    expect(stage.page.locator("#ticking time").first).not_to_be_empty()


def let_tick(stage: Stage) -> None:
    """Wait until the first age has changed twice."""
    first = stage.page.locator("#ticking time").first
    for _ in range(2):
        expect(first).not_to_have_text(first.inner_text())


def count_layouts(stage: Stage) -> Callable[[], float]:
    """How often the page's style was worked out since."""
    wire = stage.page.context.new_cdp_session(stage.page)
    wire.send("Performance.enable")

    def count() -> float:
        metrics = wire.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "RecalcStyleCount"))

    before = count()
    return lambda: count() - before


@pytest.mark.parametrize("selected", ["nothing", "an age"])
def test_hundreds_of_ages_change_in_one_go(stage: Stage, selected: str) -> None:
    add_times(stage)
    if selected == "an age":
        stage.page.evaluate(SELECT)
    layouts = count_layouts(stage)
    let_tick(stage)
    assert layouts() < TIMES / 4


def test_an_age_that_is_selected_stays_as_it_was(stage: Stage) -> None:
    add_times(stage)
    stage.page.evaluate(SELECT)
    held = stage.page.locator("#ticking li:nth-child(2)").inner_text()
    let_tick(stage)
    assert stage.page.locator("#ticking li:nth-child(2)").inner_text() == held
