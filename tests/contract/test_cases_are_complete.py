"""The cases that are due: a case without a test, or a test without a case, fails here."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent

# One row a family: each id, and where it is due. `both`: the twin and a broker; `kv`: a broker;
# `cluster`: several members; `leaf`: a leaf link.
DUE: Final[dict[str, str]] = {
    # Three answers: a yes, a no and an unknown are never taken for one another.
    **{f"TRI-{number:02}": "both" for number in range(1, 8)},
    # Leases: tenures, fencing epochs, races and what ends them.
    **{f"LSE-{number:02}": "both" for number in range(1, 33)},
    "LSE-24": "kv",
    "LSE-31": "kv",
    "LSE-32": "kv",
    # Reads of leases, placement hints, and what a holder publishes about itself.
    **{f"RDM-{number:02}": "both" for number in range(1, 23)},
    # The mixed-version gate.
    **{f"GAT-{number:02}": "both" for number in range(1, 14)},
    "GAT-14": "kv",
    # Duties, and what they are claimed under.
    **{f"DUT-{number:02}": "both" for number in range(1, 6)},
    **{f"DUT-{number:02}": "kv" for number in range(6, 9)},
    # The counters tokens are minted from.
    **{f"EPO-{number:02}": "kv" for number in range(1, 4)},
    # Several handles on one store, and handles that come and go.
    "CLU-01": "both",
    "CLU-02": "leaf",
    "CLU-03": "cluster",
    "CLU-04": "both",
    "CLU-05": "cluster",
    # The configuration pointer and its payload.
    **{f"CFG-{number:02}": "both" for number in range(1, 17)},
    # What each node applied.
    **{f"STA-{number:02}": "both" for number in range(1, 5)},
    # Seat pauses.
    **{f"PAU-{number:02}": "both" for number in range(1, 8)},
    "PAU-08": "kv",
    "PAU-09": "cluster",
    # Listings: whole or unavailable, and what that costs.
    "LST-01": "both",
    "LST-02": "both",
    **{f"LST-{number:02}": "kv" for number in range(3, 13)},
    "LST-13": "cluster",
    "LST-14": "kv",
    # Removal markers, and sweeping them.
    "MRK-01": "both",
    "MRK-02": "kv",
    "MRK-03": "kv",
    "MRK-04": "kv",
    "MRK-05": "both",
    # Buckets: opening them, their keys, and what the broker does with both.
    **{f"BKT-{number:02}": "kv" for number in range(1, 16)},
    "BKT-13": "both",
}


def filed() -> Iterator[tuple[str, str, str]]:
    """Every case a test of this folder is filed under: id, scope, and the test's name."""
    for path in sorted(HERE.glob("test_*.py")):
        for test in ast.parse(path.read_text()).body:
            if not isinstance(test, ast.AsyncFunctionDef | ast.FunctionDef):
                continue
            for mark in test.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "case":
                    scopes = [word.value for word in mark.keywords if word.arg == "scope"]
                    yield (
                        _text(mark.args[0]),
                        _text(scopes[0]) if scopes else "both",
                        test.name,
                    )


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, str)
    return node.value


def test_every_case_that_is_due_has_a_test() -> None:
    assert sorted(DUE.keys() - {name for name, _, _ in filed()}) == []


def test_no_test_is_filed_under_a_case_nobody_knows() -> None:
    assert sorted({name for name, _, _ in filed()} - DUE.keys()) == []


def test_every_case_runs_where_it_is_due() -> None:
    assert {name: scope for name, scope, _ in filed()} == DUE


def test_every_case_is_a_sentence_that_pytest_collects() -> None:
    names = [test for _, _, test in filed()]
    assert [name for name in names if not name.startswith("test_") or name.count("_") < 4] == []
    assert len(set(names)) == len(names)
