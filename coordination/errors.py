"""What can go wrong in the coordination layer, as one tree.

::

    CoordinationError              carries `operation` and `subject`
    ├─ Unavailable                 UNKNOWN: the store did not answer
    │  ├─ OutcomeUnknown           UNKNOWN: a write left and was not acknowledged
    │  └─ CorruptRecord            UNKNOWN: a deciding record cannot be decoded
    ├─ InvalidRequest (ValueError) the caller's bug; never a refusal
    │  └─ TtlTooLong               a TTL above the ceiling in force; never clamped
    ├─ ActivationRaced             another revision became active first
    └─ ConfigurationMismatch       boot only: the process refuses to start

Yes and no are values (`coordination.contract.answers`); only the third answer is raised, so it can
never be returned, stored, compared or counted by accident.
"""


class CoordinationError(Exception):
    """Base of the tree.

    Args:
        message: one sentence that names the fault and, where there is one, the way out.
        operation: the verb that was asked, such as `acquire`.
        subject: what it was asked about: a resource, scope, bucket or key.
    """

    def __init__(self, message: str, *, operation: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.subject = subject


class Unavailable(CoordinationError):
    """The store could not be asked. It is the third answer, never a no."""


class OutcomeUnknown(Unavailable):
    """A write was sent, its acknowledgement lost: it may have landed. Read before deciding."""


class CorruptRecord(Unavailable):
    """A record that decides something cannot be decoded, so nobody knows what it says."""


class InvalidRequest(CoordinationError, ValueError):
    """The request itself is wrong: blank owner, empty segment, bad TTL. Nothing was written."""


class TtlTooLong(InvalidRequest):
    """A TTL longer than its bucket can keep. Refused rather than clamped."""


class ActivationRaced(CoordinationError):
    """The configuration pointer is not what the caller expected. Nothing became active.

    Args:
        message: one sentence.
        standing: the revision id that is active instead; empty when none was read.
    """

    def __init__(self, message: str, *, standing: str = "", subject: str = "") -> None:
        super().__init__(message, operation="activate", subject=subject)
        self.standing = standing


class ConfigurationMismatch(CoordinationError):
    """What the broker keeps and what this node is configured for cannot both be right."""
