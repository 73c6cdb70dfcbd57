import logging

import pytest

from coordination.contract.answers import Epoch, NodeId
from coordination.contract.status import ERROR_CHARACTERS, ConfigStatus
from coordination.contract.watch import Change, Snapshot
from coordination.errors import InvalidRequest
from coordination.memory.clock import MANUAL_START
from coordination.slots.status import cut_error
from coordination.slots.store import SlotStore


def row(node: str = "node-a", status: str = "ok") -> ConfigStatus:
    return ConfigStatus(node=NodeId(node), epoch=Epoch(41), status=status, updated_at=MANUAL_START)


@pytest.mark.parametrize("text", ["x" * ERROR_CHARACTERS, "", "語" * ERROR_CHARACTERS])
def test_an_error_text_that_fits_is_kept_whole(text: str) -> None:
    assert cut_error(text) == text


@pytest.mark.parametrize("letter", ["x", "語"])
def test_a_longer_error_text_ends_in_an_ellipsis_and_still_fits(letter: str) -> None:
    cut = cut_error(letter * (ERROR_CHARACTERS + 1))
    assert cut == letter * (ERROR_CHARACTERS - 1) + "…"
    assert len(cut) == ERROR_CHARACTERS


@pytest.mark.parametrize("wrong", [row(""), row(status=" ")])
async def test_a_report_without_a_node_or_a_status_is_refused(
    peer: SlotStore, wrong: ConfigStatus
) -> None:
    with pytest.raises(InvalidRequest):
        await peer.status.report(wrong)


async def test_rows_that_cannot_be_decoded_are_skipped_and_told(
    peer: SlotStore, caplog: pytest.LogCaptureFixture
) -> None:
    await peer.status.report(row())
    await peer.buckets.status.put("node-b", b"{}")
    await peer.buckets.status.put("node.c", b"{}")
    with caplog.at_level(logging.WARNING):
        assert await peer.status.list() == (row(),)
    assert "coord_kv_undecodable_record bucket=crewlet_status key=node-b" in caplog.text
    assert "coord_kv_undecodable_key bucket=crewlet_status key=node.c" in caplog.text


async def test_a_watch_tells_each_report(peer: SlotStore) -> None:
    await peer.status.report(row())
    async with await peer.status.watch() as watch:
        events = aiter(watch)
        assert await anext(events) == Snapshot(items=(row(),), as_of=MANUAL_START)
        await peer.buckets.status.put("node-b", b"{}")
        await peer.status.report(row(status="error"))
        told = await anext(events)
        assert isinstance(told, Change)
        assert told.item == row(status="error")
