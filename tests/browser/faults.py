"""What befalls a broker, each as a block: it fails at the start and is back at the end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from crewlet_site.home import Home
from tests.browser.plain_broker import create_stream, delete_stream
from tests.support.nats_server import stop_still
from tests.support.running_node import RunningNode

LEASES: Final = "KV_crewlet_leases"


@contextmanager
def paused(node: RunningNode) -> Iterator[None]:
    """It holds every connection and answers none; `up` leaves it alone."""
    pid = node.pids()["broker"]
    stop_still(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def killed(node: RunningNode) -> Iterator[None]:
    """It dies, and cannot be started while its file is away; `up` goes on trying."""
    said = len(node.said)
    conf = Home(node.home).broker / "nats.conf"
    away = conf.with_suffix(".away")
    conf.rename(away)
    os.kill(node.pids()["broker"], signal.SIGKILL)
    try:
        yield
    finally:
        away.rename(conf)
        node.await_said("broker is back after", after=said)


@contextmanager
def without_leases(node: RunningNode) -> Iterator[None]:
    """It is up and answers, but the stream of one bucket is gone."""
    config = delete_stream(node, LEASES)
    try:
        yield
    finally:
        create_stream(node, config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to fail.

    Attributes:
        befall: fails a node's broker for as long as the block runs.
        still_known: keys of facts whose bucket still answers, as an expression.
        is_silent: whether the store answers nothing at all.
    """

    befall: Callable[[RunningNode], AbstractContextManager[None]]
    is_silent: bool = True
    still_known: str = r"(?!)"


FAULTS: Final = {
    "paused": Fault(befall=paused),
    "killed": Fault(befall=killed),
    "without its leases": Fault(
        befall=without_leases,
        is_silent=False,
        still_known=r"-(paused|config)$|(pause|node-config|node-duties)-title/|/column 2$",
    ),
}
