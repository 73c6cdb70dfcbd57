"""Fresh claims at once through three members: nobody is told that what is theirs is not held."""

from collections.abc import AsyncIterator

import pytest

from coordination.contract.store import Credentials
from coordination.jetstream.store import JetStreamStore, open_jetstream
from tests.support.claiming import claim_at_once
from tests.support.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
async def stores() -> AsyncIterator[tuple[JetStreamStore, ...]]:
    """A handle on each of three members."""
    async with Cluster(sync_interval="2m") as cluster:
        opened = [
            await open_jetstream(
                member.url,
                credentials=Credentials(user=cluster.user, password=cluster.password),
                domain=cluster.domain,
                replicas=3,
            )
            for member in cluster.members
        ]
        yield tuple(opened)
        for store in opened:
            await store.close()


async def test_three_hundred_fresh_claims_through_three_members_are_never_refused(
    stores: tuple[JetStreamStore, ...],
) -> None:
    told = await claim_at_once(stores, owners=30, each=10)
    assert told.wrong == []
    assert told.asked == 300
    assert told.held >= 270, f"{told.unknown} of {told.asked} could not be asked"
