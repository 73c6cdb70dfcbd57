"""The bootstrap file of a node: YAML named by CREWLET_CONFIG, read once at start.

An absent file means one node with an embedded broker under its home. `${VAR}` in a value is filled
from the environment alone, after parsing, so a value cannot grow into structure. An unknown key, a
key given twice and a value out of range are refused with their line and path.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from crewlet_site import bootstrap_keys as keys
from crewlet_site.errors import StartRefused

ROLES: Final = ("data", "ingress", "seats", "workers")
DEFAULT_MAX_CONCURRENT: Final = 32
DEFAULT_LEASE_TTL: Final = timedelta(seconds=45)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Which broker, and how it keeps what it is told.

    `store_dir` None means under the home; an empty string in the file (`keeps_nothing`) means that
    nothing survives a restart of the broker.
    """

    type: Literal["embedded", "nats"] = "embedded"
    store_dir: Path | None = None
    keeps_nothing: bool = False
    replicas: int = 1
    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    sync: str = "always"

    @property
    def is_embedded(self) -> bool:
        """Whether this node runs its own broker."""
        return self.type == "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """What one node is told before it can ask anybody."""

    path: Path | None = None
    node_id: str | None = None
    roles: tuple[str, ...] = ROLES
    labels: Mapping[str, str] = field(default_factory=dict)
    max_concurrent: int = DEFAULT_MAX_CONCURRENT
    stream: Stream = field(default_factory=Stream)
    coordination_type: Literal["local", "embedded-kv"] = "local"
    lease_ttl: timedelta = DEFAULT_LEASE_TTL
    active_key_id: str | None = None
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    api_host: str | None = None
    api_port: int | None = None
    log_level: str = "info"
    log_format: str = "console"


def read(path: Path | None, environ: Mapping[str, str] = os.environ) -> Bootstrap:
    """Read the bootstrap file; without one, the single embedded node.

    Raises:
        StartRefused: the file cannot be read, or says something it cannot mean.
    """
    if path is None:
        return Bootstrap()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        msg = (
            f"CREWLET_CONFIG names {path}, which cannot be read ({error.strerror}): correct the "
            "path or unset it."
        )
        raise StartRefused(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text; save it as UTF-8."
        raise StartRefused(msg) from error
    try:
        return _judge(path, parse(text, environ))
    except keys.Problem as problem:
        msg = f"{path}, {problem}"
        raise StartRefused(msg) from problem


def parse(text: str, environ: Mapping[str, str]) -> keys.Found:
    """Flatten the document into `{dotted path: value}` for the known keys.

    Raises:
        keys.Problem: with the line and the path.
    """
    try:
        _refuse_aliases(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError as error:
        raise keys.Problem(1, "", "is nested too deeply") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise keys.Problem(line, "", f"is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise keys.Problem(1, "", "is not YAML") from error
    found = keys.Found()
    if root is not None:
        _walk(root, "", found, environ)
    return found


def _refuse_aliases(text: str) -> None:
    """One anchor can stand for itself, or for more than a machine holds."""
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise keys.Problem(line, "", "has an alias (*), which is not read: write the value out")


def _walk(node: Any, path: str, found: keys.Found, environ: Mapping[str, str]) -> None:
    if not isinstance(node, yaml.MappingNode):
        raise keys.Problem(node.start_mark.line + 1, path, "must be a block of keys")
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise keys.Problem(line, path, "has a key that is no word")
        child = f"{path}.{key_node.value}" if path else str(key_node.value)
        if child in found.lines:
            raise keys.Problem(line, child, f"is given twice (first on line {found.lines[child]})")
        found.lines[child] = line
        if child in keys.LEAVES:
            plain = _plain(value_node, child, environ)
            try:
                found.values[child] = keys.LEAVES[child](plain)
            except keys.Odd as error:
                raise keys.Problem(line, child, str(error)) from error
        elif child in keys.SECTIONS:
            _walk(value_node, child, found, environ)
        else:
            raise keys.Problem(line, child, f"is not a key this build knows{keys.near(child)}")


def _plain(node: Any, path: str, environ: Mapping[str, str]) -> Any:
    """A node as text, tuples and dicts of text: what a number means is for the key to say."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return _fill(node.value, line, path, environ)
    if isinstance(node, yaml.SequenceNode):
        return tuple(_plain(item, path, environ) for item in node.value)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise keys.Problem(key_node.start_mark.line + 1, path, "has a key that is no word")
        name = str(key_node.value)
        if name in result:
            raise keys.Problem(key_node.start_mark.line + 1, f"{path}.{name}", "is given twice")
        result[name] = _plain(value_node, f"{path}.{name}", environ)
    return result


