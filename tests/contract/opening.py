"""Opening a store the way a case says, through a wire of its own, and counting what came of it."""

from typing import Any

import coordination
from coordination.contract.store import Credentials
from coordination.errors import ConfigurationMismatch, InvalidRequest, Unavailable
from coordination.jetstream.broker import Broker
from coordination.jetstream.store import JetStreamStore
from tests.contract.broker import BrokerBackend
from tests.support.wire import Wire


def credentials(wired: BrokerBackend) -> Credentials:
    """How this backend's handles sign in."""
    return Credentials(user=wired.server.user, password=wired.server.password)


async def wire_to(wired: BrokerBackend) -> Wire:
    """One more way to the server of this backend, which closes it."""
    await wired.begin()
    wire = await Wire.open("127.0.0.1", wired.door(0).port)
    wired.wires.append(wire)
    return wire


async def open_through(wired: BrokerBackend, url: str, **options: Any) -> JetStreamStore:
    """Open a store; the backend closes it. A refusal to open is a no, silence an unknown."""
    asked: dict[str, Any] = {
        "credentials": credentials(wired),
        "domain": wired.server.domain,
        "replicas": wired.replicas,
        "prefix": wired.prefix,
        **options,
    }
    try:
        store = await coordination.open_jetstream(url, **asked)
    except (InvalidRequest, ConfigurationMismatch):
        wired.tally.no += 1
        raise
    except Unavailable:
        wired.tally.unknown += 1
        raise
    wired.tally.yes += 1
    wired.stores.append(store)
    return store


async def connect_broker(wired: BrokerBackend, wire: Wire) -> Broker:
    """A connection alone, without any bucket; whoever asks closes it."""
    return await Broker.connect(
        wire.url, credentials=credentials(wired), domain=wired.server.domain, name="premise"
    )


async def age_of(wired: BrokerBackend, suffix: str) -> float:
    """The seconds the broker itself keeps a bucket's messages; 0 for ever."""
    info = await (await wired.js()).stream_info(wired.stream(suffix))
    return info.config.max_age or 0
