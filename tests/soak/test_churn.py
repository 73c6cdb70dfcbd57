"""Random lease histories by the thousand on the twin, and longer ones through three members."""

from contextlib import AsyncExitStack

import pytest

from coordination.contract.store import Credentials
from coordination.jetstream.store import open_jetstream
from tests.churn.grounds import AGE, broker_ground, play, twin_ground
from tests.support.cluster import Cluster

ON_THE_TWIN = range(1_000, 4_000)
ON_MEMBERS = range(20)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
async def test_three_thousand_histories_on_the_twin_break_no_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("coordination.slots.cleanup._AGAIN", 0.001)
    grants = 0
    for seed in ON_THE_TWIN:
        async with twin_ground(seed) as ground:
            grants += (await play(ground, seed, 100)).model.grants
    assert grants > 100_000


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.timeout(1_800)
async def test_twenty_histories_through_three_members_break_no_promise() -> None:
    grants = takeovers = 0
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(Cluster(sync_interval="2m"))
        for seed in ON_MEMBERS:
            stores = [
                await open_jetstream(
                    member.url,
                    credentials=Credentials(user=cluster.user, password=cluster.password),
                    domain=cluster.domain,
                    replicas=3,
                    lease_ttl=AGE,
                    prefix=f"churn{seed}",
                )
                for member in cluster.members
            ]
            for store in stores:
                stack.push_async_callback(store.close)
            told = (await play(broker_ground(stores), seed, 100)).model
            grants += told.grants
            takeovers += told.takeovers
    assert grants > 1_000
    assert takeovers > 100
