"""Buckets of any backend behind the port, and plain records kept in them."""

import logging
from typing import Final

import msgspec

from coordination.contract.bucket import Bucket
from coordination.contract.cells import Cells
from coordination.contract.store import Store
from coordination.slots.buckets import Buckets
from coordination.slots.cells import CellSlot, Filing

LOG: Final = logging.getLogger("tests.contract")


class Record(msgspec.Struct, frozen=True):
    """A record of these cases."""

    text: str


def buckets_of(store: Store) -> Buckets:
    """The buckets under a store whose slots are this project's; another backend has them too."""
    found = getattr(store, "buckets", None)
    assert isinstance(found, Buckets), "this case needs a backend behind the bucket port"
    return found


def bucket_of(store: Store, suffix: str) -> Bucket:
    """One of them."""
    return buckets_of(store).by_suffix()[suffix]


def cells(store: Store, suffix: str, *, key_class: str = "") -> Cells[Record]:
    """Plain records in a bucket, under a key class of their own where it is shared."""
    filing = Filing(kind=Record, what=key_class or suffix, key_class=key_class)
    return CellSlot(bucket_of(store, suffix), filing, LOG)
