"""Bring every fault of the table back, one after the other, and see whether the suite notices.

    python -m tests.mutations [--only ID] [--jobs N]

The tests are first run on an unedited copy: one that is red already can catch nothing. Exits with 0
when every fault was caught and the harmless edit was not.
"""

import argparse
import queue
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.mutations.table import TABLE, Mutation
from tests.mutations.trying import Result, copy_tree, run_tests, try_row


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    asked.add_argument("--only", action="append", choices=[row.id for row in TABLE], metavar="ID")
    asked.add_argument("--jobs", type=int, default=2, help="rows tried at once (default: 2)")
    told = asked.parse_args()
    rows = [row for row in TABLE if told.only is None or row.id in told.only]
    with ExitStack() as stack:
        trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for _ in range(min(told.jobs, len(rows))):
            trees.put(
                copy_tree(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutation"))))
            )
        if not _starts_green(trees, rows):
            return 1
        return _report(rows, trees, told.jobs)


def _starts_green(trees: "queue.SimpleQueue[Path]", rows: list[Mutation]) -> bool:
    tree = trees.get()
    ran = run_tests(tree, sorted({test for row in rows for test in row.tests}))
    trees.put(tree)
    say(f"unedited: {len(ran.passed)} passed, {len(ran.failed)} failed")
    for test in sorted(ran.failed):
        say(f"  red before any edit: {test}")
    if ran.said:
        say(ran.said)
    return not ran.failed and not ran.said and bool(ran.passed)


def _report(rows: list[Mutation], trees: "queue.SimpleQueue[Path]", jobs: int) -> int:
    def one(row: Mutation) -> Result:
        tree = trees.get()
        try:
            return try_row(row, tree)
        finally:
            trees.put(tree)

    results = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for result in pool.map(one, rows):
            results.append(result)
            say(f"{result.verdict:<14} {result.mutation.id}: {result.mutation.fault}")
            if not result.is_good:
                say(f"  {result.detail}")
    counted = Counter(str(result.verdict) for result in results)
    say(", ".join(f"{count} {verdict}" for verdict, count in sorted(counted.items())))
    return 0 if all(result.is_good for result in results) else 1


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
