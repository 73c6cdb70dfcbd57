"""The schema: what is read, and what is refused with its line and path."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from company.document import SeatKind, agent_id_of
from company.problems import PROBLEMS_LIMIT, DocumentInvalid, Problem, ProblemKind
from company.schema import parse
from company.yaml_nodes import DOCUMENT_LIMIT_BYTES

ROOT = Path(__file__).resolve().parents[2]
HEAD = "name: Harbourline\n"
SEATS = """seats:
- handle: ada-pm
  name: Ada
  role: Product manager
  kind: agent
"""


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DocumentInvalid) as caught:
        parse(text)
    assert caught.value.problems
    return caught.value.problems


def only(text: str) -> tuple[str, int, str]:
    (problem,) = problems_of(text)
    return problem.path, problem.line, problem.kind.value


def seat(extra: str, *, of: str = SEATS) -> str:
    return f"{HEAD}{of}  {extra}\n"


def test_the_example_is_a_company_of_25_agents_and_3_people() -> None:
    company = parse((ROOT / "examples/company.yaml").read_text())
    assert (company.name, company.timezone) == ("Harbourline", "Europe/Berlin")
    assert (len(company.agents), len(company.people)) == (25, 3)
    assert company.token_budget.day == 5_000_000
    unplaceable = [one.handle for one in company.agents if not one.placement.admits("node-0", {})]
    assert unplaceable == ["vera-ml"]
    assert company.people[0].kind is SeatKind.PERSON


def test_what_the_document_leaves_out_has_its_default() -> None:
    company = parse(HEAD + SEATS)
    assert (company.timezone, company.pause_require_reason) == ("UTC", True)
    ada = company.seat("ada-pm")
    assert ada is not None
    assert (ada.token_budget.day, ada.placement.words()) == (None, "")
    assert ada.placement.admits("anywhere", {"gpu": "a100"})
    assert company.seat("nobody") is None
    assert company.integrations == ()


def test_an_agent_s_id_follows_from_its_handle_for_ever() -> None:
    assert str(agent_id_of("ada-pm")) == "ff845409-a7eb-5e6d-ae56-31b7bc86638f"
    assert agent_id_of("ada-pm") != agent_id_of("ada-pn")


def test_a_placement_needs_the_node_and_every_label() -> None:
    text = seat("placement: {node: core-1, labels: {gpu: l40s, zone: north}}")
    placement = parse(text).seats[0].placement
    assert placement.words() == "node=core-1 labels=gpu=l40s,zone=north"
    labels = {"gpu": "l40s", "zone": "north", "disk": "nvme"}
    assert placement.admits("core-1", labels)
    assert not placement.admits("core-2", labels)
    assert not placement.admits("core-1", {"gpu": "l40s"})


def test_integrations_keep_their_settings() -> None:
    text = HEAD + SEATS + "integrations: {slack: {channel: '#ops', retries: 3, on: true, x: [1.5]}}"
    (slack,) = parse(text).integrations
    assert slack.surface == "slack"
    assert dict(slack.settings) == {"channel": "#ops", "retries": 3, "on": True, "x": (1.5,)}


@pytest.mark.parametrize(
    ("text", "path", "line", "kind"),
    [
        ("", "", 1, "missing"),
        ("# a remark\n\n", "", 1, "missing"),
        ("- a\n", "", 1, "shape"),
        ("just words", "", 1, "shape"),
        ("name: [Harbourline\nseats: x\n", "", 2, "invalid"),
        ("name: 'Harbourline\n", "", 2, "invalid"),
        ("\tname: x\n", "", 1, "invalid"),
        ("name: a\x00b\nseats: []\n", "", 1, "invalid"),
        ("name: x\nseats: []\n---\nname: y\n", "", 3, "invalid"),
        ("seats: []\n", "name", 1, "missing"),
        (HEAD, "seats", 1, "missing"),
        (HEAD + "seats:\n", "seats", 2, "shape"),
        (HEAD + "seats: {}\n", "seats", 2, "shape"),
        (HEAD + "seats: [7]\n", "seats[0]", 2, "shape"),
        ("name: ' '\nseats: []\n", "name", 1, "missing"),
        (f"name: {'x' * 101}\nseats: []\n", "name", 1, "out_of_range"),
        ('name: "a\\nb"\nseats: []\n', "name", 1, "invalid"),
        ("name: on\nseats: []\n", "name", 1, "shape"),
        (HEAD + "seats: []\ntimezome: UTC\n", "timezome", 3, "unknown_field"),
        (HEAD + "seats: []\ntimezone: Mars/Olympus\n", "timezone", 3, "unknown_value"),
        (HEAD + "seats: []\ntimezone: ../../etc/passwd\n", "timezone", 3, "unknown_value"),
        (HEAD + "seats: []\ntimezone: Europe\n", "timezone", 3, "unknown_value"),
        (HEAD + "seats: []\npause: {require_reason: 1}\n", "pause.require_reason", 3, "shape"),
        (HEAD + "seats: []\npause: {reason: true}\n", "pause.reason", 3, "unknown_field"),
        (HEAD + "seats: []\ntoken_budget: {day: 0}\n", "token_budget.day", 3, "out_of_range"),
        (HEAD + "seats: []\ntoken_budget: {day: -1}\n", "token_budget.day", 3, "out_of_range"),
        (HEAD + "seats: []\ntoken_budget: {day: 1.5}\n", "token_budget.day", 3, "shape"),
        (HEAD + "seats: []\ntoken_budget: {day: 0100}\n", "token_budget.day", 3, "shape"),
        (HEAD + "seats: []\ntoken_budget: {day: 1:30}\n", "token_budget.day", 3, "shape"),
        (HEAD + "seats: []\ntoken_budget: {day: '9'}\n", "token_budget.day", 3, "shape"),
        (HEAD + "seats: []\ntoken_budget: {year: 9}\n", "token_budget.year", 3, "unknown_field"),
        (
            HEAD + f"seats: []\ntoken_budget: {{day: {'9' * 5000}}}\n",
            "token_budget.day",
            3,
            "out_of_range",
        ),
        (HEAD + "seats: []\nname: Again\n", "name", 3, "conflict"),
        (HEAD + "seats: []\nintegrations: {Slack: {}}\n", "integrations.Slack", 3, "invalid"),
        (HEAD + "seats: []\nintegrations: {slack: 1}\n", "integrations.slack", 3, "shape"),
        (HEAD + "seats: []\n? [a, b]\n: c\n", "", 3, "shape"),
        (HEAD + SEATS + SEATS.replace("seats:\n", ""), "seats[1].handle", 7, "conflict"),
        (seat("knid: agent"), "seats[0].knid", 7, "unknown_field"),
        (seat("token_budget: {day: 0}"), "seats[0].token_budget.day", 7, "out_of_range"),
        (seat("placement: {node: '-x'}"), "seats[0].placement.node", 7, "invalid"),
        (seat("placement: {gpu: a100}"), "seats[0].placement.gpu", 7, "unknown_field"),
        (seat("placement: {labels: {'a b': x}}"), "seats[0].placement.labels['a b']", 7, "invalid"),
        (seat("placement: {labels: {gpu: 1}}"), "seats[0].placement.labels.gpu", 7, "shape"),
    ],
)
def test_a_fault_names_its_line_its_path_and_its_kind(
    text: str, path: str, line: int, kind: str
) -> None:
    assert only(text) == (path, line, kind)


@pytest.mark.parametrize(
    "handle", ["Ada", "a b", "-a", "a/b", "ädä", "a" * 65, "a:b", "'*'", "'>'", "' x y'", "a=b"]
)
def test_a_handle_of_another_form_is_refused(handle: str) -> None:
    path, line, kind = only(HEAD + SEATS.replace("ada-pm", handle))
    assert (path, line, kind) == ("seats[0].handle", 3, "invalid")


@pytest.mark.parametrize("field", ["handle", "name", "role", "kind"])
def test_a_seat_has_each_of_its_four_fields(field: str) -> None:
    kept = "\n".join(
        f"  {line.strip('- ')}" for line in SEATS.splitlines()[1:] if f"{field}:" not in line
    )
    assert only(f"{HEAD}seats:\n-\n{kept}\n")[::2] == (f"seats[0].{field}", "missing")


def test_a_kind_is_agent_or_person() -> None:
    assert only(HEAD + SEATS.replace("kind: agent", "kind: robot"))[2] == "unknown_value"


@pytest.mark.parametrize("extra", ["token_budget: {day: 1}", "placement: {node: core-1}"])
def test_a_person_s_seat_has_neither_budget_nor_placement(extra: str) -> None:
    text = seat(extra, of=SEATS.replace("kind: agent", "kind: person"))
    assert only(text)[2] == "conflict"


def test_one_reading_names_every_fault_in_the_order_of_the_text() -> None:
    text = f"nme: x\ntimezone: Nowhere\nseats:\n- {{handle: A}}\n{SEATS[7:]}"
    found = problems_of(text)
    assert [problem.line for problem in found] == sorted(problem.line for problem in found)
    assert {problem.path for problem in found} >= {"nme", "name", "timezone", "seats[0].handle"}


def test_a_thousand_faults_are_told_as_the_first_hundred_and_a_number() -> None:
    with pytest.raises(DocumentInvalid, match="and 901 more") as caught:
        parse(HEAD + "seats:\n" + "- 7\n" * 1_000 + "x: 1\n")
    assert len(caught.value.problems) == PROBLEMS_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "name: &x Harbourline\nseats: []\n",
        "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
        "name: *missing\nseats: []\n",
        "name: !!python/object/apply:os.system ['true']\nseats: []\n",
        "name: !secret x\nseats: []\n",
        "[" * 100_000,
        "{a: " * 50_000,
        "- " * 30_000,
    ],
    ids=["anchor", "bomb", "alias", "python", "tag", "lists", "maps", "dashes"],
)
def test_what_only_an_attacker_writes_is_refused_at_once(text: str) -> None:
    assert problems_of(text)[0].kind in {ProblemKind.SHAPE, ProblemKind.INVALID}


def test_a_document_over_the_limit_is_refused_with_both_sizes() -> None:
    (problem,) = problems_of("# " + "x" * DOCUMENT_LIMIT_BYTES)
    assert problem.kind is ProblemKind.OUT_OF_RANGE
    assert "8,388,610" in problem.message
    assert "8,388,608" in problem.message


def test_a_mark_of_byte_order_is_no_fault() -> None:
    assert parse("\ufeff" + HEAD + SEATS).name == "Harbourline"


def verdict_on(text: str) -> str:
    try:
        parse(text)
    except DocumentInvalid as fault:
        return str(fault) and "refused"
    return "read"


@given(st.text(max_size=200))
def test_no_text_whatever_ends_in_another_error(text: str) -> None:
    assert verdict_on(HEAD + SEATS + text) in {"read", "refused"}


@given(st.text(alphabet="-:{}[]&*!#'\"|>%@` \n\tabc01", max_size=60))
def test_no_yaml_punctuation_ends_in_another_error(text: str) -> None:
    assert verdict_on(text) == "refused"
