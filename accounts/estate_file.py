"""The estate's file, read-only on every connection (`PRAGMA query_only`) but while written.

Two things write: migrations, and `accounts.people_writer` for one transaction at a time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

ESTATE: Final = "estate"


@contextmanager
def writing() -> Iterator[None]:
    """One transaction that may write the estate; it takes the write lock before it reads."""
    connection = connections[ESTATE]
    was_read_only = let_write(connection)
    try:
        with transaction.atomic(using=ESTATE):
            yield
    finally:
        if was_read_only:
            stop_writing(connection)


def let_write(connection: BaseDatabaseWrapper) -> bool:
    """Lift the read-only mark from one connection; True when it was there."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only")
        was_read_only = bool(cursor.fetchone()[0])
        cursor.execute("PRAGMA query_only=OFF")
    return was_read_only


def stop_writing(connection: BaseDatabaseWrapper) -> None:
    """Put the read-only mark back."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only=ON")
