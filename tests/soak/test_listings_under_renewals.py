"""Ten thousand listings under three tight renewers, on one server and on three: none misses one.

The suite runs the same at a smaller size (LST-02, LST-12).
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Final

import pytest

from coordination.contract.leases import Lease, Renewed
from coordination.contract.store import Store
from coordination.errors import Unavailable
from tests.contract import broker, cluster
from tests.contract.broker import BrokerBackend
from tests.contract.cluster import ClusterBackend
from tests.contract.terms import LONG, NODE, claim, names, node

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]

LISTINGS: Final = 10_000
MEMBERS: Final = [f"n{index}" for index in range(5)]
UNKNOWN: Final = 0.01  # the share of listings that may have been unavailable


async def renew_for_ever(store: Store, lease: Lease, landed: list[int]) -> None:
    """One tight renewer; an unknown is asked again, a loss fails the campaign."""
    while True:
        try:
            answer = await store.leases.renew(lease, ttl=LONG)
        except Unavailable:
            continue
        assert isinstance(answer, Renewed), f"{lease.resource} was lost: {answer}"
        lease = answer.lease
        landed[0] += 1


@pytest.mark.parametrize("factory", [BrokerBackend, ClusterBackend], ids=["one", "three"])
async def test_ten_thousand_listings_miss_no_lease_that_was_live_throughout(
    factory: Callable[[], BrokerBackend], capsys: pytest.CaptureFixture[str]
) -> None:
    backend = factory()
    try:
        reader, writer = await backend.open(handles=2)
        leases = [await claim(writer, node(name), f"{name}:1") for name in MEMBERS]
        whole = [str(lease.resource) for lease in leases]
        landed, missed, unknown, began = [0], 0, 0, time.monotonic()
        renewers = [
            asyncio.ensure_future(renew_for_ever(writer, lease, landed)) for lease in leases[:3]
        ]
        for _ in range(LISTINGS):
            try:
                missed += names(await reader.leases.list_live(NODE)) != whole
            except Unavailable:
                unknown += 1
            assert not any(one.done() for one in renewers), "a renewer ended"
        for one in renewers:
            one.cancel()
        await asyncio.gather(*renewers, return_exceptions=True)
        certified = backend.wires[0].leader_reads
        with capsys.disabled():
            sys.stdout.write(
                f"\n{factory.__name__}: {LISTINGS} listings, {missed} short, {unknown} unknown,"
                f" {landed[0]} renewals beside them, {certified} certifying reads,"
                f" {time.monotonic() - began:.0f} s\n"
            )
        assert missed == 0
        assert unknown <= UNKNOWN * LISTINGS
        assert landed[0] > LISTINGS / 10, "hardly a renewal landed: the run proves nothing"
        assert certified > 0, "no listing needed certifying: the run proves nothing"
    finally:
        await backend.close()
        broker.dispose()
        cluster.dispose()
