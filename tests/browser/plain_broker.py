"""A node's broker, met with plain nats-py: faults and evidence that owe nothing to the product."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import nats
from nats.aio.client import Client
from nats.errors import TimeoutError as NoAnswer
from nats.js.api import ConsumerInfo, StreamConfig
from nats.js.errors import NotFoundError

from crewlet_site.home import Home
from tests.support.running_node import RunningNode
from tests.support.waiting import eventually_blocking


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
    """Delete every consumer of these streams as it appears: watches are open and hear nothing."""
    stopped = threading.Event()

    async def drop(client: Client, stream: str, name: str) -> None:
        with suppress(NotFoundError, NoAnswer):
            await client.jetstream().delete_consumer(stream, name)

    async def keep_muting() -> None:
        client = await connect(node)
        context = client.jetstream()

        async def told(message: object) -> None:
            *_, stream, name = getattr(message, "subject", "").split(".")
            await drop(client, stream, name)

        for stream in streams:
            await client.subscribe(f"$JS.EVENT.ADVISORY.CONSUMER.CREATED.{stream}.*", cb=told)
        while not stopped.is_set():
            for stream in streams:
                standing: list[ConsumerInfo] = await context.consumers_info(stream)
                for consumer in standing:
                    await drop(client, stream, consumer.name)
            await asyncio.sleep(0.02)
        await client.close()

    thread = threading.Thread(target=lambda: asyncio.run(keep_muting()), name="muting")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(timeout=30)
        eventually_blocking(lambda: not thread.is_alive(), why="the muting ended")
