"""What a node says of itself on its presence lease, read with tolerance.

A node may be of another build: each field that is missing or of an odd shape is None, "did not
say", and never a zero. The presence lease's `meta` holds roles, labels, broker and status.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

EMPTY: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """One node's own words; None wherever it said nothing.

    Attributes:
        roles: what it does: data, ingress, seats, workers.
        labels: what placement may ask for.
        broker: member, leaf, client, or a word this build does not know.
        in_flight: turns running now.
        draining: it is giving its work back.
        draining_since: when that began.
        posture: serve, wait, shed, isolated, stuck, or another build's word.
        started_at: when its process started.
        build: its version.
        lease_ttl: the lease TTL that its own configuration asks for.
        replicas: copies that its own configuration asks for.
        bucket_replicas: copies that the lease bucket has, as it found them.
        coordination: `local` or `embedded-kv`.
    """

    roles: tuple[str, ...] | None = None
    labels: Mapping[str, str] | None = None
    broker: str | None = None
    in_flight: int | None = None
    draining: bool | None = None
    draining_since: datetime | None = None
    posture: str | None = None
    started_at: datetime | None = None
    build: str | None = None
    lease_ttl: timedelta | None = None
    replicas: int | None = None
    bucket_replicas: int | None = None
    coordination: str | None = None


def read_report(meta: Mapping[str, object]) -> NodeReport:
    """The report in a presence lease's meta."""
    status = _object(meta.get("status"))
    said = _object(meta.get("settings"))
    return NodeReport(
        roles=_texts(meta.get("roles")),
        labels=_labels(meta.get("labels")),
        broker=_text(meta.get("broker")),
        in_flight=_count(status.get("in_flight")),
        draining=_flag(status.get("draining")),
        draining_since=_moment(status.get("draining_since")),
        posture=_text(status.get("posture")),
        started_at=_moment(status.get("started_at")),
        build=_text(said.get("build")),
        lease_ttl=_seconds(said.get("lease_ttl_seconds")),
        replicas=_count(said.get("replicas")),
        bucket_replicas=_count(said.get("bucket_replicas")),
        coordination=_text(said.get("coordination")),
    )


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else EMPTY


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value and abs(value) < 1e15 and value >= 0 else None


def _seconds(value: object) -> timedelta | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return None
    return timedelta(seconds=value)


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    return tuple(item for item in value if isinstance(item, str) and item)


def _labels(value: object) -> Mapping[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    return {str(key): text for key, text in value.items() if isinstance(text, str)}


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None
