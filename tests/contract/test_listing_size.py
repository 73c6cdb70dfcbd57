"""LST-14: more keys under one filter than the broker names in one page."""

from pathlib import Path
from typing import Final

import pytest

from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.support.wire import Frame

PAGE: Final = 100_000  # keys the broker names in one answer
BATCH: Final = 1_000  # writes for one acknowledgement
DOCS: Final = Path(__file__).parents[2] / "docs" / "coordination.md"


async def fill(wired: BrokerBackend, count: int) -> list[str]:
    """Write this many keys, as fast as the broker takes them; in the order it names them."""
    keys = [f"k{index:06}" for index in range(count)]
    js = await wired.js()
    assert wired.admin is not None
    for first in range(0, count, BATCH):
        batch = keys[first : first + BATCH]
        for key in batch[:-1]:
            await wired.admin.publish(wired.subject("positions", key), b"v")
        await js.publish(wired.subject("positions", batch[-1]), b"v", timeout=20)
    info = await js.stream_info(wired.stream("positions"))
    assert info.state.messages == count, "the broker did not take every write"
    return keys


@case("LST-14", scope="kv")
@pytest.mark.slow
async def test_more_keys_than_one_page_of_the_index_are_all_listed(wired: BrokerBackend) -> None:
    await wired.open()
    bucket, wire = wired.bucket("positions"), wired.wires[0]
    keys = await fill(wired, PAGE + 1)
    await wired.copied("positions")
    offsets: list[bytes] = []
    lost = 0

    def note(frame: Frame) -> bytes | None:
        if ".STREAM.INFO." in frame.subject and b"subjects_filter" in frame.body:
            offsets.append(frame.body.partition(b'"offset":')[2].rstrip(b"}"))
        return None

    def lose_the_last(frame: Frame) -> bool:
        nonlocal lost
        ours = frame.subject.endswith(keys[-1])
        lost += ours
        return not ours

    wire.answerers.append(note)
    wire.keepers.append(lose_the_last)
    wire.sent.clear()
    listed = await bucket.listing(">", what="every key")
    assert [entry.key for entry in listed.entries] == keys
    assert offsets == [b"0", b"%d" % PAGE], "the index was not read in pages"
    assert lost == 1, "the pass lost nothing: the second page certified nothing"
    assert wire.leader_reads == 1
    assert wire.direct_reads == 0
    assert "100,000 keys under one filter" in " ".join(DOCS.read_text().split())
