"""Following the fleet's configuration pointer: publish the first document, apply every later one.

Runs on the loop thread of the node process; rows are read and written on a thread of their own,
because a database that waits for a lock must not make a lease renewal late.
"""

import asyncio
import functools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.db import connections

from company import services
from company.document import Company
from company.problems import DocumentInvalid
from company.seal import DocumentTooLarge, Keyring, SealBroken, open_seal, seal
from company.services import AppliedRevision
from coordination.contract.answers import Absent, Answer
from coordination.contract.config import Activation, Config, Origin, Payload
from coordination.contract.store import Store
from coordination.errors import ActivationRaced
from coordination.rules.instants import Instant

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Answer):
    """The fleet's revision is in effect here; `is_new` when it was not before this call."""

    revision_id: str
    epoch: int
    company: Company
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplied(Answer):
    """The fleet's revision cannot take effect here, `error` says why; the one before stays."""

    revision_id: str
    epoch: int
    error: str


@dataclass(frozen=True, slots=True)
class NothingToFollow(Answer):
    """The fleet has no revision and this node holds none to publish."""


type Outcome = Applied | NotApplied | NothingToFollow


async def apply_target(store: Store, keyring: Keyring | None = None) -> Outcome:
    """One reconcile tick: bring this node to the revision that the fleet's pointer names.

    A fleet without a pointer is given this node's revision, create-only. A body that a losing
    editor has overwritten is put back by any node that holds the revision.

    Args:
        store: the process's store.
        keyring: opens and seals; the one of the settings by default.

    Raises:
        Unavailable: the store did not answer; what was in effect stays in effect.

    Cost: two leader reads when nothing changed, and one read of the node's database.
    """
    keyring = settings.CREWLET_KEYRING if keyring is None else keyring
    held = await _off_loop(services.applied_revision)
    target = await store.config.target()
    if isinstance(target, Absent):
        return await _publish_first(store, held, keyring)
    return await _follow(store.config, target, held, keyring)


async def _publish_first(store: Store, held: AppliedRevision | None, keyring: Keyring) -> Outcome:
    if held is None:
        return NothingToFollow()
    try:
        landed = await _activate(store.config, held, keyring, expect=None)
    except ActivationRaced:
        # Another node booted first: its document is the company's, and ours is replaced by it.
        target = await store.config.target()
        if isinstance(target, Absent):
            return NothingToFollow()
        return await _follow(store.config, target, held, keyring)
    except (DocumentTooLarge, SealBroken) as fault:
        return NotApplied(revision_id=held.revision_id, epoch=0, error=str(fault))
    logger.info("config_published revision=%s epoch=%d", landed.revision_id, landed.epoch)
    return await _in_effect(landed, held)


async def _follow(
    config: Config, target: Activation, held: AppliedRevision | None, keyring: Keyring
) -> Outcome:
    payload = await config.payload(target.revision_id)
    if held is not None and held.revision_id == target.revision_id:
        if isinstance(payload, Absent):
            target = await _put_back(config, target, held, keyring)
        return await _in_effect(target, held)
    if isinstance(payload, Payload):
        return await _take(target, payload, keyring)
    kept = await _off_loop(services.held_revision, target.revision_id)
    if kept is None:
        return _refused(target, "Another revision's body is in its place; waiting for its holder.")
    return await _put_into_effect(await _put_back(config, target, kept, keyring), kept.body)


async def _take(target: Activation, payload: Payload, keyring: Keyring) -> Outcome:
    try:
        body = await asyncio.to_thread(open_seal, target.revision_id, payload.body, keyring)
    except SealBroken as fault:
        return _refused(target, str(fault))
    return await _put_into_effect(target, body)


async def _put_into_effect(target: Activation, body: str) -> Outcome:
    try:
        company = await _off_loop(services.take_effect, _revision_of(target, body))
    except DocumentInvalid as fault:
        return _refused(target, f"The document is not valid for this build: {fault}")
    logger.info("config_applied revision=%s epoch=%d", target.revision_id, target.epoch)
    return Applied(
        revision_id=target.revision_id, epoch=int(target.epoch), company=company, is_new=True
    )


async def _put_back(
    config: Config, target: Activation, held: AppliedRevision, keyring: Keyring
) -> Activation:
    try:
        landed = await _activate(config, held, keyring, expect=target.revision_id)
    except ActivationRaced:
        # Another holder was quicker, or a newer revision is current: the next tick sees which.
        return target
    logger.warning("config_body_restored revision=%s epoch=%d", landed.revision_id, landed.epoch)
    return landed


async def _activate(
    config: Config, held: AppliedRevision, keyring: Keyring, *, expect: str | None
) -> Activation:
    payload = await asyncio.to_thread(seal, held.revision_id, held.body, keyring)
    origin = Origin(
        author=held.created_by,
        author_kind="node",
        source=held.source,
        created_at=Instant.of(held.created_at),
    )
    return await config.activate(
        held.revision_id,
        payload,
        at=Instant.of(datetime.now(UTC)),
        summary=held.summary,
        origin=origin,
        expect=expect,
        expect_absent=expect is None,
    )


async def _in_effect(target: Activation, held: AppliedRevision) -> Outcome:
    epoch = int(target.epoch)
    if held.epoch != epoch:
        await _off_loop(services.note_epoch, target.revision_id, epoch)
    company = await _off_loop(services.current)
    if company is None:
        return NothingToFollow()
    return Applied(
        revision_id=target.revision_id, epoch=epoch, company=company, is_new=held.epoch is None
    )


def _revision_of(target: Activation, body: str) -> AppliedRevision:
    created_at = target.origin.created_at or target.at
    return AppliedRevision(
        revision_id=target.revision_id,
        epoch=int(target.epoch),
        created_at=created_at.as_datetime(),
        created_by=target.origin.author,
        source=target.origin.source,
        summary=target.summary,
        body=body,
    )


def _refused(target: Activation, error: str) -> NotApplied:
    logger.warning("config_refused revision=%s error=%r", target.revision_id, error)
    return NotApplied(revision_id=target.revision_id, epoch=int(target.epoch), error=error)


@functools.cache
def _database_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="company-rows")


async def _off_loop[**P, T](call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    def run() -> T:
        try:
            return call(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_database_thread(), run)
