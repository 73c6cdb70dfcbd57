"""One cell at a time: records in, facts out. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from company.document import Placement
from coordination.contract.answers import Absent
from coordination.contract.config import Activation
from coordination.contract.status import ConfigStatus
from fleet.services.index import NodeEntry
from fleet.services.picture import Picture, Told
from runtime import facts
from runtime.facts import Fact

LABELS_SHOWN: Final = 3  # a node's first labels stand in its row, the rest on its page
REVISION_SHOWN: Final = 8  # characters of a revision id in a list
ERROR_SHOWN: Final = 60  # characters of an apply error in a list; the node's page has it whole
POSTURE_MARKS: Final = {
    "serve": "ok",
    "wait": "",
    "isolated": "warn",
    "shed": "warn",
    "stuck": "critical",
}


def slow[T](fact: Fact, told: Told[T]) -> Fact:
    """A fact that a renewal does not change: stale when it cannot be asked."""
    if told.is_known:
        return fact
    if told.as_of is None:
        return facts.unknown(told.since)
    return fact.turned_stale(told.as_of)


def quick[T](fact: Fact, told: Told[T], *, text: str = "") -> Fact:
    """A fact that may have changed since: unknown when it cannot be asked."""
    if told.is_known:
        return fact
    if told.as_of is None:
        return facts.unknown(told.since, text=text)
    return fact.turned_unknown(told.since, told.as_of, text=text)


def roles(entry: NodeEntry) -> Fact:
    """What the node does."""
    said = entry.report.roles
    if said is None:
        return facts.unsaid()
    return facts.value(", ".join(said)) if said else facts.none()


def labels(entry: NodeEntry) -> Fact:
    """The first labels; the second line counts the others."""
    said = entry.report.labels
    if said is None:
        return facts.unsaid()
    if not said:
        return facts.none()
    pairs = label_words(said)
    more = len(pairs) - LABELS_SHOWN
    second = ", ".join(pairs[1:LABELS_SHOWN])
    if more > 0:
        second = f"{second}, {more} more"
    return facts.value(pairs[0], second, mono=True)


def label_words(said: Mapping[str, str]) -> list[str]:
    """Labels as people write them, sorted."""
    return [f"{key}={value}" for key, value in sorted(said.items())]


def seats_held(entry: NodeEntry) -> Fact:
    """From the seat leases, never from the node's own word."""
    held = len(entry.seats)
    return facts.number(held) if held else facts.none()


def turns(entry: NodeEntry) -> Fact:
    """Turns in flight as the node reports them."""
    said = entry.report.in_flight
    if said is None:
        return facts.unsaid()
    return facts.number(said) if said else facts.none()


def posture(entry: NodeEntry) -> Fact:
    """The node's own word; another build's word stays as it is, in ordinary ink."""
    said = entry.report.posture
    if said is None:
        return facts.unsaid()
    return facts.value(said, mark=POSTURE_MARKS.get(said, ""))


def presence(picture: Picture, entry: NodeEntry) -> Fact:
    """How the lease stands."""
    told = picture.presences
    if not told.is_known:
        held = facts.unknown(told.since, text="held for now", note="seen")
        return replace(held, note_moment=entry.renewed_at)
    if picture.is_late(entry.lease):
        return facts.value(
            "late,",
            "lapses",
            mark="stale",
            tone="warn",
            moment=entry.renewed_at,
            form="span",
            note_moment=entry.expires_at,
            note_form="in",
        )
    return facts.value("renewed", moment=entry.renewed_at)


def clip(text: str, shown: int) -> str:
    """The beginning of a text on one line; an ellipsis says that there is more."""
    whole = " ".join(text.split())
    return f"{whole[:shown].rstrip()}…" if len(whole) > shown else whole


def asks(placement: Placement) -> str:
    """What a seat asks of its node, as `node core-1, gpu=a100`; empty for any node."""
    parts = [f"node {placement.node}"] if placement.node is not None else []
    return ", ".join([*parts, *label_words(placement.labels or {})])


def lapsed(at: datetime | None, word: str = "lease lapsed") -> Fact:
    """What stands in a row whose node has gone, until the reader lets the row go."""
    return facts.value(word, mark="warn", moment=at, form="at")


def up_since(entry: NodeEntry) -> Fact:
    """When its process started, by its own word."""
    said = entry.report.started_at
    if said is None:
        return facts.unsaid()
    return facts.value("", moment=said, form="span", note_moment=said)


def short_revision(revision_id: str) -> str:
    """A revision id as a list shows it."""
    return revision_id[:REVISION_SHOWN]


def is_current(status: ConfigStatus, activation: Activation) -> bool:
    """Whether this node applied the active revision, at its epoch or a later one."""
    return status.status == "ok" and status.epoch >= activation.epoch


def config(picture: Picture, entry: NodeEntry) -> Fact:
    """The revision a node applied against the active one."""
    return slow(slow(_config(picture, entry), picture.statuses), picture.activation)


def _config(picture: Picture, entry: NodeEntry) -> Fact:
    status, active = entry.config, picture.activation.value
    if active is None and not picture.activation.is_known:
        return facts.unknown(picture.activation.since)
    if active is None or isinstance(active, Absent):
        return facts.none("none active")
    if status is None:
        return facts.unsaid("has not reported")
    applied = short_revision(status.revision_id)
    if status.status == "error":
        return facts.value("error", clip(status.error, ERROR_SHOWN), mark="critical")
    if status.status == "degraded":
        return facts.value("degraded", clip(status.error, ERROR_SHOWN) or applied, mark="warn")
    if is_current(status, active):
        return facts.value("current", applied, mark="ok")
    if status.status == "applying":
        return facts.value("applying", applied, mark="working")
    note = f"{applied or 'none'}, active {short_revision(active.revision_id)}"
    return facts.value("behind", note, mark="warn")
