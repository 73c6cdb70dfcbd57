"""Listings turned into records: what cannot be decoded is skipped with a warning, never guessed at.

Used where a missing row decides nothing by itself. A slot whose listing does decide (seat pauses)
raises instead and does not come here.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

from coordination.contract.bucket import Bucket, Entry
from coordination.errors import CorruptRecord


def decoded[T](
    entries: Iterable[Entry],
    read: Callable[[Entry], T | None],
    *,
    bucket: Bucket,
    log: logging.Logger,
) -> Iterator[T]:
    """Each entry's record, in order.

    Args:
        entries: live entries of a certified listing.
        read: the record of an entry, None where its key is nobody's.
        bucket: whose entries, for the log.
        log: where to warn.
    """
    for entry in entries:
        try:
            record = read(entry)
        except CorruptRecord as fault:
            log_undecodable(log, bucket, entry.key, fault)
            continue
        if record is None:
            log.warning("coord_kv_undecodable_key bucket=%s key=%s", bucket.name, entry.key)
            continue
        yield record


def log_undecodable(log: logging.Logger, bucket: Bucket, key: str, fault: CorruptRecord) -> None:
    """Say that a listing left a record out."""
    log.warning(
        "coord_kv_undecodable_record bucket=%s key=%s error=%s", bucket.name, key, repr(fault)
    )
