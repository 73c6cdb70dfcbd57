"""A node's broker, met with plain nats-py: faults and evidence that owe nothing to the product."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import nats
from nats.aio.client import Client
from nats.js.api import StreamConfig
from nats.js.errors import NotFoundError

from crewlet_site.home import Home
from crewlet_site.supervisor.broker import DOMAIN
from tests.support.running_node import RunningNode
from tests.support.waiting import eventually_blocking

RELOADED: Final = "Reloaded server configuration"


async def connect(node: RunningNode) -> Client:
    """A client of the node's embedded broker, signed in as its processes are."""
    home = Home(node.home)
    sign_in = home.broker_sign_in()
    assert sign_in is not None
    user, password = sign_in
    return await nats.connect(home.broker_url(), user=user, password=password)


def ask[T](node: RunningNode, act: Callable[[Client], Awaitable[T]]) -> T:
    """Run one act on a connection and a loop of its own; the browser keeps this thread's loop."""

    async def run() -> T:
        client = await connect(node)
        try:
            return await act(client)
        finally:
            await client.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run()).result(timeout=30)


def delete_stream(node: RunningNode, stream: str) -> StreamConfig:
    """Delete a stream under the running node; what it was, to be created again."""

    async def act(client: Client) -> StreamConfig:
        context = client.jetstream()
        config = (await context.stream_info(stream)).config
        assert await context.delete_stream(stream)
        return config

    return ask(node, act)


def create_stream(node: RunningNode, config: StreamConfig) -> None:
    """Create a stream again."""

    async def act(client: Client) -> None:
        await client.jetstream().add_stream(config)

    ask(node, act)


def last_sequence(node: RunningNode, stream: str) -> int:
    """How many messages a stream ever took."""

    async def act(client: Client) -> int:
        return (await client.jetstream().stream_info(stream)).state.last_seq

    return ask(node, act)


@contextmanager
def muted(node: RunningNode, *streams: str) -> Iterator[None]:
    """Every watch of these streams falls silent and none can be opened, though the broker answers.

    The broker is told to refuse consumers of these streams, and those that stand are deleted.
    """
    conf = Home(node.home).broker / "nats.conf"
    written = conf.read_text(encoding="utf-8")
    api = ("$JS.API", f"$JS.{DOMAIN}.API")
    refused = [f"{each}.CONSUMER.CREATE.{stream}.>" for each in api for stream in streams]
    try:
        _reload(node, conf, _permitting(written, refused))
        for stream in streams:
            ask(node, partial(_drop_consumers, stream=stream))
        yield
    finally:
        _reload(node, conf, _permitting(written, []))
        conf.write_text(written, encoding="utf-8")


def _permitting(written: str, refused: list[str]) -> str:
    denied = f", permissions: {{ publish: {{ deny: {json.dumps(refused)} }} }}" if refused else ""
    found = re.search(r"authorization \{ (.*) \}", written)
    assert found, "the broker's file names no user"
    return written.replace(found[0], f"authorization {{ users: [ {{ {found[1]}{denied} }} ] }}")


def _reload(node: RunningNode, conf: Path, text: str) -> None:
    log = Home(node.home).log / "broker.log"
    before = log.read_text(encoding="utf-8").count(RELOADED)
    conf.write_text(text, encoding="utf-8")
    os.kill(node.pids()["broker"], signal.SIGHUP)
    eventually_blocking(
        lambda: log.read_text(encoding="utf-8").count(RELOADED) > before,
        within=10,
        why="the broker read its file again",
    )


async def _drop_consumers(client: Client, *, stream: str) -> None:
    context = client.jetstream()
    for consumer in await context.consumers_info(stream):
        with suppress(NotFoundError):
            await context.delete_consumer(stream, consumer.name)
