"""Running out of compare-and-set rounds: an operation that lost them all does not know."""

from coordination.errors import Unavailable


def worn_out(*, operation: str, subject: str, rounds: int) -> Unavailable:
    """The error of an operation that met another writer in every round."""
    msg = f"{operation} of {subject} met another writer {rounds} times"
    return Unavailable(msg, operation=operation, subject=subject)
