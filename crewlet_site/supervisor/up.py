"""`./crewlet up`: one node, from an empty directory to a served page, until a signal."""

import http.client
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from crewlet_site import keyring
from crewlet_site.home import Home
from crewlet_site.supervisor import broker, first_boot, lock, ping, preparation
from crewlet_site.supervisor.broker_disk import BrokerDisk
from crewlet_site.supervisor.children import Child, Spec, manage
from crewlet_site.supervisor.lines import Step, say
from crewlet_site.supervisor.nats_wire import Address, NotAnswering, ask
from crewlet_site.supervisor.watch import Supervisor


def run() -> None:
    """Prepare, start, watch, drain.

    Raises:
        StartRefused: with the one sentence to show.
    """
    began = time.monotonic()
    # What children and databases write is for this user alone.
    os.umask(0o077)
    # The terminal is for lines; what happened in detail is in each child's log.
    logging.getLogger().setLevel(logging.WARNING)
    home: Home = settings.HOME
    say(f"Starting {settings.NODE_ID} in {home.root}")
    is_embedded = settings.BOOTSTRAP.stream.is_embedded
    binary = broker.find_binary(settings.ENVIRONMENT.nats_server) if is_embedded else None
    with Step("home") as step:
        held = _take_home(home)
        step.detail = "locked, databases and static files ready"
    broker_specs = _broker_specs(home, binary)
    with Step("first boot") as step:
        first = first_boot.prepare(home, settings.ENVIRONMENT)
        step.detail = first.summary
    specs = [*broker_specs, *_own_processes(home)]
    children = [_child(home, spec, held) for spec in specs]
    supervisor = Supervisor(home, children, deaf_after=settings.LEASE_TTL.total_seconds())
    supervisor.listen()
    try:
        supervisor.start()
        if not supervisor.is_stopping:
            _announce(time.monotonic() - began, first.link)
        supervisor.watch()
    finally:
        say("Draining (a second signal ends everything at once)")
        supervisor.drain()
    say("Stopped")


def _take_home(home: Home) -> int:
    preparation.make_directories(home)
    held = lock.take(home)
    preparation.judge_port(settings.HTTP_HOST, settings.HTTP_PORT)
    preparation.sweep_leftovers(home)
    if settings.CREWLET_KEYRING.is_ephemeral:
        with preparation.disk_faults(home):
            keyring.mint(home.root)
    preparation.migrate(home)
    preparation.collect_static(home)
    return held


def _broker_specs(home: Home, binary: Path | None) -> list[Spec]:
    stream = settings.BOOTSTRAP.stream
    if binary is not None:
        return [_embedded(home, binary)]
    with Step("broker") as step:
        address = Address(
            url=stream.url, user=stream.user, password=stream.password, token=stream.token
        )
        server = broker.judge_external(address)
        step.detail = f"nats-server {server.version} at {address.url}, not ours to run"
    return []


def _embedded(home: Home, binary: Path) -> Spec:
    stream = settings.BOOTSTRAP.stream
    if stream.keeps_nothing:
        store = broker.empty_scratch(home)
        say("  broker     keeps nothing: stream.store_dir is empty, a restart forgets all")
    else:
        store = stream.store_dir or home.broker / "store"
    with preparation.disk_faults(home):
        address = broker.prepare(home, settings.NODE_ID, store)
    disk = BrokerDisk(home.log / "broker.log", store)
    return Spec(
        name="broker",
        argv=(str(binary), "--config", str(home.broker / "nats.conf")),
        is_ready=lambda: _asks(address, 1.0),
        answers=lambda: _asks(address, 1.0),
        must_restart=disk.must_restart,
        is_killed_when_deaf=False,
        drain_seconds=20,
    )


def _own_processes(home: Home) -> list[Spec]:
    def pinged(name: str, drain_seconds: float) -> Spec:
        path = home.socket(name)
        return Spec(
            name=name,
            argv=manage(name),
            is_ready=lambda: ping.is_ready(path),
            answers=lambda: ping.answers(path),
            drain_seconds=drain_seconds,
        )

    web_socket = home.socket("web")
    return [
        pinged("node", 2 * settings.LEASE_TTL.total_seconds() / 3),
        Spec(
            name="web",
            argv=manage("web"),
            is_ready=_is_healthy,
            answers=lambda: ping.answers(web_socket),
            drain_seconds=10,
        ),
        pinged("worker", 20),
        Spec(name="beat", argv=manage("beat"), is_ready=lambda: True, drain_seconds=5),
    ]


def _child(home: Home, spec: Spec, held: int) -> Child:
    return Child(spec, log=home.log / f"{spec.name}.log", lock=held, environ=_environ(home))


def _environ(home: Home) -> Mapping[str, str]:
    """What children need: the same settings, paths made absolute, no admin's password."""
    environ = dict(os.environ)
    for name in ("CREWLET_ADMIN_USER", "CREWLET_ADMIN_PASSWORD"):
        environ.pop(name, None)
    environ["CREWLET_HOME"] = str(home.root)
    if settings.ENVIRONMENT.config is not None:
        environ["CREWLET_CONFIG"] = str(settings.ENVIRONMENT.config)
    environ["PYTHONUNBUFFERED"] = "1"
    return environ


def _asks(address: Address, within: float) -> bool:
    try:
        ask(address, within=within)
    except NotAnswering:
        return False
    return True


def _is_healthy() -> bool:
    connection = http.client.HTTPConnection(settings.REACH_HOST, settings.HTTP_PORT, timeout=2)
    try:
        connection.request("GET", "/health", headers={"Host": f"localhost:{settings.HTTP_PORT}"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _announce(took: float, link: str) -> None:
    slowest, name = Step.slowest
    say(f"Up after {took:.1f} s (the slowest step was {name}, {slowest:.1f} s)")
    say(f"\n  {settings.BASE_URL}/\n")
    if link:
        say(f"  Sign in the first time, within 24 hours and once:\n  {link}\n")
    say("Ctrl-C drains and stops")
