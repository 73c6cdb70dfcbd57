"""Opening buckets: adopting what stands, refusing what cannot be kept, telling what differs."""

import asyncio
import logging
from datetime import timedelta

import pytest
from nats.aio.client import Client

from coordination.errors import ConfigurationMismatch, InvalidRequest
from coordination.jetstream.broker import Broker
from coordination.jetstream.store import open_jetstream
from tests.jetstream.conftest import credentials_of
from tests.support.nats_server import NatsServer


@pytest.mark.parametrize(
    ("prefix", "replicas", "ttl"),
    [
        ("a.b", 1, 45.0),
        ("a:b", 1, 45.0),
        ("", 1, 45.0),
        ("ok", 0, 45.0),
        ("ok", 9, 45.0),
        ("ok", 1, 0.0),
        ("ok", 1, 0.05),
        ("ok", 1, -1.0),
    ],
)
async def test_what_no_broker_can_keep_is_the_callers_error(
    server: NatsServer, prefix: str, replicas: int, ttl: float
) -> None:
    with pytest.raises(InvalidRequest):
        await open_jetstream(
            server.url,
            credentials=credentials_of(server),
            prefix=prefix,
            replicas=replicas,
            lease_ttl=timedelta(seconds=ttl),
        )


async def test_a_lease_ttl_found_in_force_is_told_and_honoured(
    server: NatsServer, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    first = await open_jetstream(
        server.url,
        credentials=credentials_of(server),
        domain=server.domain,
        prefix=prefix,
        lease_ttl=timedelta(seconds=90),
    )
    assert "coord_kv_lease_ttl_differs" not in caplog.text
    second = await open_jetstream(
        server.url,
        credentials=credentials_of(server),
        domain=server.domain,
        prefix=prefix,
        lease_ttl=timedelta(seconds=30),
    )
    assert first.leases.ttl_in_force == second.leases.ttl_in_force == timedelta(seconds=90)
    assert "coord_kv_lease_ttl_differs" in caplog.text
    assert "0:01:30" in caplog.text
    await first.close()
    await second.close()


async def test_the_duties_age_is_raised_and_never_lowered(
    server: NatsServer, prefix: str, plain: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    js = plain.jetstream()
    await js.create_key_value(bucket=f"{prefix}_duties", ttl=1800)
    store = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )
    assert store.buckets.duties.age == timedelta(hours=3)
    config = (await js.stream_info(f"KV_{prefix}_duties")).config
    assert config.max_age == 3 * 3600
    assert config.num_replicas == 1
    assert "coord_kv_bucket_age_raised" in caplog.text
    await js.update_stream(config.evolve(max_age=6 * 3600))
    again = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )
    assert again.buckets.duties.age == timedelta(hours=6)
    await store.close()
    await again.close()


async def test_a_bucket_that_another_client_made_is_adopted_with_its_own_age(
    server: NatsServer, prefix: str, plain: Client
) -> None:
    await plain.jetstream().create_key_value(bucket=f"{prefix}_status", ttl=7)
    store = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=server.domain, prefix=prefix
    )
    assert store.buckets.status.age == timedelta(seconds=7)
    await store.close()


async def test_fewer_replicas_than_asked_refuse_the_start_naming_both_counts(
    server: NatsServer, prefix: str, plain: Client
) -> None:
    await plain.jetstream().create_key_value(bucket=f"{prefix}_leases", ttl=45)
    with pytest.raises(ConfigurationMismatch, match=r"kept by 1 replica.* for 3 .stream.replicas"):
        await open_jetstream(
            server.url,
            credentials=credentials_of(server),
            domain=server.domain,
            prefix=prefix,
            replicas=3,
        )


async def test_more_replicas_than_the_broker_has_members_is_a_mismatch(
    server: NatsServer, prefix: str
) -> None:
    with pytest.raises(ConfigurationMismatch, match=r"stream\.replicas"):
        await open_jetstream(
            server.url, credentials=credentials_of(server), prefix=prefix, replicas=3
        )


async def test_many_nodes_opening_at_once_share_one_set_of_buckets(
    server: NatsServer, prefix: str
) -> None:
    stores = await asyncio.gather(
        *(
            open_jetstream(
                server.url,
                credentials=credentials_of(server),
                domain=server.domain,
                prefix=prefix,
                lease_ttl=timedelta(seconds=40 + at),
            )
            for at in range(6)
        )
    )
    assert len({store.leases.ttl_in_force for store in stores}) == 1
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_store_survives_its_broker_restarting(own_server: NatsServer) -> None:
    """Buckets are on file: what was acknowledged is there after a crash."""
    store = await open_jetstream(
        own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    written = await store.buckets.config.put("k", b"1")
    await store.close()
    await own_server.restart(crash=True)
    again = await open_jetstream(
        own_server.url, credentials=credentials_of(own_server), domain=own_server.domain
    )
    (entry,) = (await again.buckets.config.listing(">", what="config")).entries
    assert entry.revision == written.revision
    await again.close()


async def test_the_accounts_own_jetstream_is_reached_without_a_domain(
    server: NatsServer, prefix: str
) -> None:
    store = await open_jetstream(
        server.url, credentials=credentials_of(server), domain=None, prefix=prefix
    )
    beside = await Broker.connect(
        server.url, credentials=credentials_of(server), domain=server.domain
    )
    await store.probe()
    await beside.close()
    await store.close()
