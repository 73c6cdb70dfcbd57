"""Where *could not ask* may be caught: the three kinds of place, and nowhere else.

An `except` on the third answer anywhere else is how unknown becomes no.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("coordination", "runtime", "company", "accounts", "fleet", "crewlet_site")
UNKNOWN: Final = frozenset({"Unavailable", "OutcomeUnknown", "CoordinationError"})
BLIND: Final = frozenset({"Exception", "BaseException"})

# Whole files whose purpose it is.
PLACES: Final = {
    "coordination/policies.py": "turns it into the contract's safe direction",
    "runtime/reading.py": "turns it into Unknown for display",
}
# The outermost line of a periodic loop: said in a log, and asked again.
LOOPS: Final = {
    ("runtime/hub/following.py", "_follow"),
    ("runtime/hub/following.py", "_confirm"),
    ("runtime/hub/following.py", "_relist"),
    ("runtime/probe.py", "run"),
    ("runtime/duties.py", "run"),
    ("fleet/node/sweeper.py", "run"),
    ("fleet/node/revision.py", "run"),
    ("fleet/node/node.py", "_prepare"),
    ("fleet/node/process.py", "_open_store"),
    # Tries again within its bound and then raises what it caught.
    ("coordination/slots/cleanup.py", "_bounded"),
    # Goes on with the next bucket and hands what it caught on in its answer.
    ("coordination/slots/markers.py", "sweep"),
}


def product_files() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts and path.parts[-2] != "testing":
                yield path


def caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {name.attr if isinstance(name, ast.Attribute) else ast.unparse(name) for name in names}


def handlers(path: Path) -> Iterator[tuple[str, ast.ExceptHandler]]:
    """Each handler with the function it stands in."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler):
                yield function, child
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(child, child.name)
            else:
                yield from walk(child, function)

    return walk(ast.parse(path.read_text()), "")


def places(names: frozenset[str]) -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(ROOT)), function)
        for path in product_files()
        for function, handler in handlers(path)
        if caught(handler) & names
    }


def test_could_not_ask_is_caught_only_where_it_may_become_a_decision_or_a_display() -> None:
    found = {place for place in places(UNKNOWN) if place[0] not in PLACES}
    assert found == LOOPS


def test_the_two_places_that_turn_it_into_something_do_so() -> None:
    assert {path for path, _ in places(UNKNOWN)} >= set(PLACES)


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in product_files()])
def test_no_module_swallows_everything(path: str) -> None:
    for function, handler in handlers(ROOT / path):
        if caught(handler) & BLIND:
            raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
            assert raises, f"{path}: {function} catches everything and raises nothing"
