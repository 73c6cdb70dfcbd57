"""What a tab that nobody touches costs on the wire: bytes an hour, on a node as it comes.

    python -m bench.idle [--seconds 120]

A real `./crewlet up` with the example company and its usual heartbeat. One socket a page; frames
are counted as they arrive and taken up to an hour. The reference is the clock frames alone.
"""

import argparse
import asyncio
from datetime import timedelta
from typing import Any, Final, override

from bench._report import Figure, report
from bench._site import EXAMPLE, Site, serving
from bench._socket import Tab, open_tab
from tests.support.waiting import eventually

BAR: Final = 500.0  # kB an hour
VIEWS: Final = (("fleet", ""), ("seats", ""), ("settings", ""))
HOUR: Final = 3600


class Counting(Tab):
    """Counts text, and of it what the clock said."""

    def __init__(self, view: tuple[str, str]) -> None:
        super().__init__(view)
        self.all = 0
        self.clock = 0

    @override
    def hear(self, frame: dict[str, Any], size: int) -> None:
        self.all += size
        self.clock += size if frame["kind"] == "clock" else 0


async def listen(site: Site, seconds: float) -> list[Counting]:
    """Open one socket a page, let them settle, and count."""
    visitor = site.visitor()
    tabs = [Counting(view) for view in VIEWS]
    for tab in tabs:
        await open_tab(site, visitor, tab)
    await eventually(lambda: all(tab.clock for tab in tabs), within=30)
    for tab in tabs:
        tab.all = tab.clock = 0
    await asyncio.sleep(seconds)
    visitor.close()
    return tabs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    args = parser.parse_args()
    with serving(EXAMPLE, ttl=timedelta(seconds=45)) as site:
        tabs = asyncio.run(listen(site, args.seconds))
    scale = HOUR / args.seconds / 1000
    report(
        f"A tab at rest, counted for {args.seconds:.0f} s",
        [
            Figure(
                what=f"/{page}/ in an hour",
                value=tab.all * scale,
                unit="kB",
                bar=BAR,
                reference=tab.clock * scale,
                against="its clock frames",
            )
            for (page, _), tab in zip(VIEWS, tabs, strict=True)
        ],
    )


if __name__ == "__main__":
    main()
