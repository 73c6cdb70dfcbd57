"""Which buckets there are, and opening them.

A bucket that is there already is adopted as it stands: every difference but one shows in how the
store behaves, and is honoured. A replica count below the one asked shows nothing until a member is
lost, so a node that finds fewer refuses to start. Source: coordination.txt, "Fixed when the bucket
is created means fixed by whoever created it", "Replication is the one adopted difference".
"""

import logging
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from coordination.errors import InvalidRequest
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.index import StreamInfo
from coordination.jetstream.opening import (
    ask_and_update,
    check_replicas,
    look_up_or_create,
    read_back,
)
from coordination.jetstream.reads import stream_of
from coordination.rules import retention
from coordination.rules.instants import nanos_of, span_of
from coordination.rules.retention import Retention

_LOG = logging.getLogger(__name__)

_PREFIX: Final = re.compile(r"[a-zA-Z0-9_-]+")
SHORTEST_AGE: Final = timedelta(milliseconds=100)  # the broker's floor
MOST_REPLICAS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSpec:
    """One bucket: `raised` says that an age found too short is lengthened."""

    kept: Retention
    description: str
    raised: bool = False


def bucket_table(lease_ttl: timedelta) -> tuple[BucketSpec, ...]:
    """Every bucket, in the order they are opened."""
    return (
        BucketSpec(kept=retention.leases(lease_ttl), description="who runs which seat, who lives"),
        BucketSpec(
            kept=retention.DUTIES,
            description="who holds which duty, and every other claim",
            raised=True,
        ),
        BucketSpec(kept=retention.EPOCHS, description="the counters tokens are minted from"),
        BucketSpec(kept=retention.STATUS, description="what each node applied"),
        BucketSpec(kept=retention.CONFIG, description="which revision is current"),
        BucketSpec(kept=retention.POSITIONS, description="seat pauses and node positions"),
    )


async def open_buckets(
    broker: Broker, *, prefix: str, replicas: int, lease_ttl: timedelta
) -> dict[str, KvBucket]:
    """Open every bucket, by suffix.

    Raises:
        InvalidRequest: a prefix, replica count or TTL the broker cannot keep.
        ConfigurationMismatch: a bucket has fewer replicas than asked, or the broker cannot give
            them.
        Unavailable: the broker did not answer in time, or refused for want of storage.
    """
    _check(prefix, replicas, lease_ttl)
    opened = {}
    for spec in bucket_table(lease_ttl):
        opened[spec.kept.suffix] = await _open(broker, spec, prefix=prefix, replicas=replicas)
    _tell_lease_ttl(opened["leases"], lease_ttl)
    _LOG.debug("coord_kv_fleet_open prefix=%s buckets=%d", prefix, len(opened))
    return opened


async def _open(broker: Broker, spec: BucketSpec, *, prefix: str, replicas: int) -> KvBucket:
    name = f"{prefix}_{spec.kept.suffix}"
    found = await look_up_or_create(broker, name, stream_config(name, spec, replicas))
    if found is not None:
        check_replicas(name, found, replicas)
    else:
        found = await read_back(broker, name)
    if spec.raised and spec.kept.age is not None:
        found = await _raise_age(broker, name, found, spec.kept.age)
    age = found.config.max_age
    _LOG.debug("coord_kv_open bucket=%s age_ns=%d replicas=%d", name, age, replicas)
    return KvBucket(broker, name, span_of(age) if age else None)


def stream_config(name: str, spec: BucketSpec, replicas: int) -> dict[str, object]:
    """The stream a bucket is, as the broker is asked for it."""
    age = spec.kept.age
    return {
        "name": stream_of(name),
        "subjects": [f"$KV.{name}.>"],
        "description": spec.description,
        "retention": "limits",
        "max_msgs_per_subject": 1,
        "max_age": nanos_of(age) if age is not None else 0,
        "max_bytes": -1,
        "max_msgs": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "storage": "file",
        "num_replicas": replicas,
        "discard": "new",
        "duplicate_window": nanos_of(retention.duplicate_window(age)),
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
    }


async def _raise_age(broker: Broker, name: str, found: StreamInfo, least: timedelta) -> StreamInfo:
    """Lengthen an age that is too short; never shorten one, and keep the replicas in force."""
    if found.config.max_age == 0 or found.config.max_age >= nanos_of(least):
        return found
    raised = await ask_and_update(broker, name, max_age=nanos_of(least))
    _LOG.info(
        "coord_kv_bucket_age_raised bucket=%s holds=claims from=%s to=%s",
        name,
        span_of(found.config.max_age),
        least,
    )
    return raised


def _tell_lease_ttl(leases: KvBucket, lease_ttl: timedelta) -> None:
    if leases.age != lease_ttl:
        _LOG.warning(
            "coord_kv_lease_ttl_differs bucket=%s in_force=%s this_node=%s detail=%s remedy=%s",
            leases.name,
            leases.age,
            lease_ttl,
            "the bucket was created with another TTL, and this node runs at the one in force",
            "align lease_ttl across the fleet, and delete the bucket while the fleet is down",
        )


def _check(prefix: str, replicas: int, lease_ttl: timedelta) -> None:
    if _PREFIX.fullmatch(prefix) is None:
        msg = f"{prefix!r} is no bucket prefix: letters, digits, '_' and '-'"
        raise InvalidRequest(msg, operation="open", subject=prefix)
    if not 1 <= replicas <= MOST_REPLICAS:
        msg = f"{replicas} replicas cannot be kept: 1 to {MOST_REPLICAS}"
        raise InvalidRequest(msg, operation="open", subject=prefix)
    if lease_ttl < SHORTEST_AGE:
        msg = f"a lease TTL of {lease_ttl} is shorter than the broker's floor of {SHORTEST_AGE}"
        raise InvalidRequest(msg, operation="open", subject=prefix)
