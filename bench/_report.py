"""What every program here prints: the figure, its reference from the same run, and the ratio."""

import math
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number.

    Attributes:
        what: in words.
        value: in `unit`.
        unit: of the value, the reference and the bar.
        bar: the most it may be; None where it is only told.
        reference: the same thing done without the project, in the same run; None where there is
            none.
        against: what the reference is, in words.
    """

    what: str
    value: float
    unit: str
    bar: float | None = None
    reference: float | None = None
    against: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it keeps to its bar."""
        return self.bar is None or self.value <= self.bar


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; `share` between 0 and 1."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


def report(title: str, figures: Sequence[Figure]) -> None:
    """Print them; ends the program with 1 when a bar is missed."""
    print(f"\n{title}")
    for figure in figures:
        bar = "" if figure.bar is None else f"  (bar: {_show(figure.bar)})"
        missed = "" if figure.is_met else "  MISSED"
        print(f"  {figure.what}: {_show(figure.value)} {figure.unit}{bar}{missed}")
        if figure.reference is not None:
            ratio = figure.value / figure.reference if figure.reference else float("inf")
            shown = f"{_show(figure.reference)} {figure.unit}"
            print(f"    reference, {figure.against}: {shown}; ratio {ratio:.2f}")
    print(f"  command: {command()}")
    print(f"  machine: {machine()}")
    if not all(figure.is_met for figure in figures):
        sys.exit(1)


def command() -> str:
    """How this program was called, from the project's directory."""
    module = f"bench.{Path(sys.argv[0]).stem}"
    return shlex.join([".venv/bin/python", "-m", module, *sys.argv[1:]])


def machine() -> str:
    """Cores, load when asked, Python."""
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}"


def _show(value: float) -> str:
    if value >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
