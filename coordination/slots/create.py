"""Create-only writes over a key that may hold a marker. Used by every slot that creates."""

from typing import Final

from coordination.contract.answers import NO_REVISION, Absent, Written
from coordination.contract.bucket import Bucket, Entry
from coordination.slots.rounds import worn_out

CREATE_ROUNDS: Final = 8  # lost rounds of one create before it gives up as unavailable


async def create(
    bucket: Bucket, key: str, value: bytes, *, message_id: str = ""
) -> Written | Entry:
    """Write a key that holds no value.

    A removed key keeps a marker, which is the revision to write over; only the leader's word on it
    counts.

    Returns:
        Written, or the live entry that stands there.

    Raises:
        Unavailable: could not be asked, or every round met another writer.
    """
    expected = NO_REVISION
    for _ in range(CREATE_ROUNDS):
        answer = await bucket.update(key, value, expected, message_id=message_id)
        if isinstance(answer, Written):
            return answer
        standing = await bucket.read(key)
        match standing:
            case Entry(is_live=True):
                return standing
            case Entry():
                expected = standing.revision
            case Absent():
                expected = NO_REVISION
    raise worn_out(operation="create", subject=key, rounds=CREATE_ROUNDS)
