"""The fleet page's facts, in every state a picture can be in."""

import dataclasses

from coordination.contract.answers import Absent
from fleet.pages.board import Board, draw_board
from fleet.pages.query import read_node_query
from fleet.services.picture import Picture
from runtime.facts import Fact, FactState
from tests.support import pictures as p


def board_of(picture: Picture, **params: str) -> Board:
    return draw_board(picture, read_node_query(params))


def figures(board: Board) -> dict[str, Fact]:
    return {figure.id.removeprefix("figure-"): figure.fact for figure in board.figures}


def cells(board: Board, node: str) -> dict[str, Fact]:
    row = next(row for row in board.window.rows if row.node == node)
    return {cell.id.removeprefix(f"{row.id}-"): cell.fact for cell in row.cells}


def all_facts(board: Board) -> list[Fact]:
    rows = [cell.fact for row in board.window.rows for cell in row.cells]
    return [*rows, *(figure.fact for figure in board.figures), board.seats_total, board.turns_total]


def test_figures_count_what_the_records_say() -> None:
    shown = figures(board_of(p.example()))
    assert shown["live"].text == "5"
    assert (shown["held"].text, shown["held"].after) == ("6", "of 8")
    assert (shown["unheld"].text, shown["unheld"].note) == ("2", "vera-ml, tess-res")
    assert shown["unplaced"].text == "1"
    assert shown["unplaced"].note.startswith("vera-ml: ")


def test_a_node_that_did_not_report_makes_a_total_a_floor() -> None:
    board = board_of(p.example())
    assert figures(board)["behind"].state is FactState.FLOOR
    assert figures(board)["behind"].note == "gpu-1 did not say"
    assert board.turns_total.state is FactState.FLOOR
    assert (board.turns_total.text, board.turns_total.note) == ("6", "1 node did not say")


def test_what_a_node_left_out_is_unsaid_and_never_a_zero() -> None:
    shown = cells(board_of(p.example()), "gpu-1")
    assert shown["roles"].text == "seats"
    assert shown["seats"].text == "1"
    for name in ("turns", "posture", "up", "config"):
        assert shown[name].state is FactState.UNSAID, name
    assert shown["config"].note == "has not reported"


def test_a_true_zero_is_the_word_none() -> None:
    shown = cells(board_of(p.example()), "edge-1")
    assert (shown["turns"].state, shown["turns"].text) == (FactState.NONE, "none")
    assert (shown["seats"].state, shown["seats"].text) == (FactState.NONE, "none")


def test_two_heartbeats_without_a_renewal_are_late() -> None:
    late = cells(board_of(p.example()), "gpu-1")["presence"]
    assert (late.text, late.tone, late.note_form) == ("late,", "warn", "in")
    on_time = p.picture(presences=(p.presence("core-1", p.said(), age=30),))
    assert cells(board_of(on_time), "core-1")["presence"].text == "renewed"


def test_a_passed_deadline_removes_nobody_before_the_leader_says_so() -> None:
    board = board_of(p.picture(presences=(p.presence("core-1", p.said(), age=46),)))
    assert cells(board, "core-1")["presence"].text == "late,"
    assert figures(board_of(p.picture()))["live"].text == "0"


def test_trouble_stands_first_and_then_the_id() -> None:
    rows = [row.node for row in board_of(p.example()).window.rows]
    assert rows == ["gpu-1", "core-3", "core-1", "core-2", "edge-1"]


def test_an_apply_error_stands_before_everything() -> None:
    example = p.example()
    failed = (*(example.statuses.value or ())[:-1], p.applied("edge-1", 40, "error", "no such key"))
    board = board_of(dataclasses.replace(example, statuses=p.known(failed)))
    assert board.window.rows[0].node == "edge-1"
    shown = cells(board, "edge-1")["config"]
    assert (shown.text, shown.note, shown.mark) == ("error", "no such key", "critical")
    assert any("no such key" in item.text for item in board.attention.items)


def test_the_node_that_answers_and_one_that_drains_are_tagged() -> None:
    tags = {row.node: [tag.word for tag in row.tags] for row in board_of(p.example()).window.rows}
    assert tags["core-2"] == ["serving this page"]
    assert tags["core-3"] == ["draining"]


def test_attention_names_the_seat_that_cannot_be_placed_and_the_late_node() -> None:
    items = {item.subject: item for item in board_of(p.example()).attention.items}
    assert "gpu=a100" in items["vera-ml"].text
    assert items["gpu-1"].since is not None


def test_a_seat_that_only_a_silent_node_might_hold_makes_the_figure_a_floor() -> None:
    company = p.firm(p.seat("vera-ml", labels={"gpu": "a100"}), p.seat("far", node="core-9"))
    fleet = p.picture(
        presences=(p.presence("core-1", p.said()), p.presence("dark-1")), company=company
    )
    shown = figures(board_of(fleet))["unplaced"]
    assert (shown.state, shown.text) == (FactState.FLOOR, "1")
    assert shown.note == "dark-1 did not say"


def test_silence_leaves_every_row_and_reads_no_fact_as_fresh() -> None:
    before = board_of(p.example())
    board = board_of(p.fell_silent(p.example()))
    assert [row.node for row in board.window.rows] == [row.node for row in before.window.rows]
    fresh = {FactState.VALUE, FactState.NONE, FactState.FLOOR}
    assert [fact for fact in all_facts(board) if fact.state in fresh] == []
    assert "0" not in {fact.text for fact in all_facts(board)}


