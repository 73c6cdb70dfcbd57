"""The NATS backend over a leaf link: handles connect to a server that stores nothing itself.

The leaf is joined to the shared server as a node of a company joins its broker; every request for
the domain passes the link.
"""

from dataclasses import dataclass
from typing import override

import pytest

from tests.contract.backends import Certified, register
from tests.contract.broker import LEAF_PORT, BrokerBackend, shared_server
from tests.contract.cases import Scope
from tests.support.nats_server import NatsServer
from tests.support.waiting import eventually_blocking

_SHARED: list[NatsServer] = []


def shared_leaf() -> NatsServer:
    """The one leaf, joined to the shared server."""
    if not _SHARED:
        hub = shared_server()
        link = f"nats-leaf://{hub.user}:{hub.password}@127.0.0.1:{LEAF_PORT}"
        leaf = NatsServer(
            name="leaf",
            user=hub.user,
            password=hub.password,
            jetstream=False,
            extra=f'leafnodes: {{ remotes: [ {{ url: "{link}" }} ] }}',
        )
        _SHARED.append(leaf)
        leaf.start_blocking()
        joined = "Leafnode connection created"
        eventually_blocking(lambda: joined in leaf.log, within=20, why="the leaf joins its hub")
    return _SHARED[0]


def dispose() -> None:
    """End the leaf."""
    while _SHARED:
        _SHARED.pop().dispose()


@dataclass(kw_only=True)
class LeafBackend(BrokerBackend):
    """A prefix of its own on the shared server, each handle behind the leaf."""

    @override
    def door(self, index: int) -> NatsServer:
        return shared_leaf()


def register_leaf() -> None:
    """Certify the NATS backend over a leaf link."""
    register(
        Certified(
            name="jetstream-leaf",
            factory=LeafBackend,
            scopes=frozenset({Scope.BOTH, Scope.KV, Scope.LEAF}),
            marks=(pytest.mark.broker,),
        )
    )