def _fill(text: str, line: int, path: str, environ: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in environ:
            raise keys.Problem(line, path, f"needs the environment variable {name}, which is unset")
        return environ[name]

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, text)


def _judge(path: Path, found: keys.Found) -> Bootstrap:
    """Check what no key can check alone, and build the value."""
    get = found.values.get
    stream = _judge_stream(path, found)
    roles = get("node.roles", ROLES)
    if "workers" in roles and "data" not in roles:
        msg = "node.roles"
        raise found.problem(msg, "has workers without data, which duties need")
    if stream.is_embedded and "data" not in roles:
        msg = "node.roles"
        raise found.problem(msg, "lacks data, which a node with its own broker keeps")
    kind = get("coordination.type", "local" if stream.is_embedded else "embedded-kv")
    if kind == "local" and not stream.is_embedded:
        msg = "coordination.type"
        raise found.problem(msg, "is local, but an external broker may serve other nodes too")
    key_map = get("secrets.keys", {})
    active = get("secrets.active_key_id")
    if active is None and key_map:
        msg = "secrets.keys"
        raise found.problem(msg, "needs secrets.active_key_id beside it")
    if active is not None and active not in key_map:
        msg = "secrets.active_key_id"
        raise found.problem(msg, "names no key under secrets.keys")
    return Bootstrap(
        path=path,
        node_id=get("node.id"),
        roles=roles,
        labels=get("node.labels", {}),
        max_concurrent=get("node.max_concurrent", 0) or DEFAULT_MAX_CONCURRENT,
        stream=stream,
        coordination_type=kind,
        lease_ttl=get("coordination.lease_ttl_seconds", DEFAULT_LEASE_TTL),
        active_key_id=active,
        keys=key_map,
        api_host=get("api.host"),
        api_port=get("api.port"),
        log_level=get("logging.level", "info"),
        log_format=get("logging.format", "console"),
    )


def _judge_stream(path: Path, found: keys.Found) -> Stream:
    get = found.values.get
    if get("stream.type", "embedded") == "embedded":
        for key in ("url", "credentials.user", "credentials.password", "token"):
            if f"stream.{key}" in found.values:
                msg = f"stream.{key}"
                raise found.problem(msg, "needs stream.type: nats")
        if get("stream.replicas", 1) > 1:
            msg = "stream.replicas"
            raise found.problem(msg, "is above 1, but this broker has no peers")
        text = get("stream.store_dir")
        return Stream(
            store_dir=(path.parent / text).absolute() if text else None, keeps_nothing=text == ""
        )
    return _judge_external(found)


def _judge_external(found: keys.Found) -> Stream:
    get = found.values.get
    if "stream.url" not in found.values:
        msg = "stream.type"
        raise found.problem(msg, "is nats, so stream.url must say where it is")
    for key in ("store_dir", "sync"):
        if f"stream.{key}" in found.values:
            msg = f"stream.{key}"
            raise found.problem(msg, "is a matter of the external broker itself")
    user, password = get("stream.credentials.user", ""), get("stream.credentials.password", "")
    if bool(user) != bool(password):
        msg = "stream.credentials"
        raise found.problem(msg, "needs both user and password")
    if user and get("stream.token"):
        msg = "stream.token"
        raise found.problem(msg, "cannot go with stream.credentials: keep one of them")
    return Stream(
        type="nats",
        replicas=get("stream.replicas", 1),
        url=get("stream.url", ""),
        user=user,
        password=password,
        token=get("stream.token", ""),
        sync="unknown",
    )
