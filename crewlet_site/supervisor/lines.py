"""What `up` says on the terminal."""

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self


def say(text: str) -> None:
    """One line, at once: whoever reads a pipe sees it when it happens.

    A terminal that went away is no reason to fail: the signal that tells so drains in order.
    """
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good


class Step:
    """One step of a start: says what it did and how long it took, and remembers the slowest."""

    slowest: tuple[float, str] = (0.0, "")

    def __init__(self, name: str) -> None:
        self.name = name
        self.detail = ""
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say it, unless it failed: then the refusal is the line."""
        took = time.monotonic() - self._began
        Step.slowest = max(Step.slowest, (took, self.name))
        if kind is None:
            say(f"  {self.name:<10} {self.detail:<64} {took:5.1f} s")
