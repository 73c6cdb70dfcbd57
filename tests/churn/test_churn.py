"""Random histories of a fleet's leases, held against what the store promises."""

import re
from pathlib import Path
from typing import Final

import pytest

from coordination.contract.store import Credentials
from coordination.jetstream.store import open_jetstream
from tests.churn.grounds import AGE, broker_ground, play, twin_ground
from tests.support.nats_server import NatsServer

SEEDS: Final = range(120)
ROUNDS: Final = 60
KEPT: Final = Path(__file__).with_name("regressions.md")


def kept_seeds() -> list[int]:
    """The seeds that once broke a promise."""
    return [int(seed) for seed in re.findall(r"^\| (\d+) \|", KEPT.read_text(), re.MULTILINE)]


async def test_seeded_histories_on_the_twin_break_no_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("coordination.slots.cleanup._AGAIN", 0.001)
    grants = takeovers = refusals = losses = unknowns = crashes = 0
    for seed in (*kept_seeds(), *SEEDS):
        async with twin_ground(seed) as ground:
            history = await play(ground, seed, ROUNDS)
        told = history.model
        grants += told.grants
        takeovers += told.takeovers
        refusals += told.refusals
        losses += told.losses
        unknowns += told.unknowns
        crashes += history.crashes
    rare = min(grants, takeovers, refusals, losses, unknowns, crashes)
    assert rare > len(SEEDS), "the histories do not hold what they are meant to try"


@pytest.mark.broker
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_seeded_histories_on_a_broker_break_no_promise(seed: int) -> None:
    async with NatsServer(sync_interval="2m") as server:
        stores = [
            await open_jetstream(
                server.url,
                credentials=Credentials(user=server.user, password=server.password),
                domain=server.domain,
                lease_ttl=AGE,
            )
            for _ in range(2)
        ]
        history = await play(broker_ground(stores), seed, 30)
        for store in stores:
            await store.close()
    assert history.model.grants > 10
    assert history.model.takeovers > 0
