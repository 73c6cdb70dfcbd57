"""Following the fleet's pointer: two nodes would share these rows, so each test is one node."""

import secrets
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async

import coordination
from company import services
from company.following import Applied, NotApplied, NothingToFollow, apply_target
from company.seal import seal
from company.services import AppliedRevision
from coordination.contract.answers import Absent
from coordination.contract.config import Payload
from coordination.contract.store import Store
from coordination.rules.instants import Instant
from crewlet_site.keyring import Keyring

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "estate"])
KEYRING = Keyring(active_key_id="k1", keys={"k1": secrets.token_bytes(32)})
OURS = "name: Harbourline\nseats: []\n"
THEIRS = "name: Elsewhere\nseats: []\n"
AT = Instant.of(datetime(2026, 9, 23, 8, tzinfo=UTC))


def hold(revision_id: str = "r-ours", body: str = OURS) -> Any:
    held = AppliedRevision(
        revision_id=revision_id,
        epoch=None,
        created_at=datetime(2026, 9, 23, tzinfo=UTC),
        created_by="up",
        source="file",
        summary="First import",
        body=body,
    )
    return sync_to_async(services.take_effect)(held)


async def in_effect() -> tuple[str, int | None]:
    row = await sync_to_async(services.applied_revision)()
    assert row is not None
    return row.revision_id, row.epoch


async def publish(store: Store, revision_id: str, body: str, keyring: Keyring = KEYRING) -> int:
    landed = await store.config.activate(
        revision_id, seal(revision_id, body, keyring), at=AT, summary="raise caps"
    )
    return int(landed.epoch)


@pytest.fixture
async def store() -> Store:
    return await coordination.open_memory()


async def test_a_fleet_without_a_pointer_is_given_this_node_s_document(store: Store) -> None:
    await hold()
    outcome = await apply_target(store, KEYRING)
    assert isinstance(outcome, Applied)
    assert (outcome.revision_id, outcome.is_new) == ("r-ours", True)
    target = await store.config.target()
    assert not isinstance(target, Absent)
    assert (target.origin.author, target.origin.author_kind) == ("up", "node")
    payload = await store.config.payload("r-ours")
    assert isinstance(payload, Payload)
    assert payload.body.startswith(b"v1:k1:")
    assert b"Harbourline" not in payload.body
    assert await in_effect() == ("r-ours", int(target.epoch))


async def test_a_second_tick_changes_nothing(store: Store) -> None:
    await hold()
    first = await apply_target(store, KEYRING)
    second = await apply_target(store, KEYRING)
    assert isinstance(first, Applied)
    assert isinstance(second, Applied)
    assert (second.epoch, second.is_new) == (first.epoch, False)


async def test_a_booting_node_takes_the_fleet_s_document_over_its_own(store: Store) -> None:
    epoch = await publish(store, "r-theirs", THEIRS)
    await hold()
    outcome = await apply_target(store, KEYRING)
    assert isinstance(outcome, Applied)
    assert (outcome.company.name, outcome.epoch) == ("Elsewhere", epoch)
    assert await in_effect() == ("r-theirs", epoch)


async def test_a_newer_revision_is_applied(store: Store) -> None:
    await hold()
    await apply_target(store, KEYRING)
    epoch = await publish(store, "r-2", THEIRS)
    outcome = await apply_target(store, KEYRING)
    assert isinstance(outcome, Applied)
    assert (outcome.revision_id, outcome.is_new) == ("r-2", True)
    row = await sync_to_async(services.applied_revision)()
    assert row is not None
    assert (row.epoch, row.summary) == (epoch, "raise caps")


async def test_a_node_with_nothing_in_a_fleet_with_nothing_says_so(store: Store) -> None:
    assert isinstance(await apply_target(store, KEYRING), NothingToFollow)


async def test_a_document_that_does_not_fit_leaves_ours_in_effect_and_says_why(
    store: Store,
) -> None:
    await hold()
    await publish(store, "r-2", "name: x\nseatz: []\n")
    outcome = await apply_target(store, KEYRING)
    assert isinstance(outcome, NotApplied)
    assert "line 2, seatz" in outcome.error
    assert (await in_effect())[0] == "r-ours"


async def test_a_body_sealed_with_a_foreign_key_is_not_applied(store: Store) -> None:
    await hold()
    foreign = Keyring(active_key_id="k9", keys={"k9": secrets.token_bytes(32)})
    await publish(store, "r-2", THEIRS, foreign)
    outcome = await apply_target(store, KEYRING)
    assert isinstance(outcome, NotApplied)
    assert "k9" in outcome.error
    assert (await in_effect())[0] == "r-ours"


class Overwritten:
    """A store whose payload slot holds a losing editor's body until somebody puts it back."""

    def __init__(self, store: Store) -> None:
        self.config = self
        self._slot = store.config
        self.restored = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slot, name)

    async def payload(self, revision_id: str) -> Payload | Absent:
        return await self._slot.payload(revision_id) if self.restored else Absent()

    async def activate(self, *args: Any, **kwargs: Any) -> Any:
        self.restored = True
        return await self._slot.activate(*args, **kwargs)


async def test_an_overwritten_body_is_put_back_by_a_holder_of_the_revision(store: Store) -> None:
    await hold()
    await apply_target(store, KEYRING)
    broken: Any = Overwritten(store)
    outcome = await apply_target(broken, KEYRING)
    assert isinstance(outcome, Applied)
    assert broken.restored
    target = await store.config.target()
    assert not isinstance(target, Absent)
    assert (target.revision_id, int(target.epoch)) == ("r-ours", outcome.epoch)


async def test_a_node_that_never_held_an_overwritten_revision_waits_for_its_holder(
    store: Store,
) -> None:
    await publish(store, "r-2", THEIRS)
    await hold()
    broken: Any = Overwritten(store)
    outcome = await apply_target(broken, KEYRING)
    assert isinstance(outcome, NotApplied)
    assert "waiting for its holder" in outcome.error
    assert not broken.restored
    assert (await in_effect())[0] == "r-ours"


async def test_going_back_to_a_revision_held_here_needs_no_body_from_the_fleet(
    store: Store,
) -> None:
    await hold()
    await apply_target(store, KEYRING)
    await publish(store, "r-2", THEIRS)
    await apply_target(store, KEYRING)
    await publish(store, "r-ours", OURS)
    broken: Any = Overwritten(store)
    outcome = await apply_target(broken, KEYRING)
    assert isinstance(outcome, Applied)
    assert broken.restored
    assert (await in_effect())[0] == "r-ours"


async def test_of_two_first_boots_the_later_takes_the_earlier_s_document(store: Store) -> None:
    await hold()

    class Later(Overwritten):
        """Sees no pointer at first, as a node does that booted at the same moment."""

        asked = 0

        async def target(self) -> Any:
            self.asked += 1
            return Absent() if self.asked == 1 else await self._slot.target()

    await publish(store, "r-theirs", THEIRS)
    racing: Any = Later(store)
    outcome = await apply_target(racing, KEYRING)
    assert isinstance(outcome, Applied)
    assert outcome.revision_id == "r-theirs"
    settled = await apply_target(store, KEYRING)
    assert isinstance(settled, Applied)
    assert (await in_effect())[0] == "r-theirs"
