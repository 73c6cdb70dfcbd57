"""STA-01 to STA-04: what each node says it applied, as the fleet view lists it."""

from coordination.contract.answers import Epoch, NodeId
from coordination.contract.status import ERROR_CHARACTERS, ConfigStatus
from coordination.contract.store import Store
from coordination.rules.instants import Instant
from tests.contract.cases import case
from tests.contract.terms import SECOND, T0


async def report(
    store: Store, name: str, *, at: Instant = T0, status: str = "ok", error: str = ""
) -> None:
    """One node's report."""
    await store.status.report(
        ConfigStatus(
            node=NodeId(name),
            epoch=Epoch(41),
            revision_id="rev-1",
            status=status,
            error=error,
            updated_at=at,
        )
    )


async def rows(store: Store) -> list[str]:
    """The node ids in the view's order."""
    return [str(row.node) for row in await store.status.list()]


@case("STA-01")
async def test_the_view_lists_the_freshest_report_first(store: Store) -> None:
    for index, name in enumerate(("node-a", "node-b", "node-c")):
        await report(store, name, at=T0 + index * SECOND)
    assert await rows(store) == ["node-c", "node-b", "node-a"]


@case("STA-02")
async def test_reports_of_one_instant_are_listed_by_node_id(store: Store) -> None:
    for name in ("c", "a", "b"):
        await report(store, name)
    await report(store, "z", at=T0 + SECOND)
    assert await rows(store) == ["z", "a", "b", "c"]


@case("STA-03")
async def test_a_report_replaces_the_one_before(store: Store) -> None:
    await report(store, "node-a", status="applying")
    await report(store, "node-a", status="ok", at=T0 + SECOND)
    (row,) = await store.status.list()
    assert (row.node, row.status, row.epoch) == ("node-a", "ok", 41)
    assert (row.revision_id, row.updated_at) == ("rev-1", T0 + SECOND)


@case("STA-04")
async def test_a_long_error_text_is_cut_between_characters_with_an_ellipsis(store: Store) -> None:
    texts = {"ascii": "x" * 8000, "kanji": "日本語" * 1000}
    for name, text in texts.items():
        await report(store, name, error=text)
    listed = {str(row.node): row.error for row in await store.status.list()}
    assert listed.keys() == texts.keys()
    for name, text in texts.items():
        cut = listed[name]
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
        assert 0 < len(cut) <= ERROR_CHARACTERS + 1
        assert len(cut) < len(text)
        assert cut.encode().decode() == cut
