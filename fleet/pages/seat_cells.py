"""The cells of a seat's row: records in, facts out. Pure."""

from typing import Final

from coordination.contract.pauses import Pause
from fleet.pages.cells import clip, quick, slow
from fleet.pages.dom import node_url
from fleet.services.picture import Picture
from fleet.services.placing import Fit
from fleet.services.standing import Effect, Standing, Word, effect_of
from runtime import facts
from runtime.facts import Fact

REASON_SHOWN: Final = 60  # characters of a reason in a list; the seat's page has it whole

type Column = tuple[str, str, Fact, str]
"""Name, label on a card, fact, classes."""


def agent_columns(picture: Picture, standing: Standing) -> tuple[Column, ...]:
    """An agent seat's facts."""
    told = picture.seats
    return (
        ("state", "State", state(picture, standing), "c-state"),
        ("holder", "Held by", quick(holder(standing), told), "d3 tight"),
        ("since", "Held since", slow(held_since(standing), told), "d1"),
        ("turn", "Turn", quick(quick(turn(standing), picture.presences), told), "d2 tight"),
        ("paused", "Paused", quick(paused(standing), picture.pauses), "wide"),
    )


def person_columns() -> tuple[Column, ...]:
    """A person's seat: nodes have nothing to do with it."""
    not_held = facts.none("nobody")
    return (
        ("state", "State", facts.value("person", tone="quiet"), "c-state"),
        ("holder", "Held by", not_held, "d3"),
        ("since", "Held since", facts.none("not held"), "d1"),
        ("turn", "Turn", facts.none("runs none"), "d2"),
        ("paused", "Paused", facts.none("cannot be paused"), "wide"),
    )


def state(picture: Picture, standing: Standing) -> Fact:
    """One word and its evidence; unknown as soon as one of its sources is."""
    fact = known_state(standing)
    for told in (picture.pauses, picture.seats, picture.presences):
        fact = quick(fact, told)
    return fact


def known_state(standing: Standing) -> Fact:
    """The word when every source answered."""
    match standing.word:
        case Word.PAUSED:
            return facts.value(
                "stopped, paused", effect_words(standing), mark="paused", tone="warn"
            )
        case Word.UNPLACED:
            return facts.value(
                "stopped, no holder", "cannot be placed", mark="stopped", tone="warn"
            )
        case Word.UNHELD:
            note = "may be placed" if standing.fit is Fit.YES else "placement not said"
            return facts.value("stopped, no holder", note, mark="stopped", tone="warn")
        case Word.IDLE:
            return facts.value("idle", mark="idle")
        case Word.PERSON:
            return facts.value("person", tone="quiet")
        case Word.UNSAID:
            return facts.unsaid()


def effect_words(standing: Standing) -> str:
    """How far the pause has come, under its word."""
    effect = effect_of(standing)
    return "turn not said" if effect is Effect.UNSAID else effect.value


def holder(standing: Standing) -> Fact:
    """The node that holds it."""
    if standing.lease is None:
        return facts.none("nobody")
    return facts.value(standing.node, mono=True, link=node_url(standing.node))


def held_since(standing: Standing) -> Fact:
    """When this tenure began; an older build's record does not say."""
    if standing.lease is None:
        return facts.none("not held")
    at = standing.lease.acquired_at
    if at is None:
        return facts.unsaid()
    moment = at.as_datetime()
    return facts.value("", moment=moment, form="span", note_moment=moment)


def turn(standing: Standing) -> Fact:
    """None where the holder runs none at all; which seat runs one, nodes do not say."""
    if standing.lease is None:
        return facts.none()
    running = standing.holder.report.in_flight if standing.holder else None
    return facts.none() if running == 0 else facts.unsaid()


def paused(standing: Standing) -> Fact:
    """Who, when, and the beginning of why."""
    pause = standing.pause
    if pause is None:
        return facts.none("not paused")
    return facts.value(
        f"by {pause.by},",
        clip(pause.reason, REASON_SHOWN) or "no reason given",
        moment=pause.at.as_datetime(),
        after="turn asked to stop" if pause.stop_running else "",
    )


def asked_of_turn(pause: Pause) -> str:
    """What the pause asked of a running turn; never that it stopped."""
    if pause.stop_running:
        return "asked to stop at its next round"
    return "left to finish; asked for no stop"
