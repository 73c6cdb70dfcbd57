"""Where things lie in a node's home directory; paths only, plus what the broker's children read."""

import json
from dataclasses import dataclass
from pathlib import Path

# Nothing answers there: a process started before any broker was prepared learns "could not ask".
NO_BROKER_URL = "nats://127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class Home:
    """The home of one node."""

    root: Path

    @property
    def node_database(self) -> Path:
        """What only this node reads."""
        return self.root / "node.sqlite3"

    @property
    def estate_database(self) -> Path:
        """The replicated rows."""
        return self.root / "estate.sqlite3"

    @property
    def broker(self) -> Path:
        """Configuration, credentials and the store of the embedded broker."""
        return self.root / "broker"

    @property
    def broker_credentials(self) -> Path:
        """`{"user": …, "password": …}`, mode 0600."""
        return self.broker / "credentials.json"

    @property
    def run(self) -> Path:
        """Sockets, the lock, and what is remembered between restarts of a child."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        """Held by `up` and its children; holds the supervisor's pid as text."""
        return self.run / "up.lock"

    @property
    def draining(self) -> Path:
        """There while the node drains; the web process answers by it."""
        return self.run / "draining"

    @property
    def broker_port(self) -> Path:
        """The embedded broker's port as text: it outlives restarts of the broker."""
        return self.run / "broker.port"

    def socket(self, name: str) -> Path:
        """Where the loop thread of the process `name` answers pings."""
        return self.run / f"{name}.sock"

    @property
    def log(self) -> Path:
        """One file a child."""
        return self.root / "log"

    @property
    def static(self) -> Path:
        """Collected static files under hashed names."""
        return self.root / "static"

    @property
    def celery(self) -> Path:
        """The node-local task queue."""
        return self.root / "celery"

    @property
    def cli_token(self) -> Path:
        """The API token of `./crewlet`, mode 0600."""
        return self.root / "cli-token"

    def broker_url(self) -> str:
        """The embedded broker's address as last prepared."""
        try:
            port = int(self.broker_port.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return NO_BROKER_URL
        return f"nats://127.0.0.1:{port}"

    def broker_sign_in(self) -> tuple[str, str] | None:
        """User and password of the embedded broker; None before the first start."""
        try:
            document = json.loads(self.broker_credentials.read_text(encoding="utf-8"))
            return document["user"], document["password"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
