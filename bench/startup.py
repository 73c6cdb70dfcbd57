"""From `./crewlet up` on an empty home to a served page, and which step took longest.

    python -m bench.startup [--rounds 3]

The environment is there already, as after a first `make run`; each round has a home of its own. The
time runs from the call to the first answer 200 of the sign-in form. The reference is what the same
interpreter needs to load the site and answer the same form without any of the node's processes.
"""

import argparse
import http.client
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Final

from bench._report import Figure, report
from tests.support.running_node import ROOT, UP_WITHIN, RunningNode, plain_environ
from tests.support.waiting import eventually_blocking

BAR: Final = 10.0  # s
STEP: Final = re.compile(r"^  (.{10}) .* (\d+\.\d) s$", re.MULTILINE)
ALONE: Final = """
import django
django.setup()
from django.test import Client
assert Client(SERVER_NAME="localhost").get("/sign-in/").status_code == 200
"""


def is_served(node: RunningNode) -> bool:
    """Whether the sign-in form is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=5)
    try:
        connection.request("GET", "/sign-in/")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Seconds to the served page, to the last process, by step, and of the reference."""

    served: float
    whole: float
    steps: dict[str, float]
    alone: float


def start_once() -> Round:
    """One start on a home of its own, drained again."""
    node = RunningNode()
    try:
        began = time.perf_counter()
        node.launch()
        eventually_blocking(lambda: is_served(node), within=UP_WITHIN, why="the page is served")
        served = time.perf_counter() - began
        node.await_said("Up after")
        whole = time.perf_counter() - began
        steps = {name.strip(): float(seconds) for name, seconds in STEP.findall(node.said)}
        alone = load_alone(node)
        node.stop()
        return Round(served=served, whole=whole, steps=steps, alone=alone)
    finally:
        node.dispose()


def load_alone(node: RunningNode) -> float:
    """What one interpreter needs on the home that is there now."""
    environ = plain_environ() | {
        "CREWLET_HOME": str(node.home),
        "DJANGO_SETTINGS_MODULE": "crewlet_site.settings",
    }
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", ALONE], cwd=ROOT, env=environ, check=True, stderr=said
        )
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rounds = [start_once() for _ in range(args.rounds)]
    against = "one interpreter that loads the site and answers the form"
    reference = statistics.median(each.alone for each in rounds)
    figures = [
        Figure(
            what="start to served page, median",
            value=statistics.median(each.served for each in rounds),
            unit="s",
            bar=BAR,
            reference=reference,
            against=against,
        ),
        Figure(
            what="start to served page, slowest round",
            value=max(each.served for each in rounds),
            unit="s",
        ),
        Figure(
            what="start to every process ready, median",
            value=statistics.median(each.whole for each in rounds),
            unit="s",
            reference=reference,
            against=against,
        ),
    ]
    steps = {
        name: statistics.median(each.steps[name] for each in rounds) for name in rounds[0].steps
    }
    slowest = max(steps, key=lambda name: steps[name])
    for name, seconds in steps.items():
        what = f"step {name}{', the slowest' if name == slowest else ''}"
        figures.append(Figure(what=what, value=seconds, unit="s"))
    report(f"Start-up on an empty home, {args.rounds} rounds", figures)


if __name__ == "__main__":
    main()
