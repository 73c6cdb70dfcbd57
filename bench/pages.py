"""Pages of a fleet of 1,000 nodes and 10,000 seats: server time, bytes on the wire, first load.

    python -m bench.pages [--nodes 1000] [--seats 10000] [--requests 60] [--rate 670]

A real `./crewlet up`; the fleet is written to its broker as records under a lease TTL of an hour,
so that nothing renews and the page is measured and not the disk; then two pages once more while
seats renew. The reference is the sign-in form on the same server, asked in turn with the page.
"""

import argparse
from datetime import timedelta
from typing import Final

from bench._fleet import Renewing
from bench._report import Figure, percentile, report
from bench._site import Site, serving

TTL: Final = timedelta(hours=1)
PAGES: Final = ("/fleet/", "/seats/", "/seats/?q=eng&page=3", "/settings/nodes/")
TIME_BAR: Final = 300.0  # ms
REPEAT_BYTES_BAR: Final = 60.0  # kB
LOADS: Final = (("first", 150.0, 8), ("repeat", REPEAT_BYTES_BAR, 2))  # kB and requests


def server_time(site: Site, path: str, requests: int, meanwhile: str = "") -> list[Figure]:
    """Percentiles of one page, and what a response of it weighs; `meanwhile` says what goes on."""
    visitor, stranger = site.visitor(), site.stranger()
    times, references, sizes = [], [], []
    for _ in range(requests):
        references.append(stranger.get("/sign-in/").seconds * 1000)
        answer = visitor.get(path)
        assert answer.status == 200, (path, answer.status)
        times.append(answer.seconds * 1000)
        sizes.append(answer.wire_bytes / 1000)
    visitor.close()
    stranger.close()
    form = "the sign-in form"
    return [
        Figure(
            what=f"{path} server time{meanwhile}, p50",
            value=percentile(times, 0.5),
            unit="ms",
            reference=percentile(references, 0.5),
            against=form,
        ),
        Figure(
            what=f"{path} server time{meanwhile}, p95",
            value=percentile(times, 0.95),
            unit="ms",
            bar=TIME_BAR,
            reference=percentile(references, 0.95),
            against=form,
        ),
        Figure(
            what=f"{path} document on the wire{meanwhile}",
            value=max(sizes),
            unit="kB",
            bar=REPEAT_BYTES_BAR,
        ),
    ]


def first_load(site: Site) -> list[Figure]:
    """A cold browser opens the fleet page, and then once more."""
    visitor = site.visitor()
    figures = []
    with site.page(visitor) as page:
        wire = page.context.new_cdp_session(page)
        wire.send("Network.enable")
        sizes: list[float] = []
        wire.on("Network.loadingFinished", lambda end: sizes.append(end["encodedDataLength"]))
        for what, bytes_bar, requests_bar in LOADS:
            sizes.clear()
            page.goto(f"{site.node.url}/fleet/", wait_until="networkidle")
            fetched = [size for size in sizes if size]
            figures += [
                Figure(
                    what=f"/fleet/ {what} load on the wire",
                    value=sum(fetched) / 1000,
                    unit="kB",
                    bar=bytes_bar,
                ),
                Figure(
                    what=f"/fleet/ {what} load",
                    value=len(fetched),
                    unit="requests",
                    bar=requests_bar,
                ),
            ]
    visitor.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--seats", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--rate", type=float, default=670)
    args = parser.parse_args()
    with serving(args.seats, ttl=TTL) as site:
        site.populate(nodes=args.nodes, seats=args.seats, pauses=40, ttl=TTL)
        figures = [each for path in PAGES for each in server_time(site, path, args.requests)]
        figures += first_load(site)
        with Renewing(site.address, seats=args.seats, nodes=args.nodes, ttl=TTL, rate=args.rate):
            meanwhile = f" while {args.rate:,.0f} seats a second renew"
            for path in PAGES[:2] if args.rate else ():
                figures += server_time(site, path, args.requests, meanwhile)
    report(f"Pages, {args.nodes:,} nodes and {args.seats:,} seats", figures)


if __name__ == "__main__":
    main()
