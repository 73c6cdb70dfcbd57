"""A company and a fleet of any size: the document's text, and the records as nodes write them.

The records go to the broker by plain pipelined publishes, so that a page of 10,000 leases is
measured and not the disk under 10,000 claims.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event
from typing import Any, Final, Self

import nats
import uvloop
from nats.aio.client import Client

from coordination.contract.records import LeaseRecord, PauseRecord, StatusRecord, encode
from coordination.rules.instants import Instant, nanos_of
from coordination.rules.keys import Resource, key_of
from coordination.rules.leases import PROTOCOL

IN_FLIGHT: Final = 256
PACE: Final = 0.005  # seconds between two looks at what is due to be renewed
TRADES: Final = (
    ("pm", "Product manager"),
    ("eng", "Backend engineer"),
    ("web", "Web engineer"),
    ("sup", "Customer support"),
    ("ml", "Model training"),
    ("qa", "Quality assurance"),
    ("fin", "Accounts payable"),
    ("ops", "Site operations"),
)
NAMES: Final = ("Ada", "Bo", "Cleo", "Dev", "Eda", "Finn", "Gus", "Hana", "Ines", "Jun", "Kai")
REASONS: Final = ("Vendor incident, waiting for their fix", "Reviewing last night's refunds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the broker is and how to sign in."""

    url: str
    user: str
    password: str
    domain: str = "crewlet"

    async def connect(self, name: str) -> Client:
        """A plain connection."""
        return await nats.connect(self.url, user=self.user, password=self.password, name=name)


def handle_of(at: int) -> str:
    """The handle of seat number `at`."""
    name = NAMES[at % len(NAMES)].lower()
    return f"{name}-{TRADES[at % len(TRADES)][0]}-{at:05d}"


def node_id_of(at: int) -> str:
    """The id of node number `at`."""
    return f"fleet-{at:04d}"


def company_document(seats: int) -> str:
    """A company document of that many agent seats and three people."""
    lines = [
        "name: Harbourline",
        "timezone: Europe/Berlin",
        "token_budget: {day: 5_000_000_000, week: 12_000_000_000}",
        "pause: {require_reason: true}",
        "seats:",
    ]
    for at in range(seats):
        trade, role = TRADES[at % len(TRADES)]
        lines += [
            f"  - handle: {handle_of(at)}",
            f"    name: {NAMES[at % len(NAMES)]} {at}",
            f"    role: {role}",
            "    kind: agent",
            "    token_budget: {day: 400_000, week: 1_500_000}",
        ]
        if trade == "ml":
            lines.append("    placement: {labels: {gpu: l40s}}")
    for name in ("mira", "jonas", "petra"):
        lines.append(f"  - {{handle: {name}, name: {name.title()}, role: Founder, kind: person}}")
    return "\n".join(lines) + "\n"


type Record = tuple[str, bytes]
"""A subject and the body under it."""


def presence(at: int, ttl: timedelta, now: datetime) -> Record:
    """A node's presence with its report; one in a hundred is silent, one in fifty drains."""
    node = node_id_of(at)
    meta: dict[str, Any] = {
        "roles": ["data", "ingress", "seats", "workers"],
        "labels": {"gpu": "l40s", "zone": f"z{at % 3}"} if at % 4 == 0 else {"zone": f"z{at % 3}"},
        "broker": "client",
    }
    if at % 100 != 99:
        meta["status"] = {
            "in_flight": at % 7,
            "draining": at % 50 == 49,
            "posture": "serve",
            "started_at": (now - timedelta(hours=at % 400)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    return _lease(f"node:{node}", node, ttl, now, meta)


def seat(at: int, nodes: int, ttl: timedelta, now: datetime) -> Record:
    """A seat's lease, held by one of that many nodes."""
    return _lease(f"seat:{handle_of(at)}", node_id_of(at % nodes), ttl, now, {})


def status(at: int, epoch: int, now: datetime) -> Record:
    """A node's word on which configuration it applied."""
    record = StatusRecord(epoch=epoch, status="ok", updated_at=Instant.of(now))
    node = node_id_of(at)
    return f"$KV.crewlet_status.{key_of(node)}", encode(record, subject=node)


def pause(handle: str, *, reason: str, now: datetime | None = None) -> Record:
    """A seat's pause."""
    at = Instant.of(now or datetime.now(UTC))
    record = PauseRecord(handle=handle, by="jonas", at=at, reason=reason)
    return f"$KV.crewlet_positions.{key_of('seat_pause', handle)}", encode(record, subject=handle)


def whole_fleet(*, nodes: int, seats: int, pauses: int, ttl: timedelta) -> Iterator[Record]:
    """Every record of a fleet of that size."""
    now = datetime.now(UTC)
    for at in range(nodes):
        yield presence(at, ttl, now)
        yield status(at, 1, now)
    for at in range(seats):
        yield seat(at, nodes, ttl, now)
    for at in range(pauses):
        handle = handle_of(at * 97 % seats)
        yield pause(handle, reason=REASONS[at % len(REASONS)], now=now)


async def write(client: Client, domain: str, records: Iterable[Record]) -> int:
    """Publish them, `IN_FLIGHT` at a time, each acknowledged; how many there were."""
    js = client.jetstream(domain=domain)
    room = asyncio.Semaphore(IN_FLIGHT)
    count = 0

    async def put(record: Record) -> None:
        try:
            await js.publish(*record, timeout=30)
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        for record in records:
            await room.acquire()
            group.create_task(put(record))
            count += 1
    return count


def _lease(resource: str, node: str, ttl: timedelta, now: datetime, meta: dict[str, Any]) -> Record:
    record = LeaseRecord(
        resource=resource,
        owner=f"{node}:node-8f2a6c",
        epoch=1,
        ttl_ns=nanos_of(ttl),
        acquired_at=Instant.of(now),
        preferred=node,
        protocol=PROTOCOL,
        meta=meta,
    )
    key = Resource.parse(resource).key
    return f"$KV.crewlet_leases.{key}", encode(record, subject=resource)


class Renewing:
    """Renews the seats in turn at a steady rate, from a process of its own, while it is entered."""

    def __init__(
        self, address: Address, *, seats: int, nodes: int, ttl: timedelta, rate: float
    ) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._ended = spawn.Event()
        self._rate = rate
        self._process = spawn.Process(
            target=_renew, args=(address, seats, nodes, ttl, rate, self._ended), daemon=True
        )

    def __enter__(self) -> Self:
        """Start it, unless the rate is zero."""
        if self._rate:
            self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it; it says what it reached."""
        self._ended.set()
        if self._rate:
            self._process.join()


def _renew(
    address: Address, seats: int, nodes: int, ttl: timedelta, rate: float, ended: Event
) -> None:
    async def run() -> None:
        client = await address.connect("bench-renewals")
        js = client.jetstream(domain=address.domain)
        waiting: set[asyncio.Task[object]] = set()
        began = time.perf_counter()
        count = 0
        while not ended.is_set():
            due = int((time.perf_counter() - began) * rate)
            for at in range(count, due):
                record = seat(at % seats, nodes, ttl, datetime.now(UTC))
                task: asyncio.Task[object] = asyncio.create_task(js.publish(*record, timeout=30))
                waiting.add(task)
                task.add_done_callback(waiting.discard)
            count = due
            await asyncio.sleep(PACE)
        if waiting:
            await asyncio.wait(waiting)
        took = time.perf_counter() - began
        print(f"{count:,} renewals in {took:.1f} s: {count / took:,.0f} a second")
        await client.close()

    uvloop.run(run())
