"""BKT-01 to BKT-04, BKT-08, BKT-09, BKT-12 and BKT-13: opening buckets, and how long they keep."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from coordination.errors import ConfigurationMismatch, InvalidRequest, Unavailable
from coordination.jetstream.link import Link
from coordination.rules import retention
from coordination.rules.leases import DEFAULT_LEASE_TTL, MAX_DUTY_TTL
from coordination.rules.retention import every_bucket
from tests.contract.backends import Backend
from tests.contract.broker import BrokerBackend
from tests.contract.cases import case
from tests.contract.filing import bucket_of
from tests.contract.opening import age_of, open_through, wire_to
from tests.contract.terms import HOUR, LONG, MINUTE, SECOND
from tests.support.nats_server import free_port
from tests.support.wire import Frame

DAY = 24 * HOUR
WRITE_TERM = 15.0  # seconds one lost request may cost a write on a clustered broker
# Every bucket, in the order they are opened, and the age it has in production.
PRODUCTION = {
    "leases": 45 * SECOND,
    "duties": 3 * HOUR,
    "epochs": None,
    "rate": 3 * SECOND,
    "claims": 30 * MINUTE,
    "ledger": 7 * DAY,
    "cooldowns": 24 * HOUR,
    "status": 60 * SECOND,
    "config": None,
    "budgets": 32 * DAY,
    "channels": None,
    "follows": 90 * DAY,
    "fires": 7 * DAY,
    "rebases": 30 * DAY,
    "sandbox_runs": None,
    "secrets": None,
    "integrations": None,
    "mailboxes": None,
    "objects": None,
    "custody": 32 * DAY,
    "positions": None,
}


@case("BKT-01", scope="kv")
@pytest.mark.parametrize(
    "options",
    [
        {"lease_ttl": timedelta(0)},
        {"lease_ttl": timedelta(milliseconds=50)},
        {"lease_ttl": -SECOND},
        {"prefix": "a.b"},
        {"prefix": "a:b"},
        {"replicas": 9},
    ],
    ids=str,
)
async def test_what_no_broker_can_keep_is_refused_and_nothing_is_created(
    wired: BrokerBackend, options: dict[str, Any]
) -> None:
    wire = await wire_to(wired)
    with pytest.raises(InvalidRequest):
        await open_through(wired, wire.url, **options)
    assert wire.count(r"\.STREAM\.") == 0
    assert await wired.streams() == []


@case("BKT-01", scope="kv", definite=False)
async def test_a_broker_that_is_not_there_is_an_error(wired: BrokerBackend) -> None:
    await wired.begin()
    with pytest.raises(Unavailable, match="no broker answers"):
        await open_through(wired, f"nats://127.0.0.1:{free_port()}", connect_within=SECOND)
    assert wired.tally.unknown == 1


@case("BKT-02", scope="kv")
async def test_the_lease_ttl_in_force_is_adopted_and_a_warning_names_it(
    wired: BrokerBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    wire = await wire_to(wired)
    first = await open_through(wired, wire.url, lease_ttl=90 * SECOND)
    assert "coord_kv_lease_ttl_differs" not in caplog.text
    second = await open_through(wired, wire.url, lease_ttl=30 * SECOND)
    assert first.leases.ttl_in_force == second.leases.ttl_in_force == 90 * SECOND
    assert await age_of(wired, "leases") == 90
    (warning,) = [line for line in caplog.messages if "coord_kv_lease_ttl_differs" in line]
    assert f"in_force={90 * SECOND}" in warning
    assert f"this_node={30 * SECOND}" in warning
    assert wire.count(r"\.STREAM\.UPDATE\.") == 0


@case("BKT-03", scope="kv")
@pytest.mark.parametrize("suffix", ["leases", "claims", "follows", "mailboxes"])
async def test_a_bucket_made_with_another_age_keeps_it_and_says_so(
    wired: BrokerBackend, suffix: str
) -> None:
    wire = await wire_to(wired)
    await (await wired.js()).create_key_value(bucket=f"{wired.prefix}_{suffix}", ttl=60)
    store = await open_through(wired, wire.url, lease_ttl=LONG, replicas=1)
    assert bucket_of(store, suffix).age == MINUTE
    assert await age_of(wired, suffix) == 60
    asked = {kept.suffix: kept.age for kept in every_bucket(LONG)}
    assert asked[suffix] != MINUTE


@case("BKT-04", scope="kv")
@pytest.mark.parametrize("suffix", ["leases", "positions"])
async def test_too_few_replicas_refuse_the_start_naming_both_counts_and_the_setting(
    wired: BrokerBackend, suffix: str
) -> None:
    wire = await wire_to(wired)
    js = await wired.js()
    for kept in every_bucket(LONG):
        await js.create_key_value(
            bucket=f"{wired.prefix}_{kept.suffix}",
            replicas=1 if kept.suffix == suffix else wired.replicas,
        )
    with pytest.raises(ConfigurationMismatch) as refused:
        await open_through(wired, wire.url, replicas=3)
    said = str(refused.value)
    assert "1 replica(s)" in said
    assert "configured for 3" in said
    assert "stream.replicas" in said
    assert (await js.stream_info(wired.stream(suffix))).config.num_replicas == 1
    assert wire.count(r"\.STREAM\.(CREATE|UPDATE)\.") == 0


@case("BKT-08", scope="kv")
async def test_a_lost_look_up_is_asked_once_more_and_opens_well_under_a_writes_term(
    wired: BrokerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await wire_to(wired)
    await open_through(wired, first.url)
    monkeypatch.setattr(Link, "clustered", property(lambda _: True))
    wire = await wire_to(wired)
    look_up = rf"\.STREAM\.INFO\.{wired.stream('claims')}$"
    wire.losers.append(lambda frame: wire.count(look_up) != 1 or "_claims" not in frame.subject)
    loop = asyncio.get_running_loop()
    began = loop.time()
    store = await open_through(wired, wire.url)
    assert loop.time() - began < WRITE_TERM / 2
    assert wire.count(look_up) == 2
    assert wire.count(r"\.STREAM\.CREATE\.") == 0
    assert bucket_of(store, "claims").name == f"{wired.prefix}_claims"


@case("BKT-09", scope="kv", definite=False)
@pytest.mark.parametrize(
    ("err_code", "said"),
    [
        (10047, "insufficient storage resources available"),
        (10028, "insufficient memory resources available"),
    ],
)
async def test_a_create_refused_for_lack_of_room_is_the_brokers_own_error_at_once(
    wired: BrokerBackend, err_code: int, said: str
) -> None:
    wire = await wire_to(wired)
    body = b'{"error":{"code":500,"err_code":%d,"description":"%s"}}' % (err_code, said.encode())
    wire.answerers.append(lambda frame: body if ".STREAM.CREATE." in frame.subject else None)
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(Unavailable, match=rf"{said}.*{err_code}") as refused:
        await open_through(wired, wire.url)
    assert loop.time() - began < 2
    assert wire.count(r"\.STREAM\.CREATE\.") == 1
    assert wired.stores == []
    assert "does not appear" not in str(refused.value)
    assert "not found" not in str(refused.value)
    assert await wired.streams() == []


@case("BKT-12", scope="kv")
async def test_every_bucket_is_created_in_order_with_the_age_its_retention_has(
    wired: BrokerBackend,
) -> None:
    wire = await wire_to(wired)
    created: list[str] = []

    def note(frame: Frame) -> None:
        if ".STREAM.CREATE." in frame.subject:
            created.append(frame.subject.rpartition(".")[2])

    wire.answerers.append(note)
    store = await open_through(wired, wire.url)
    assert created == [wired.stream(suffix) for suffix in PRODUCTION]
    assert sorted(await wired.streams()) == sorted(created)
    ages = {suffix: await age_of(wired, suffix) for suffix in PRODUCTION}
    assert ages == {suffix: age.total_seconds() if age else 0 for suffix, age in PRODUCTION.items()}
    assert {suffix: bucket_of(store, suffix).age for suffix in PRODUCTION} == PRODUCTION
    assert PRODUCTION["leases"] == DEFAULT_LEASE_TTL


@case("BKT-13")
async def test_every_age_outlives_what_it_is_sized_from(backend: Backend) -> None:
    (store,) = await backend.open(lease_ttl=DEFAULT_LEASE_TTL)
    await store.status.list()

    def age(suffix: str) -> timedelta:
        found = bucket_of(store, suffix).age
        assert found is not None
        return found

    assert age("status") == 4 * retention.RECONCILE_INTERVAL
    assert age("status") > retention.RECONCILE_INTERVAL == 15 * SECOND
    for suffix in ("ledger", "fires"):
        assert age(suffix) > retention.CATCH_UP_CEILING == 2 * HOUR
    assert age("duties") == MAX_DUTY_TTL == retention.MARKER_RETENTION
    assert age("follows") > retention.QUIET_THREAD == 30 * DAY
    assert age("claims") == retention.MAX_CLAIM_TTL
    assert age("cooldowns") >= retention.LONGEST_COOLDOWN == DAY
    assert age("rate") > retention.RATE_WINDOW == SECOND
    assert age("budgets") > retention.LONGEST_WINDOW + HOUR
    assert age("custody") > retention.EVENT_LOG_KEPT == 31 * DAY
    assert age("rebases") == retention.OPERATIONS_KEPT
    assert age("leases") == store.leases.ttl_in_force == DEFAULT_LEASE_TTL
