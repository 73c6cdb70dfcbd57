"""Typed readers of the environment; the only place that looks at os.environ for settings.

Every odd value is refused with one sentence that names the variable and the way out.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from crewlet_site.errors import StartRefused

ROOT: Final = Path(__file__).resolve().parent.parent
DEFAULT_PORT: Final = 8000
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_NODE_ID: Final = "node-0"
DEFAULT_RELIST_SECONDS: Final = 15
# What Django takes in a Host header; a leading dot would let every subdomain in.
HOST_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
# First character alphanumeric, then letters, digits, dot, underscore, dash; at most 64.
NODE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicUrl:
    """Where people reach this node, parsed: everything about trust in a host derives from it."""

    scheme: str
    host: str
    netloc: str

    @property
    def origin(self) -> str:
        """As a browser sends it in `Origin`."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the node over TLS, so that cookies may insist on it."""
        return self.scheme == "https"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the CREWLET_* variables say; None where a variable is unset and has no default here."""

    home: Path
    host: str | None
    port: int | None
    public_url: PublicUrl | None
    node_id: str | None
    config: Path | None
    company: Path
    admin_user: str | None
    admin_password: str | None = field(repr=False)
    api_token: str | None = field(repr=False)
    nats_server: Path | None
    relist_seconds: int
    process: str
    debug: bool


def read(environ: Mapping[str, str] = os.environ) -> Environment:
    """Read and judge every variable at once.

    Raises:
        StartRefused: a value is odd; the sentence names its variable.
    """
    admin_user, admin_password = _admin(environ)
    return Environment(
        home=_path(environ, "CREWLET_HOME") or ROOT / "var",
        host=_host(environ),
        port=_port(environ),
        public_url=_public_url(environ),
        node_id=_node_id(environ),
        config=_path(environ, "CREWLET_CONFIG"),
        company=_path(environ, "CREWLET_COMPANY") or ROOT / "examples" / "company.yaml",
        admin_user=admin_user,
        admin_password=admin_password,
        api_token=environ.get("CREWLET_API_TOKEN") or None,
        nats_server=_path(environ, "CREWLET_NATS_SERVER"),
        relist_seconds=_relist(environ),
        process=environ.get("CREWLET_PROCESS", "") or "command",
        debug=_flag(environ, "CREWLET_DEBUG"),
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def reach_host(host: str) -> str:
    """Where a client on this machine reaches a server that listens on `host`, as in a URL."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    one = everywhere.get(host, host)
    return f"[{one}]" if ":" in one else one


def judge_exposure(
    host: str, public_url: PublicUrl | None, *, source: str = "CREWLET_HOST"
) -> None:
    """Refuse to be reachable from elsewhere while nobody said under which name.

    Args:
        host: the address to listen on.
        public_url: how people reach the node.
        source: who named the host, for the refusal.

    Raises:
        StartRefused: the host is not a loopback address and there is no public URL.
    """
    if public_url is None and not is_loopback(host):
        msg = (
            f"{source} is {host}, which others can reach: set CREWLET_PUBLIC_URL to the "
            "address people will use, such as https://crewlet.example.org, or leave "
            f"{source} at 127.0.0.1."
        )
        raise StartRefused(msg)


def parse_node_id(text: str, *, source: str) -> str:
    """Check a node id from `source`, which the refusal names."""
    if not NODE_ID.fullmatch(text):
        msg = (
            f"{source} is {text!r}: use at most 64 letters, digits, dots, underscores and dashes, "
            "starting with a letter or a digit."
        )
        raise StartRefused(msg)
    return text


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    text = environ.get(name, "")
    if not text:
        return None
    if "\0" in text or not text.strip():
        msg = f"{name} is not a path: unset it or give it a file system path."
        raise StartRefused(msg)
    return Path(text).expanduser().absolute()


def _host(environ: Mapping[str, str]) -> str | None:
    text = environ.get("CREWLET_HOST", "")
    if not text:
        return None
    return parse_host(text, source="CREWLET_HOST")


def parse_host(text: str, *, source: str) -> str:
    """Check an address to listen on: an IP address, or `localhost`."""
    if text == "localhost":
        return text
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        msg = (
            f"{source} is {text!r}: give an IP address to listen on, such as 127.0.0.1 or 0.0.0.0."
        )
        raise StartRefused(msg) from None


def _port(environ: Mapping[str, str]) -> int | None:
    return _number(environ, "CREWLET_PORT", most=65_535)


def _relist(environ: Mapping[str, str]) -> int:
    """Seconds between two certified listings of what a page follows; watches carry the rest."""
    return _number(environ, "CREWLET_RELIST_SECONDS", most=86_400) or DEFAULT_RELIST_SECONDS


def _number(environ: Mapping[str, str], name: str, *, most: int) -> int | None:
    """A whole number from 1 on; None where the variable is unset."""
    text = environ.get(name, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        msg = f"{name} is {text[:40]!r}: give a number from 1 to {most}."
        raise StartRefused(msg)
    return int(text)


def _node_id(environ: Mapping[str, str]) -> str | None:
    text = environ.get("CREWLET_NODE_ID", "")
    return parse_node_id(text, source="CREWLET_NODE_ID") if text else None


def _public_url(environ: Mapping[str, str]) -> PublicUrl | None:
    text = environ.get("CREWLET_PUBLIC_URL", "")
    if not text:
        return None
    remedy = "give scheme and host alone, such as https://crewlet.example.org."
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        msg = f"CREWLET_PUBLIC_URL is {text!r}: {remedy}"
        raise StartRefused(msg) from None
    plain = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
    # Spaces and line ends as well, which the parser drops without a word.
    plain = plain and text.isascii() and text.isprintable() and port != 0
    if (
        parts.scheme not in ("http", "https")
        or not host
        or not plain
        or not _is_host(host, parts.netloc)
    ):
        msg = f"CREWLET_PUBLIC_URL is {text!r}: {remedy}"
        raise StartRefused(msg)
    default = {"http": 80, "https": 443}[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port in (None, default) else f"{shown}:{port}"
    return PublicUrl(scheme=parts.scheme, host=shown, netloc=netloc)


def _is_host(host: str, netloc: str) -> bool:
    if not netloc.startswith("["):
        return len(host) <= 253 and HOST_NAME.fullmatch(host) is not None
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def _admin(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    user = environ.get("CREWLET_ADMIN_USER") or None
    password = environ.get("CREWLET_ADMIN_PASSWORD") or None
    if (user is None) != (password is None):
        msg = "CREWLET_ADMIN_USER and CREWLET_ADMIN_PASSWORD go together: set both or neither."
        raise StartRefused(msg)
    return user, password


def _flag(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "")
    if text in ("", "0"):
        return False
    if text == "1":
        return True
    msg = f"{name} is {text!r}: set it to 1 or 0, or unset it."
    raise StartRefused(msg)
