"""Fresh claims at once through three members: how many are told "not held" that should not be.

    python -m bench.claims [--owners 100] [--each 100]

Each owner claims seats that nobody else wants, through the mixed-version gate, reads each back
through another member and renews it there: any "no" is wrong. Two references from the same run on
the same cluster: a bare nats-py client that reads from the leader and creates by compare-and-set
(how fast), and the same one reading back with the library's own get, which any replica answers (how
often that is told "not found").
"""

import argparse
import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

import nats
import uvloop
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from bench._report import Figure, report
from coordination.contract.store import Credentials
from coordination.jetstream.store import open_jetstream
from tests.support.claiming import Told, claim_at_once
from tests.support.cluster import Cluster

BUCKET = "crewlet_duties"  # kept like the leases, and watched by no gate


@dataclass(slots=True)
class Bare:
    """What the bare client was told."""

    rate: float = 0.0  # claims a second
    not_found: int = 0


async def bare_claims(clients: list[Client], domain: str, owners: int, each: int) -> Bare:
    """Leader read, create, and a read any replica answers, through another member."""
    told = Bare()
    contexts = [client.jetstream(domain=domain) for client in clients]

    async def one(at: int) -> None:
        js, other = contexts[at % len(contexts)], contexts[(at + 1) % len(contexts)]
        for number in range(each):
            subject = f"$KV.{BUCKET}.bare.b{at}-{number}"
            try:
                await js.get_last_msg(f"KV_{BUCKET}", subject)
            except NotFoundError:
                await js.publish(
                    subject, b"{}", headers={"Nats-Expected-Last-Subject-Sequence": "0"}, timeout=30
                )
            try:
                await other.get_last_msg(f"KV_{BUCKET}", subject, direct=True)
            except NotFoundError:
                told.not_found += 1

    began = time.perf_counter()
    await asyncio.gather(*(one(at) for at in range(owners)))
    told.rate = owners * each / (time.perf_counter() - began)
    return told


async def measure(owners: int, each: int) -> tuple[Told, float, Bare]:
    """Both on one cluster, the bare client first."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(Cluster(sync_interval="2m"))
        stores, clients = [], []
        for member in cluster.members:
            store = await open_jetstream(
                member.url,
                credentials=Credentials(user=cluster.user, password=cluster.password),
                domain=cluster.domain,
                replicas=len(cluster.members),
            )
            stack.push_async_callback(store.close)
            stores.append(store)
            client = await nats.connect(member.url, user=cluster.user, password=cluster.password)
            stack.push_async_callback(client.close)
            clients.append(client)
        bare = await bare_claims(clients, cluster.domain, owners, each)
        began = time.perf_counter()
        told = await claim_at_once(stores, owners=owners, each=each)
        return told, told.asked / (time.perf_counter() - began), bare


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--each", type=int, default=100)
    args = parser.parse_args()
    told, rate, bare = uvloop.run(measure(args.owners, args.each))
    for wrong in told.wrong[:10]:
        print(wrong)
    figures = [
        Figure(
            what=f'wrong "not held" of {told.asked:,} fresh claims',
            value=len(told.wrong),
            unit="claims",
            bar=0,
        ),
        Figure(
            what='"not found" for the bare client, which reads back from any replica',
            value=bare.not_found,
            unit="claims",
        ),
        Figure(what="claims that could not be asked", value=told.unknown, unit="claims"),
        Figure(
            what="gated claims, each read back and renewed, a second",
            value=rate,
            unit="claims",
            reference=bare.rate,
            against="a bare leader read, a create and a read back",
        ),
    ]
    report(f"{args.owners} owners claim {args.each} seats each through three members", figures)


if __name__ == "__main__":
    main()
