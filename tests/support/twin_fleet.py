"""A fleet on the twin behind the process's own hub and portal, for tests of pages and API.

`open_twin` is what `settings.COORDINATION` names; `TwinFleet` holds the broker it opens and writes
to it through a handle of its own, as another node would.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coordination.contract.answers import Epoch, NodeId, Owner
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.pauses import Created, Lifted, Pause
from coordination.contract.status import ConfigStatus
from coordination.contract.store import Store
from coordination.memory.store import MemoryBroker
from coordination.rules.instants import Instant
from coordination.rules.keys import Resource
from coordination.testing import Faults, FaultyStore
from runtime import hub, portal
from runtime.reading import Known
from tests.support.waiting import eventually_blocking

TTL = timedelta(seconds=45)
DOCUMENT = """\
name: Harbourline
timezone: Europe/Berlin
pause: {require_reason: true}
seats:
  - {handle: ada-pm, name: Ada, role: Product manager, kind: agent}
  - {handle: bo-eng, name: Bo, role: Backend engineer, kind: agent}
  - {handle: cleo-eng, name: Cleo, role: Backend engineer, kind: agent}
  - {handle: vera-ml, name: Vera, role: Model training, kind: agent,
     placement: {labels: {gpu: a100}}}
  - {handle: mira, name: Mira, role: Founder, kind: person}
"""

_standing: "list[TwinFleet]" = []


async def open_twin(**_options: object) -> Store:
    """The process's store: a handle on the broker of the fleet that stands."""
    fleet = _standing[-1]
    return FaultyStore(fleet.broker.open(), fleet.faults)


class TwinFleet:
    """One broker and what other nodes wrote to it."""

    def __init__(self) -> None:
        self.broker = MemoryBroker(lease_ttl=TTL)
        self.faults = Faults()
        self._other = self.broker.open()

    def stand(self) -> None:
        """Become what the process's store opens."""
        _standing.append(self)
        portal.reopen()

    def fall(self) -> None:
        """Close the process's portal and all that lives on it."""
        portal.reopen()
        _standing.remove(self)

    def node(
        self,
        name: str = "core-1",
        *,
        roles: tuple[str, ...] = ("data", "ingress", "seats", "workers"),
        labels: Mapping[str, str] | None = None,
        silent: bool = False,
        **status: object,
    ) -> Lease:
        """A presence lease, with a whole report unless the node is silent."""
        meta: dict[str, object] = {"roles": list(roles), "labels": dict(labels or {})}
        if not silent:
            began = datetime.now(UTC) - timedelta(hours=3)
            meta["status"] = {
                "in_flight": 0,
                "draining": False,
                "posture": "serve",
                "started_at": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
            } | status
        return self._acquire(f"node:{name}", name, meta)

    def hold(self, handle: str, node: str = "core-1") -> Lease:
        """A seat lease."""
        return self._acquire(f"seat:{handle}", node, None)

    def release(self, lease: Lease) -> None:
        """Give one back."""
        portal.run(self._other.leases.release, lease)

    def duty(self, name: str, node: str = "core-1") -> Lease:
        """A duty lease."""
        return self._acquire(f"worker:{name}", node, None)

    def _acquire(self, resource: str, node: str, meta: Mapping[str, object] | None) -> Lease:
        answer = portal.run(
            self._other.leases.acquire,
            Resource.parse(resource),
            owner=Owner(f"{node}:node-8f2a"),
            ttl=TTL,
            meta=meta,
            gated=False,
        )
        assert isinstance(answer, Granted)
        return answer.lease

    def renew(self, lease: Lease) -> Lease:
        """A heartbeat."""
        answer = portal.run(self._other.leases.renew, lease, ttl=TTL)
        assert isinstance(answer, Renewed)
        return answer.lease

    def report(self, node: str, epoch: int, status: str = "ok", error: str = "") -> None:
        """A config status."""
        row = ConfigStatus(
            node=NodeId(node),
            epoch=Epoch(epoch),
            status=status,
            updated_at=Instant.of(datetime.now(UTC)),
            revision_id="r-1",
            error=error,
        )
        portal.run(self._other.status.report, row)

    def activate(self, revision_id: str = "r-1") -> int:
        """Make a revision current."""
        active = portal.run(
            self._other.config.activate, revision_id, b"sealed", at=Instant.of(datetime.now(UTC))
        )
        return int(active.epoch)

    def pause(self, handle: str, *, by: str = "jonas", reason: str = "Vendor incident") -> int:
        """Another person's pause; its version."""
        record = Pause(handle=handle, by=by, at=Instant.of(datetime.now(UTC)), reason=reason)
        answer = portal.run(self._other.pauses.create, record)
        assert isinstance(answer, Created)
        return int(answer.version)

    def lift(self, handle: str) -> None:
        """Another person's resume."""
        standing = self.standing(handle)
        assert standing is not None
        answer = portal.run(self._other.pauses.lift, handle, standing.revision)
        assert isinstance(answer, Lifted)

    def standing(self, handle: str) -> Pause | None:
        """The record as the leader has it."""
        found = portal.run(self._other.pauses.get, handle)
        return found if isinstance(found, Pause) else None

    def go_silent(self) -> None:
        """Answer the process nothing any more, and wait until its hub admits it."""
        portal.run(_call, self.faults.make_unreachable)
        eventually_blocking(lambda: not hub.link().up, within=10)

    def come_back(self) -> None:
        """Answer again, and wait until every projection is the present answer."""
        portal.run(_call, self.faults.heal)
        eventually_blocking(is_whole, within=20)


def is_whole() -> bool:
    """Whether the process knows everything."""
    readings = (hub.presences(), hub.seats(), hub.pauses(), hub.statuses(), hub.duties())
    return all(isinstance(each, Known) for each in readings)


async def _call(function: object) -> None:
    assert callable(function)
    function()


def write_document(folder: Path, text: str = DOCUMENT) -> Path:
    """The company document as a file."""
    path = folder / "company.yaml"
    path.write_text(text, encoding="utf-8")
    return path
