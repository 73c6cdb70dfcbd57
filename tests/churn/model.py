"""What the callers of a lease store were told, held against what it promises.

The model never looks inside. It is told when each call began and ended on the broker's clock, and
what was answered, and keeps for every tenure how long it was held for certain. A call without an
answer makes it less certain, never wrong. One owner has one call on one resource at a time.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import NoReturn

from coordination.contract.answers import (
    Absent,
    Lost,
    NotHeld,
    Refused,
    RefusedReason,
    Released,
)
from coordination.contract.bucket import Entry
from coordination.contract.leases import Granted, Lease, Renewed
from coordination.contract.records import LeaseRecord, decode
from coordination.rules.instants import Instant, nanos_of

type Answer = Granted | Refused | Renewed | Lost | Released | NotHeld | None  # None: unknown


class BrokenPromiseError(AssertionError):
    """The store said two things that cannot both be true."""


@dataclass(slots=True, kw_only=True)
class Tenure:
    """One owner at one epoch.

    Attributes:
        since: when it began.
        surely: until when it was held for certain.
        perhaps: after this it was over for certain.
    """

    owner: str
    epoch: int
    since: int
    surely: int
    perhaps: int


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """A call that began: what it asks, and what was known when it was asked."""

    resource: str
    owner: str
    verb: str
    began: int
    ttl: int
    epoch: int  # the tenure a renewal or release names, 0 for a claim
    highest: int  # the highest epoch granted by then
    perhaps_before: int
    surely_before: int  # until when the tenure it names was held for certain
    met: bool = False  # another owner had a call on this resource at the same time


@dataclass(slots=True)
class _Resource:
    tenures: dict[int, Tenure] = field(default_factory=dict)
    perhaps: dict[str, int] = field(default_factory=dict)  # by owner: until when it may hold it
    open: list[Call] = field(default_factory=list)
    written: tuple[int, int] = (0, 0)  # the newest revision seen and its epoch


class Model:
    """Tell it every call's beginning and end, in the order they happened.

    Args:
        slack: how long after its end an unanswered call may still be carried out.
    """

    def __init__(self, slack: timedelta = timedelta(0)) -> None:
        self._slack = nanos_of(slack)
        self._resources: dict[str, _Resource] = {}
        self.grants = 0
        self.takeovers = 0
        self.refusals = 0
        self.losses = 0
        self.unknowns = 0

    def begin(
        self, verb: str, resource: str, owner: str, now: Instant, *, ttl: int = 0, epoch: int = 0
    ) -> Call:
        """A call is about to be made."""
        known = self._of(resource)
        named = known.tenures.get(epoch)
        call = Call(
            resource=resource,
            owner=owner,
            verb=verb,
            began=now.nanos,
            ttl=ttl,
            epoch=epoch,
            highest=max(known.tenures, default=0),
            perhaps_before=known.perhaps.get(owner, 0),
            surely_before=0 if named is None else named.surely,
        )
        for other in known.open:
            other.met = call.met = True
        known.open.append(call)
        for tenure in known.tenures.values():
            if tenure.owner == owner:  # until it is answered, it may have ended or been shortened
                tenure.surely = min(tenure.surely, call.began)
        return call

    def end(self, call: Call, answer: Answer, now: Instant) -> None:
        """It was answered; None for a call that was cancelled or could not be asked.

        Raises:
            BrokenPromiseError: this answer cannot be true beside those before it.
        """
        known = self._of(call.resource)
        known.open.remove(call)
        match answer:
            case None:
                self.unknowns += 1
                self._unanswered(known, call, now)
            case Granted(lease=lease):
                self._granted(known, call, lease, now)
            case Renewed(lease=lease):
                self._renewed(known, call, lease, now)
            case Refused(because=because):
                if because is not RefusedReason.HELD:
                    self._broken(call.resource, f"refused for {because} in a fleet of one build")
                self._refused(known, call, now)
            case Released():
                self._released(known, call)
            case Lost() | NotHeld():
                self._lost(known, call, now)

    def read(self, resource: str, found: Lease | Absent, began: Instant, ended: Instant) -> None:
        """A leader read while no call was under way."""
        known = self._of(resource)
        newest = max(known.tenures, default=0)
        if isinstance(found, Lease):
            if found.epoch < newest:
                self._broken(resource, f"epoch {found.epoch} stands after {newest} was granted")
            tenure = known.tenures.get(found.epoch)
            if tenure is not None and tenure.owner != found.owner:
                self._broken(resource, f"{found.owner} stands at {tenure}")
        for tenure in known.tenures.values():
            holds = tenure.since <= began.nanos and ended.nanos < tenure.surely
            seen = isinstance(found, Lease) and found.owner == tenure.owner
            if holds and not seen:
                self._broken(resource, f"{tenure} holds, and a read says {found}")

    def wrote(self, resource: str, entry: Entry) -> None:
        """One accepted write on the resource's key, in the broker's order.

        Raises:
            BrokenPromiseError: it carries a token older than one written before it.
        """
        known = self._of(resource)
        revision, epoch = known.written
        if not entry.is_live or entry.revision <= revision:
            return
        record = decode(LeaseRecord, entry.value, subject=entry.key)
        if record.epoch and record.owner:
            if record.epoch < epoch:
                self._broken(resource, f"epoch {record.epoch} was written over {epoch}")
            epoch = record.epoch
        known.written = (entry.revision, epoch)

    def _granted(self, known: _Resource, call: Call, lease: Lease, now: Instant) -> None:
        if (lease.owner, str(lease.resource)) != (call.owner, call.resource):
            self._broken(call.resource, f"{call.owner} was granted {lease}")
        tenure = known.tenures.get(lease.epoch)
        since = lease.acquired_at
        if since is None:
            self._broken(call.resource, f"a grant that never began: {lease}")
        if tenure is None:
            if lease.epoch <= call.highest:
                self._broken(call.resource, f"{lease.epoch} was granted after {call.highest}")
            last = known.tenures.get(call.highest)
            self.takeovers += last is not None and last.owner != call.owner
            tenure = Tenure(
                owner=call.owner, epoch=lease.epoch, since=since.nanos, surely=0, perhaps=0
            )
            known.tenures[lease.epoch] = tenure
        elif tenure.owner != call.owner or tenure.since != since.nanos:
            self._broken(call.resource, f"epoch {lease.epoch} was granted twice: {tenure}")
        elif call.began > tenure.perhaps:
            self._broken(call.resource, f"{tenure} went on after its end, at {call.began}")
        self.grants += 1
        self._holds(known, call, tenure, lease, now)

    def _renewed(self, known: _Resource, call: Call, lease: Lease, now: Instant) -> None:
        tenure = known.tenures.get(call.epoch)
        if tenure is None or tenure.owner != call.owner or lease.epoch != call.epoch:
            self._broken(call.resource, f"{call.owner} renewed what it was never granted: {lease}")
        if call.epoch < call.highest:
            self._broken(call.resource, f"{call.epoch} was renewed after {call.highest}")
        if call.began > tenure.perhaps:
            self._broken(call.resource, f"{tenure} was renewed after its end, at {call.began}")
        self._holds(known, call, tenure, lease, now)

    def _holds(
        self, known: _Resource, call: Call, tenure: Tenure, lease: Lease, now: Instant
    ) -> None:
        tenure.surely = lease.expires_at.nanos
        tenure.perhaps = max(tenure.surely, now.nanos + call.ttl)
        known.perhaps[call.owner] = tenure.perhaps
        for one in known.tenures.values():
            for other in known.tenures.values():
                if _overlap(one, other):
                    self._broken(call.resource, f"two holders at once: {one} and {other}")

    def _refused(self, known: _Resource, call: Call, now: Instant) -> None:
        self.refusals += 1
        alone = not call.met and now.nanos - call.began < call.ttl
        if alone and not any(
            until > call.began for owner, until in known.perhaps.items() if owner != call.owner
        ):
            self._broken(call.resource, f"{call.owner} was refused what nobody can hold")
        self._restore(known, call)

    def _released(self, known: _Resource, call: Call) -> None:
        tenure = known.tenures.get(call.epoch)
        if tenure is None or tenure.owner != call.owner or call.epoch < call.highest:
            self._broken(call.resource, f"{call.owner} gave back {call.epoch}, not its own")
        if call.began > tenure.perhaps:
            self._broken(call.resource, f"{tenure} was given back after its end")
        tenure.perhaps = call.began
        known.perhaps[call.owner] = 0

    def _lost(self, known: _Resource, call: Call, now: Instant) -> None:
        self.losses += 1
        if call.surely_before > now.nanos:
            self._broken(call.resource, f"{call.owner} was told that {call.epoch} is lost")
        self._restore(known, call)

    def _restore(self, known: _Resource, call: Call) -> None:
        """A definite no wrote nothing: what may be held is what might have been before."""
        if call.owner in known.perhaps:
            known.perhaps[call.owner] = max(known.perhaps[call.owner], call.perhaps_before)

    def _unanswered(self, known: _Resource, call: Call, now: Instant) -> None:
        if call.verb == "release":
            return
        until = now.nanos + call.ttl + self._slack
        known.perhaps[call.owner] = max(call.perhaps_before, until)
        for tenure in known.tenures.values():
            if tenure.owner == call.owner and tenure.epoch == max(known.tenures):
                tenure.perhaps = max(tenure.perhaps, until)

    def _of(self, resource: str) -> _Resource:
        return self._resources.setdefault(resource, _Resource())

    def _broken(self, resource: str, what: str) -> NoReturn:
        msg = f"{resource}: {what}"
        raise BrokenPromiseError(msg)


def _overlap(one: Tenure, other: Tenure) -> bool:
    """Whether a later tenure began while another owner's was held for certain."""
    later = other.epoch > one.epoch and other.owner != one.owner
    return later and one.since <= other.since < one.surely
