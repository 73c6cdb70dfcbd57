"""Placement: pure judgements over what every node sees."""

from collections.abc import Mapping, Set
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from company.document import ANYWHERE, Placement
from fleet.rules.placement import (
    REBALANCE_MOST,
    RELEASE_MOST,
    NodeView,
    Scene,
    SeatView,
    plan_sweep,
)

GPU = Placement(labels={"gpu": "l40s"})


def seats(count: int, placement: Placement = ANYWHERE, prefix: str = "s") -> tuple[SeatView, ...]:
    return tuple(SeatView(handle=f"{prefix}{n:02}", placement=placement) for n in range(count))


def nodes(*names: str, labels: Mapping[str, str] | None = None) -> tuple[NodeView, ...]:
    return tuple(NodeView(node=name, labels=labels or {}) for name in names)


def handles(views: tuple[SeatView, ...]) -> Set[str]:
    return {view.handle for view in views}


def test_the_only_node_claims_every_seat_at_once() -> None:
    plan = plan_sweep(Scene(me="a", nodes=nodes("a"), seats=seats(25)))
    assert set(plan.claim) == handles(seats(25))
    assert plan.release == ()
    assert plan.capacity == 25


def test_two_nodes_claim_no_more_than_half_each_rounded_up() -> None:
    for me in ("a", "b"):
        plan = plan_sweep(Scene(me=me, nodes=nodes("a", "b"), seats=seats(25)))
        assert len(plan.claim) == plan.capacity == 13


def test_seats_of_a_lapsed_holder_are_claimed_at_once_whatever_their_number() -> None:
    views = seats(20)
    scene = Scene(me="a", nodes=nodes("a", "b"), seats=views, taken=set(list(handles(views))[:10]))
    assert len(plan_sweep(scene).claim) == 10


def test_released_seats_are_taken_over_a_few_at_a_time() -> None:
    views = seats(20)
    scene = Scene(me="a", nodes=nodes("a", "b"), seats=views, released=handles(views))
    assert len(plan_sweep(scene).claim) == REBALANCE_MOST


def test_a_node_that_comes_back_takes_its_own_seats_at_once() -> None:
    views = seats(20)
    own = {f"s{n:02}" for n in range(10)}
    scene = Scene(me="a", nodes=nodes("a", "b"), seats=views, released=handles(views), hinted=own)
    plan = plan_sweep(scene)
    assert set(plan.claim[:10]) == own


def test_the_last_node_takes_released_seats_at_once() -> None:
    views = seats(20)
    scene = Scene(me="a", nodes=nodes("a"), seats=views, released=handles(views))
    assert len(plan_sweep(scene).claim) == 20


def test_a_node_over_capacity_gives_back_two_a_sweep() -> None:
    views = seats(20)
    scene = Scene(me="a", nodes=nodes("a", "b"), seats=views, mine=handles(views))
    plan = plan_sweep(scene)
    assert len(plan.release) == RELEASE_MOST
    assert plan.claim == ()


def test_a_seat_that_left_the_company_is_given_back() -> None:
    scene = Scene(me="a", nodes=nodes("a"), seats=seats(2), mine={"s00", "s01", "gone"})
    assert plan_sweep(scene).release == ("gone",)


def test_a_seat_whose_selector_matches_no_more_is_given_back_and_is_unplaceable() -> None:
    views = seats(1, GPU)
    scene = Scene(me="a", nodes=nodes("a"), seats=views, mine=handles(views))
    plan = plan_sweep(scene)
    assert plan.release == plan.unplaceable == ("s00",)


def test_a_selector_is_never_widened() -> None:
    scene = Scene(me="a", nodes=nodes("a"), seats=(*seats(2), *seats(3, GPU, "g")))
    plan = plan_sweep(scene)
    assert set(plan.claim) == {"s00", "s01"}
    assert plan.unplaceable == ("g00", "g01", "g02")


def test_a_group_is_shared_by_the_nodes_that_may_hold_it_alone() -> None:
    fleet = (*nodes("a"), *nodes("b", labels={"gpu": "l40s"}))
    views = (*seats(4), *seats(3, GPU, "g"))
    on_a = plan_sweep(Scene(me="a", nodes=fleet, seats=views))
    on_b = plan_sweep(Scene(me="b", nodes=fleet, seats=views))
    assert on_a.capacity == 2
    assert on_b.capacity == 5
    assert {"g00", "g01", "g02"} <= set(on_b.claim)
    assert not any(handle.startswith("g") for handle in on_a.claim)


def test_a_full_node_makes_room_for_seats_that_only_it_may_hold() -> None:
    fleet = (*nodes("a", labels={"gpu": "l40s"}), *nodes("b"))
    views = (*seats(10), *seats(5, GPU, "g"))
    scene = Scene(me="a", nodes=fleet, seats=views, mine=handles(seats(10)))
    assert len(plan_sweep(scene).release) == RELEASE_MOST


def test_a_draining_node_counts_for_nobody() -> None:
    fleet = (*nodes("a"), replace(nodes("b")[0], holds_seats=False))
    plan = plan_sweep(Scene(me="a", nodes=fleet, seats=seats(10)))
    assert plan.capacity == 10
    gone = plan_sweep(Scene(me="b", nodes=fleet, seats=seats(10), mine={"s00"}))
    assert gone.release == ("s00",)
    assert gone.claim == ()


@given(
    anywhere=st.integers(0, 25),
    on_gpu=st.integers(0, 25),
    names=st.lists(st.sampled_from("abcde"), unique=True, min_size=1),
    gpus=st.sets(st.sampled_from("abcde")),
    draw=st.data(),
)
def test_the_sweeps_of_all_nodes_settle_with_every_placeable_seat_held_once(
    anywhere: int, on_gpu: int, names: list[str], gpus: set[str], draw: st.DataObject
) -> None:
    fleet = tuple(
        NodeView(node=name, labels={"gpu": "l40s"} if name in gpus else {}) for name in names
    )
    views = (*seats(anywhere), *seats(on_gpu, GPU, "g"))
    holder = draw.draw(
        st.fixed_dictionaries({v.handle: st.sampled_from([*names, ""]) for v in views})
    )
    released: set[str] = set()
    before: dict[str, str] = {}
    for _ in range(100):
        if before == holder:
            break
        before = dict(holder)
        for me in names:
            _sweep(me, fleet, views, holder, released)
    assert before == holder
    unplaceable = {h for h in holder if h.startswith("g") and not gpus & set(names)}
    assert {h for h, node in holder.items() if not node} == unplaceable


def _sweep(
    me: str,
    fleet: tuple[NodeView, ...],
    views: tuple[SeatView, ...],
    holder: dict[str, str],
    released: set[str],
) -> None:
    mine = {h for h, node in holder.items() if node == me}
    taken = {h for h, node in holder.items() if node not in ("", me)}
    plan = plan_sweep(
        Scene(me=me, nodes=fleet, seats=views, mine=mine, taken=taken, released=released)
    )
    assert mine.isdisjoint(plan.claim)
    assert mine.issuperset(plan.release)
    for handle in plan.release:
        holder[handle] = ""
        released.add(handle)
    for handle in plan.claim:
        assert holder[handle] == ""
        holder[handle] = me
        released.discard(handle)
    held = sum(node == me for node in holder.values())
    assert held <= max(plan.capacity, len(mine))
