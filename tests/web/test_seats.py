"""The seats page's facts: no word that the records do not prove."""

import dataclasses
from datetime import timedelta

import pytest

from coordination.rules.instants import Instant
from fleet.pages.node import NodePage, NodeUnknown, NoSuchNode, draw_node
from fleet.pages.query import read_node_query, read_seat_query, read_settings_query
from fleet.pages.seat import draw_seat
from fleet.pages.seats import SeatsPage, draw_seats
from fleet.pages.settings import draw_settings
from fleet.services.picture import Picture
from runtime.facts import Fact, FactState
from tests.support import pictures as p


def page_of(picture: Picture, *, may_pause: bool = True, **params: str) -> SeatsPage:
    return draw_seats(picture, read_seat_query(params), may_pause=may_pause)


def cells(page: SeatsPage, handle: str) -> dict[str, Fact]:
    row = next(row for row in page.window.rows if row.handle == handle)
    return {cell.id.removeprefix(f"{row.id}-"): cell.fact for cell in row.cells}


def one_seat(*, in_flight: int | None = 0, paused_ago: float | None = None) -> Picture:
    meta = p.said() if in_flight is None else p.said(in_flight=in_flight)
    if in_flight is None:
        meta.pop("status")
    pauses = () if paused_ago is None else (p.pause("ada", minutes=paused_ago / 60),)
    return p.picture(
        presences=(p.presence("core-1", meta, age=6),),
        seats=(p.held("ada", "core-1"),),
        pauses=pauses,
        company=p.firm(p.seat("ada")),
    )


def test_a_seat_whose_node_runs_no_turn_is_idle() -> None:
    shown = cells(page_of(one_seat()), "ada")
    assert (shown["state"].text, shown["turn"].text) == ("idle", "none")


def test_a_seat_whose_node_did_not_say_is_unsaid_and_not_idle() -> None:
    shown = cells(page_of(one_seat(in_flight=None)), "ada")
    assert shown["state"].state is FactState.UNSAID
    assert shown["turn"].state is FactState.UNSAID


def test_which_seat_runs_the_nodes_turn_was_not_said() -> None:
    assert cells(page_of(one_seat(in_flight=2)), "ada")["state"].state is FactState.UNSAID


@pytest.mark.parametrize(
    ("in_flight", "paused_ago", "words"),
    [
        (0, 60.0, "in effect"),
        (0, 3.0, "recorded, report awaited"),
        (2, 60.0, "recorded, node runs turns"),
        (None, 60.0, "turn not said"),
    ],
)
def test_a_pause_is_in_effect_only_when_a_later_report_names_no_turn(
    in_flight: int | None, paused_ago: float, words: str
) -> None:
    state = cells(page_of(one_seat(in_flight=in_flight, paused_ago=paused_ago)), "ada")["state"]
    assert (state.text, state.note) == ("stopped, paused", words)


def test_a_paused_seat_that_nobody_holds_is_in_effect() -> None:
    picture = p.picture(pauses=(p.pause("ada"),), company=p.firm(p.seat("ada")))
    assert cells(page_of(picture), "ada")["state"].note == "in effect"


def test_unreadable_pauses_make_every_agents_state_unknown_with_the_last_one() -> None:
    picture = one_seat(paused_ago=60)
    page = page_of(dataclasses.replace(picture, pauses=p.silent(picture.pauses)))
    state = cells(page, "ada")["state"]
    assert (state.state, state.last) == (FactState.UNKNOWN, "stopped, paused")
    assert page.banner.title == "Pauses could not be read"
    assert "nodes keep the pauses they last read" in page.banner.text
    assert page.window.rows[0].action.kind == "resume"


def test_an_older_builds_lease_did_not_say_since_when_it_is_held() -> None:
    old = dataclasses.replace(p.held("ada", "core-1"), acquired_at=None)
    picture = p.picture(seats=(old,), company=p.firm(p.seat("ada")))
    assert cells(page_of(picture), "ada")["since"].state is FactState.UNSAID


def test_trouble_stands_first_and_people_last() -> None:
    rows = [row.handle for row in page_of(p.example()).window.rows]
    assert rows[:3] == ["s-0", "vera-ml", "tess-res"]
    assert rows[-1] == "mira"


def test_filters_narrow_by_kind_state_node_and_text() -> None:
    def found(**params: str) -> set[str]:
        page = draw_seats(p.example(), read_seat_query(params), may_pause=True)
        return {row.handle for row in page.window.rows}

    assert found(kind="people") == {"mira"}
    assert "mira" not in found(kind="agents")
    assert found(state="paused") == {"s-0"}
    assert found(state="unheld") == {"vera-ml", "tess-res"}
    assert found(state="unplaced") == {"vera-ml"}
    assert found(node="core-1") == {"s-0", "s-1"}
    assert found(q="vendor") == {"s-0"}
    assert found(q="nothing at all") == set()


def test_a_seat_that_only_records_name_is_listed_and_said_to_be_strange() -> None:
    picture = p.picture(seats=(p.held("ghost", "core-1"),), company=p.firm(p.seat("ada")))
    row = next(row for row in page_of(picture).window.rows if row.handle == "ghost")
    assert row.title == "not in the company document"
    assert row.action.refusal == "not in the company document"


