"""One owner's tenure as it stands: finding it, and giving it back."""

from coordination.contract.answers import Written
from coordination.rules.keys import Resource
from coordination.rules.leases import CAS_ROUNDS, LostReason, judge_tenure
from coordination.slots.lease_values import Lane, Stood, body_of
from coordination.slots.rounds import worn_out


async def own_tenure(lane: Lane, resource: Resource, owner: str, epoch: int) -> Stood | LostReason:
    """The tenure of this owner and epoch, or why it is not theirs."""
    stood = (await lane.find(resource)).stood
    if stood is None:
        return LostReason.ABSENT
    lost = judge_tenure(stood.standing, owner, epoch, held=True)
    if lost is not None:
        return lost
    return stood if await lane.is_held(stood.standing) else LostReason.LAPSED


async def give_back(lane: Lane, resource: Resource, owner: str, epoch: int) -> LostReason | None:
    """Leave a tombstone where this tenure stands; None when it was given back."""
    for _ in range(CAS_ROUNDS):
        stood = await own_tenure(lane, resource, owner, epoch)
        if isinstance(stood, LostReason):
            return stood
        body = body_of(lane.tombstone(stood.record))
        if isinstance(await lane.bucket.update(resource.key, body, stood.revision), Written):
            return None
    raise worn_out(operation="release", subject=str(resource), rounds=CAS_ROUNDS)
