"""Ten thousand fresh claims at once through three members."""

from contextlib import AsyncExitStack

import pytest

from coordination.contract.store import Credentials
from coordination.jetstream.store import open_jetstream
from tests.support.claiming import claim_at_once
from tests.support.cluster import Cluster

OWNERS = 100
EACH = 100


@pytest.mark.soak
@pytest.mark.cluster
@pytest.mark.timeout(900)
async def test_ten_thousand_fresh_claims_through_three_members_are_never_refused() -> None:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(Cluster(sync_interval="2m"))
        stores = []
        for member in cluster.members:
            store = await open_jetstream(
                member.url,
                credentials=Credentials(user=cluster.user, password=cluster.password),
                domain=cluster.domain,
                replicas=3,
            )
            stack.push_async_callback(store.close)
            stores.append(store)
        told = await claim_at_once(stores, owners=OWNERS, each=EACH)
    assert told.wrong == []
    assert told.asked == OWNERS * EACH
    assert told.held >= 0.9 * told.asked, f"{told.unknown} of {told.asked} could not be asked"