def test_nothing_ever_known_is_one_panel() -> None:
    page = page_of(p.knows_nothing(p.firm(p.seat("ada"))))
    assert page.blank is not None


def test_ten_thousand_seats_are_drawn_200_at_a_time() -> None:
    company = p.firm(*(p.seat(f"s-{number:05}") for number in range(10_000)))
    page = page_of(p.picture(company=company), page="50", sort="handle")
    assert len(page.window.rows) == 200
    assert page.window.rows[-1].handle == "s-09999"
    assert page.count == "10,000 agent seats, 0 people, 200 shown"


def test_no_handle_can_make_the_id_of_another_seats_cell() -> None:
    picture = p.picture(company=p.firm(p.seat("us"), p.seat("us-state"), p.seat("a b.c")))
    rows = page_of(picture).window.rows
    ids = [row.id for row in rows]
    ids += [cell.id for row in rows for cell in row.cells]
    assert len(ids) == len(set(ids))


def test_a_seats_page_names_what_the_pause_asked_of_a_turn() -> None:
    stopped = one_seat(paused_ago=60)
    record = dataclasses.replace(p.pause("ada"), stop_running=True)
    page = draw_seat(dataclasses.replace(stopped, pauses=p.known((record,))), "ada", may_pause=True)
    assert page is not None
    said = {line.key: line.fact.text for line in page.pause}
    assert said["Running turn"] == "asked to stop at its next round"
    assert said["Record revision"] == "20418"
    assert page.can_stop is False


def test_a_review_date_is_shown_and_nothing_else_happens() -> None:
    day = Instant.of(p.NOW + timedelta(days=7))
    picture = dataclasses.replace(
        one_seat(), pauses=p.known((dataclasses.replace(p.pause("ada"), review_by=day),))
    )
    page = draw_seat(picture, "ada", may_pause=True)
    assert page is not None
    review = next(line.fact for line in page.pause if line.key == "Review by")
    assert review.moment == day.as_datetime()


def test_a_seat_nobody_names_has_no_page() -> None:
    assert draw_seat(one_seat(), "ghost", may_pause=True) is None


def test_a_nodes_page_keeps_its_facts_apart_when_the_store_is_silent() -> None:
    duties = p.known((p.lease("worker:maintenance", "core-1:worker-1"),))
    page = draw_node(p.fell_silent(p.example()), "core-1", duties=p.silent(duties))
    assert isinstance(page, NodePage)
    running = {line.key: line.fact for line in page.running}
    assert running["Turns in flight"].state is FactState.UNKNOWN
    assert running["Posture"].state is FactState.STALE
    assert page.duties_count.state is FactState.UNKNOWN
    assert [line.key for line in page.duties] == ["maintenance"]


def test_a_node_nobody_names_is_missing_or_unknown_but_never_both() -> None:
    missing = draw_node(p.example(), "core-9", duties=p.known(()))
    assert isinstance(missing, NoSuchNode)
    unknown = draw_node(p.fell_silent(p.example()), "core-9", duties=p.never())
    assert isinstance(unknown, NodeUnknown)


def test_settings_name_the_node_that_differs() -> None:
    def declares(build: str, ttl: float) -> dict[str, object]:
        settings = {"build": build, "lease_ttl_seconds": ttl, "replicas": 3, "coordination": "x"}
        return p.said() | {"settings": settings}

    picture = p.picture(
        presences=(
            p.presence("core-1", declares("0.4.1", 45)),
            p.presence("core-2", declares("0.4.1", 45)),
            p.presence("old-1", declares("0.3.9", 30)),
            p.presence("dark-1"),
        )
    )
    page = draw_settings(picture, read_settings_query({}))
    rows = {row.node: {cell.label: cell.fact for cell in row.cells} for row in page.window.rows}
    assert rows["old-1"]["Lease TTL"].text == "runs at 45 s"
    assert rows["old-1"]["Lease TTL"].note == "file says 30 s"
    assert (rows["old-1"]["Build"].mark, rows["core-1"]["Build"].mark) == ("warn", "")
    assert rows["dark-1"]["Build"].state is FactState.UNSAID
    assert page.differences.text == "2 differences"


@pytest.mark.parametrize(
    ("read", "params", "address"),
    [
        (read_node_query, {}, "/fleet/"),
        (read_node_query, {"q": "GPU", "sort": "-seats", "page": "2"}, None),
        (read_seat_query, {"state": "paused", "node": "core 1", "tz": "utc"}, None),
        (read_seat_query, {"state": "nonsense", "kind": "robots"}, "/seats/"),
    ],
)
def test_an_address_reads_back_as_the_same_question(
    read: object, params: dict[str, str], address: str | None
) -> None:
    from urllib.parse import parse_qsl, urlsplit

    assert callable(read)
    query = read(params)
    if address is not None:
        assert query.address == address
    assert read(dict(parse_qsl(urlsplit(query.address).query))) == query
