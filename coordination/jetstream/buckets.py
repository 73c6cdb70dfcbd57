"""Which buckets there are, and opening them.

A bucket that is there already is adopted as it stands: every difference but one shows in how the
store behaves, and is honoured. A replica count below the one asked shows nothing until a member is
lost, so a node that finds fewer refuses to start. Source: coordination.txt, "Fixed when the bucket
is created means fixed by whoever created it", "Replication is the one adopted difference".
"""

import logging
import re
from datetime import timedelta
from typing import Final

from coordination.errors import InvalidRequest
from coordination.jetstream.broker import Broker
from coordination.jetstream.bucket import KvBucket
from coordination.jetstream.index import StreamInfo
from coordination.jetstream.opening import Opening, ask_and_update, check_replicas
from coordination.jetstream.reads import stream_of
from coordination.rules.instants import nanos_of, span_of
from coordination.rules.retention import Retention, duplicate_window, every_bucket

_LOG = logging.getLogger(__name__)

_PREFIX: Final = re.compile(r"[a-zA-Z0-9_-]+")
MOST_REPLICAS: Final = 5


async def open_buckets(
    broker: Broker, *, prefix: str, replicas: int, lease_ttl: timedelta
) -> dict[str, KvBucket]:
    """Open every bucket, by suffix: all are looked up at once, the missing created in order.

    Raises:
        InvalidRequest: a prefix, replica count or TTL the broker cannot keep.
        ConfigurationMismatch: a bucket has fewer replicas than asked, or the broker cannot give
            them.
        Unavailable: the broker did not answer in time, or refused for want of storage.
    """
    _check(prefix, replicas)
    table = every_bucket(lease_ttl)
    openings = [Opening(broker, f"{prefix}_{kept.suffix}") for kept in table]
    opened = {}
    try:
        for kept, opening in zip(table, openings, strict=True):
            opened[kept.suffix] = await _open(broker, opening, kept, replicas)
    finally:
        for opening in openings:
            await opening.end()
    _tell_lease_ttl(opened["leases"], lease_ttl)
    _LOG.debug("coord_kv_fleet_open prefix=%s buckets=%d", prefix, len(opened))
    return opened


async def _open(broker: Broker, opening: Opening, kept: Retention, replicas: int) -> KvBucket:
    name = opening.name
    found = await opening.look_up()
    if found is None:
        found = await opening.create(stream_config(name, kept, replicas))
    check_replicas(name, found, replicas)
    if kept.raised and kept.age is not None:
        found = await _raise_age(broker, name, found, kept, kept.age)
    age = found.config.max_age
    _LOG.debug("coord_kv_open bucket=%s age_ns=%d replicas=%d", name, age, replicas)
    return KvBucket(broker, name, span_of(age) if age else None)


def stream_config(name: str, kept: Retention, replicas: int) -> dict[str, object]:
    """The stream a bucket is, as the broker is asked for it."""
    return {
        "name": stream_of(name),
        "subjects": [f"$KV.{name}.>"],
        "description": kept.holds,
        "retention": "limits",
        "max_msgs_per_subject": 1,
        "max_age": nanos_of(kept.age) if kept.age is not None else 0,
        "max_bytes": -1,
        "max_msgs": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "storage": "file",
        "num_replicas": replicas,
        "discard": "new",
        "duplicate_window": nanos_of(duplicate_window(kept.age)),
        "allow_rollup_hdrs": True,
        "deny_delete": True,
        "allow_direct": True,
    }


async def _raise_age(
    broker: Broker, name: str, found: StreamInfo, kept: Retention, least: timedelta
) -> StreamInfo:
    """Lengthen an age that is too short; never shorten one, and keep the replicas in force."""
    if found.config.max_age == 0 or found.config.max_age >= nanos_of(least):
        return found
    raised = await ask_and_update(broker, name, max_age=nanos_of(least))
    _LOG.info(
        "coord_kv_bucket_age_raised bucket=%s holds=%r from=%s to=%s",
        name,
        kept.holds,
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


def _check(prefix: str, replicas: int) -> None:
    if _PREFIX.fullmatch(prefix) is None:
        msg = f"{prefix!r} is no bucket prefix: letters, digits, '_' and '-'"
        raise InvalidRequest(msg, operation="open", subject=prefix)
    if not 1 <= replicas <= MOST_REPLICAS:
        msg = f"{replicas} replicas cannot be kept: 1 to {MOST_REPLICAS}"
        raise InvalidRequest(msg, operation="open", subject=prefix)