def test_silence_makes_counts_and_presence_unknown_and_slow_facts_stale() -> None:
    shown = cells(board_of(p.fell_silent(p.example())), "core-1")
    for name in ("seats", "turns"):
        assert shown[name].state is FactState.UNKNOWN, name
    assert (shown["seats"].last, shown["turns"].last) == ("2", "3")
    for name in ("roles", "labels", "posture", "config", "up"):
        assert shown[name].state is FactState.STALE, name
    assert (shown["presence"].state, shown["presence"].text) == (
        FactState.UNKNOWN,
        "held for now",
    )


def test_silence_does_not_make_an_unsaid_fact_unknown() -> None:
    shown = cells(board_of(p.fell_silent(p.example())), "gpu-1")
    for name in ("turns", "posture", "up", "config"):
        assert shown[name].state is FactState.UNSAID, name


def test_silence_keeps_the_last_figures_labelled() -> None:
    shown = figures(board_of(p.fell_silent(p.example())))
    assert all(fact.state is FactState.UNKNOWN for fact in shown.values())
    assert shown["held"].last == "6 of 8"
    assert shown["behind"].last == "at least 1"


def test_silence_has_one_banner_and_no_attention_list() -> None:
    board = board_of(p.fell_silent(p.example()))
    assert board.banner.title == "Membership could not be listed"
    assert board.banner.as_of is not None
    assert board.attention.count == 0
    assert board.blank is None


def test_nobody_turns_late_or_leaves_on_account_of_the_stores_silence() -> None:
    board = board_of(p.fell_silent(p.picture(presences=(p.presence("core-1", p.said()),))))
    assert [row.node for row in board.window.rows] == ["core-1"]
    assert cells(board, "core-1")["presence"].text == "held for now"


def test_a_process_that_was_never_answered_shows_one_panel_and_no_figures() -> None:
    board = board_of(p.knows_nothing(p.firm(p.seat("ada"))))
    assert board.blank is not None
    assert board.blank.title == "Membership could not be listed"
    assert all(fact.state is FactState.UNKNOWN for fact in figures(board).values())


def test_one_silent_slot_marks_its_own_column_only() -> None:
    example = p.example()
    board = board_of(dataclasses.replace(example, seats=p.silent(example.seats)))
    shown = cells(board, "core-1")
    assert shown["seats"].state is FactState.UNKNOWN
    assert shown["turns"].state is FactState.VALUE
    assert figures(board)["live"].state is FactState.VALUE
    assert figures(board)["held"].state is FactState.UNKNOWN
    assert board.banner.title == "Seat leases could not be listed"


def test_no_active_revision_is_none_and_not_behind() -> None:
    board = board_of(p.picture(presences=(p.presence("core-1", p.said()),), active=Absent()))
    assert cells(board, "core-1")["config"].state is FactState.NONE
    assert figures(board)["behind"].note == "no revision is active"


def test_rows_are_filtered_by_id_role_and_label() -> None:
    assert [row.node for row in board_of(p.example(), q="GPU").window.rows] == ["gpu-1"]
    assert [row.node for row in board_of(p.example(), q="zone=c").window.rows] == ["core-3"]
    found = board_of(p.example(), q="ingress")
    assert {row.node for row in found.window.rows} == {"core-1", "core-2", "edge-1"}
    assert (found.window.matching, found.window.total) == (3, 5)


def test_a_long_list_is_drawn_in_pages_of_200() -> None:
    fleet = p.picture(
        presences=tuple(p.presence(f"n-{number:04}", p.said()) for number in range(450))
    )
    first, last = board_of(fleet), board_of(fleet, page="3")
    assert (len(first.window.rows), first.window.pages) == (200, 3)
    assert (last.window.first, last.window.last) == (401, 450)
    assert board_of(fleet, page="99").window.page == 3


def test_odd_parameters_fall_back_to_the_whole_list() -> None:
    for params in ({"page": "-1"}, {"page": "x"}, {"page": "²"}, {"sort": "'; --"}, {"sort": "-"}):
        assert len(board_of(p.example(), **params).window.rows) == 5, params


def test_a_record_past_its_deadline_is_a_row_and_counts_as_no_live_node() -> None:
    late, overdue = p.presence("gpu-1", p.said(), age=49), p.presence("gpu-2", p.said(), age=51)
    leases = tuple(
        dataclasses.replace(p.held(handle, "gpu-2"), expires_at=overdue.expires_at)
        for handle in ("ada", "bo")
    )
    picture = p.picture(
        presences=(p.presence("core-1", p.said()), late, overdue),
        seats=(*leases, p.held("cleo", "core-1")),
    )
    board = board_of(
        dataclasses.replace(picture, company=p.firm(*map(p.seat, ("ada", "bo", "cleo"))))
    )
    shown = figures(board)
    assert (shown["live"].text, shown["live"].note) == (
        "2",
        "hold an unexpired presence lease; gpu-2 is past the deadline",
    )
    assert (shown["held"].text, shown["held"].after) == ("1", "of 3")
    assert shown["held"].note == "agent seats in the company; 2 leases are past the deadline"
    assert {row.node for row in board.window.rows} == {"core-1", "gpu-1", "gpu-2"}
    assert any("broker does not remove" in item.text for item in board.attention.items)
