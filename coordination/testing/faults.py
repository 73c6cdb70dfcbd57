"""Faults at the bucket port, so that the slots' own code meets them.

::

    store = FaultyStore(await open_memory(clock=clock))
    store.faults.make_unreachable()                # every call is Unavailable
    store.faults.fail(Verb.UPDATE, bucket="epochs")  # the next one is refused
    store.faults.lose(Verb.UPDATE, nth=2)          # it lands, its acknowledgement does not
    late = store.faults.postpone(Verb.UPDATE)      # not acknowledged, lands at late.land()
    held = store.faults.hold(Verb.READ)            # the next one waits for held.release()
    assert store.faults.struck == 1                # a fault nothing met proves nothing

Whatever wraps above the slots certifies the wrapper instead.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

from coordination.contract.bucket import Bucket
from coordination.errors import OutcomeUnknown, Unavailable


class Verb(StrEnum):
    """The port's verbs."""

    READ = "read"
    READ_REVISION = "read_revision"
    PUT = "put"
    UPDATE = "update"
    REMOVE = "remove"
    LISTING = "listing"
    WATCH = "watch"
    MARKERS = "markers"
    PURGE = "purge"
    NOW = "now"
    POSITION = "position"


class _Kind(StrEnum):
    FAIL = "fail"
    LOSE = "lose"
    HOLD = "hold"
    POSTPONE = "postpone"


@dataclass(slots=True, kw_only=True, eq=False)
class Held:
    """A call kept waiting. `reached` is set once it is there; `release` lets it go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    after: bool = False

    def release(self) -> None:
        """Let it go on."""
        self.released.set()

    async def keep(self) -> None:
        """Wait for that."""
        self.reached.set()
        await self.released.wait()


class Late:
    """A write on its way to the store, long after its caller was told that nobody knows."""

    def __init__(self) -> None:
        self._write: Callable[[], Awaitable[object]] | None = None

    def send(self, write: Callable[[], Awaitable[object]]) -> None:
        """Put it on its way."""
        self._write = write

    async def land(self) -> object:
        """Let it arrive; what the store answers to nobody."""
        if self._write is None:
            msg = "no call met this fault, so nothing is on its way"
            raise LookupError(msg)
        return await self._write()


@dataclass(slots=True, kw_only=True, eq=False)
class _Planned:
    kind: _Kind
    verb: Verb
    bucket: str
    left: int  # calls of that verb until it strikes
    held: Held = field(default_factory=Held)
    late: Late = field(default_factory=Late)


class Faults:
    """What goes wrong, for every bucket of one store."""

    def __init__(self) -> None:
        self._up = asyncio.Event()
        self._up.set()
        self._silent = False
        self._planned: list[_Planned] = []
        self._down = asyncio.Event()
        self.calls: list[tuple[str, Verb]] = []
        self.struck = 0

    def make_unreachable(self, *, silent: bool = False) -> None:
        """Answer nothing from now on, and end the open watches.

        Args:
            silent: keep callers waiting until `heal` instead of failing them at once.
        """
        self._silent = silent
        self._up.clear()
        self._down.set()

    def heal(self) -> None:
        """Answer again."""
        self._down.clear()
        self._up.set()

    def fail(self, verb: Verb, *, bucket: str = "", nth: int = 1) -> None:
        """Refuse the nth next call of a verb before it reaches the bucket."""
        self._planned.append(_Planned(kind=_Kind.FAIL, verb=verb, bucket=bucket, left=nth))

    def lose(self, verb: Verb, *, bucket: str = "", nth: int = 1) -> None:
        """Let the nth next write of a verb land and lose its acknowledgement."""
        self._planned.append(_Planned(kind=_Kind.LOSE, verb=verb, bucket=bucket, left=nth))

    def postpone(self, verb: Verb, *, bucket: str = "", nth: int = 1) -> Late:
        """Tell the nth next write's caller that nobody knows, and let it arrive later."""
        late = Late()
        self._planned.append(
            _Planned(kind=_Kind.POSTPONE, verb=verb, bucket=bucket, left=nth, late=late)
        )
        return late

    def hold(self, verb: Verb, *, bucket: str = "", nth: int = 1, after: bool = False) -> Held:
        """Keep the nth next call waiting, before it reaches the bucket or after it has."""
        held = Held(after=after)
        self._planned.append(
            _Planned(kind=_Kind.HOLD, verb=verb, bucket=bucket, left=nth, held=held)
        )
        return held

    async def down(self) -> None:
        """Wait until the store is made unreachable."""
        await self._down.wait()

    async def meet[A](self, bucket: Bucket, verb: Verb, call: Callable[[], Awaitable[A]]) -> A:
        """Carry a call out with what is planned for it."""
        self.calls.append((bucket.name, verb))
        planned = self._due(bucket, verb)
        if not self._up.is_set():
            if self._silent:
                await self._up.wait()
            raise _unreachable(bucket, verb)
        match planned:
            case _Planned(kind=_Kind.FAIL):
                raise _unreachable(bucket, verb)
            case _Planned(kind=_Kind.LOSE):
                await call()
                raise _unacknowledged(bucket, verb)
            case _Planned(kind=_Kind.POSTPONE, late=late):
                late.send(call)
                raise _unacknowledged(bucket, verb)
            case _Planned(held=held) if held.after:
                answer = await call()
                await held.keep()
                return answer
            case _Planned(held=held):
                await held.keep()
        return await call()

    def _due(self, bucket: Bucket, verb: Verb) -> _Planned | None:
        due: _Planned | None = None
        for planned in tuple(self._planned):
            if planned.verb is not verb or not bucket.name.endswith(planned.bucket):
                continue
            planned.left -= 1
            if planned.left == 0:
                self._planned.remove(planned)
                due = due or planned
        self.struck += due is not None
        return due


def _unreachable(bucket: Bucket, verb: Verb) -> Unavailable:
    msg = f"{verb} in {bucket.name}: the store did not answer"
    return Unavailable(msg, operation=verb, subject=bucket.name)


def _unacknowledged(bucket: Bucket, verb: Verb) -> OutcomeUnknown:
    msg = f"{verb} in {bucket.name} was sent and not acknowledged"
    return OutcomeUnknown(msg, operation=verb, subject=bucket.name)
