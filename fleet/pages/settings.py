"""Settings › Nodes: what differs between nodes and would hurt later."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fleet.pages import cells, dom
from fleet.pages.banner import Banner, membership_banner
from fleet.pages.board import Tag, node_tags
from fleet.pages.dom import Cell
from fleet.pages.query import ListQuery, Window, cut_window
from fleet.services.index import NodeEntry
from fleet.services.picture import Picture
from runtime import facts
from runtime.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRow:
    """One node's settings."""

    id: str
    node: str
    url: str
    tags: tuple[Tag, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage:
    """The table and how many of its cells differ from the fleet's usual answer."""

    blank: Banner | None
    banner: Banner
    query: ListQuery
    window: Window[SettingsRow]
    differences: Fact


def draw_settings(picture: Picture, query: ListQuery) -> SettingsPage:
    """The whole page; differences are counted over every node, shown or not."""
    entries = [picture.index.nodes[node] for node in picture.live_nodes]
    usual = _usual(entries)
    window = cut_window(entries, query.page, len(entries))
    differing = sum(
        fact.mark == "warn" for entry in entries for _, _, fact in _columns(entry, usual)
    )
    banner = membership_banner(picture)
    return SettingsPage(
        blank=banner if picture.is_blank and not picture.presences.is_known else None,
        banner=banner,
        query=query,
        window=Window(
            rows=tuple(_row(picture, entry, usual) for entry in window.rows),
            matching=window.matching,
            total=window.total,
            page=window.page,
            pages=window.pages,
        ),
        differences=cells.quick(_differences(differing), picture.presences),
    )


def _differences(count: int) -> Fact:
    if not count:
        return facts.none("no differences")
    return facts.value(f"{count} difference{'' if count == 1 else 's'}", mark="warn", tone="warn")


def _usual(entries: Sequence[NodeEntry]) -> Mapping[str, object]:
    """The commonest build and protocol: a node that has another one is named."""
    builds = Counter(entry.report.build for entry in entries if entry.report.build)
    protocols = Counter(entry.lease.protocol for entry in entries)
    return {
        "build": builds.most_common(1)[0][0] if builds else None,
        "protocol": protocols.most_common(1)[0][0] if protocols else None,
    }


def _columns(entry: NodeEntry, usual: Mapping[str, object]) -> tuple[tuple[str, str, Fact], ...]:
    return (
        ("ttl", "Lease TTL", _ttl(entry)),
        ("replicas", "Stream replicas", _replicas(entry)),
        ("coordination", "Coordination", _word(entry.report.coordination)),
        ("build", "Build", _compared(entry.report.build, usual["build"], "most run")),
        ("protocol", "Lease protocol", _protocol(entry, usual["protocol"])),
    )


_NARROW_WITHOUT: Final = frozenset({"coordination", "protocol"})


def _row(picture: Picture, entry: NodeEntry, usual: Mapping[str, object]) -> SettingsRow:
    row = dom.row_id("node", entry.node)
    return SettingsRow(
        id=row,
        node=entry.node,
        url=dom.node_url(entry.node),
        tags=node_tags(picture, entry),
        cells=tuple(
            Cell(
                id=f"{row}-{name}",
                label=label,
                fact=cells.slow(fact, picture.presences),
                css="d3" if name in _NARROW_WITHOUT else "",
            )
            for name, label, fact in _columns(entry, usual)
        ),
    )


def _ttl(entry: NodeEntry) -> Fact:
    in_force, asked = entry.lease.ttl, entry.report.lease_ttl
    if asked is None:
        return facts.value(_seconds(in_force), "its file: did not say")
    if asked != in_force:
        return facts.value(
            f"runs at {_seconds(in_force)}",
            f"file says {_seconds(asked)}",
            mark="warn",
            tone="warn",
        )
    return facts.value(_seconds(in_force), f"file says {_seconds(asked)}")


def _replicas(entry: NodeEntry) -> Fact:
    wanted, has = entry.report.replicas, entry.report.bucket_replicas
    if wanted is None:
        return facts.unsaid()
    if has is None:
        return facts.value(str(wanted), "what its file asks for")
    if has != wanted:
        return facts.value(f"wants {wanted}", f"bucket has {has}", mark="warn", tone="warn")
    return facts.value(str(wanted), f"bucket has {has}")


def _protocol(entry: NodeEntry, usual: object) -> Fact:
    return _compared(str(entry.lease.protocol), str(usual), "most speak")


def _compared(said: str | None, usual: object, words: str) -> Fact:
    if said is None:
        return facts.unsaid()
    if usual is not None and said != usual:
        return facts.value(said, f"{words} {usual}", mark="warn", tone="warn")
    return facts.value(said)


def _word(said: str | None) -> Fact:
    return facts.value(said) if said else facts.unsaid()


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g} s"
