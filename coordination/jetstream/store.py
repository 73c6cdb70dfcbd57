"""Opening the real store: the same slots as the twin's, over one connection to a broker."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, override

from coordination.contract.store import Credentials
from coordination.errors import Unavailable
from coordination.jetstream.broker import CONNECT_WITHIN, Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.buckets import open_buckets
from coordination.rules.instants import Instant
from coordination.rules.leases import DEFAULT_LEASE_TTL
from coordination.slots.buckets import Buckets
from coordination.slots.store import SlotStore

PROBE_WITHIN: Final = timedelta(seconds=2)
_OPEN_WITHIN: Final = timedelta(minutes=2)  # every bucket, on a broker without peers
_OPEN_WITHIN_CLUSTERED: Final = timedelta(minutes=5)
_PROBED: Final = "activation"  # the configuration pointer: any key does, this one is read anyway


class JetStreamStore(SlotStore):
    """As the contract, on a broker."""

    def __init__(self, broker: Broker, buckets: Buckets, probed: KvBucket) -> None:
        super().__init__(buckets, close=broker.close)
        self._probed = probed

    @override
    async def probe(self) -> Instant:
        """Read a key of the config bucket from its leader, then the leader's clock.

        Both within two seconds, whatever the broker does. Cost: two requests.
        """
        try:
            async with asyncio.timeout(PROBE_WITHIN.total_seconds()):
                await self._probed.read(_PROBED)
                return await self._probed.now()
        except TimeoutError as fault:
            msg = f"the broker did not answer within {PROBE_WITHIN.total_seconds():g} s"
            raise Unavailable(msg, operation="probe", subject=self._probed.name) from fault


async def open_jetstream(
    url: str | Sequence[str],
    *,
    credentials: Credentials | None = None,
    domain: str | None = None,
    replicas: int = 1,
    prefix: str = "crewlet",
    lease_ttl: timedelta = DEFAULT_LEASE_TTL,
    name: str = "crewlet",
    connect_within: timedelta = CONNECT_WITHIN,
) -> JetStreamStore:
    """Connect and open every bucket, creating the ones that are missing.

    Args:
        url: the broker's address, or several of one cluster.
        credentials: None where the broker asks for none.
        domain: the JetStream domain; None for the account's own.
        replicas: what each bucket has to be kept by at least.
        prefix: what the bucket names begin with; one a company.
        lease_ttl: the lease bucket's age if this call creates it; `store.leases.ttl_in_force`
            says what counts.
        name: how the broker lists this connection.
        connect_within: how long the first connection may take.

    Raises:
        Unavailable: no broker, or not all buckets, in time.
        ConfigurationMismatch: credentials refused, or a bucket with fewer replicas.
        InvalidRequest: a prefix, replica count or TTL the broker cannot keep.
    """
    broker = await Broker.connect(
        url, credentials=credentials, domain=domain, name=name, within=connect_within
    )
    opened = False
    within = _OPEN_WITHIN_CLUSTERED if broker.is_clustered else _OPEN_WITHIN
    try:
        async with asyncio.timeout(within.total_seconds()):
            buckets = await open_buckets(
                broker, prefix=prefix, replicas=replicas, lease_ttl=lease_ttl
            )
        opened = True
    except TimeoutError as fault:
        msg = f"the buckets of {prefix} were not all open within {within}"
        raise Unavailable(msg, operation="open", subject=prefix) from fault
    finally:
        if not opened:
            await broker.close()
    return JetStreamStore(broker, Buckets.of(buckets), buckets["config"])
