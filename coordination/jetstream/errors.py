"""What the client library and the broker can say, mapped to our errors once.

The table names every exception class of `nats.errors` and `nats.js.errors`; a test enumerates them
and fails on one without a row. The broker's own refusals come as codes: what each decides is said
by the call that asked, so here they only have names.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

import msgspec
import nats.errors as core
import nats.js.errors as js

from coordination.errors import (
    ConfigurationMismatch,
    CoordinationError,
    CorruptRecord,
    InvalidRequest,
    Unavailable,
)


class Code(IntEnum):
    """The broker's `err_code`s that decide something here."""

    NO_PEERS = 10005  # no suitable peers for placement: wait for them
    NO_MEMORY = 10028
    NO_MESSAGE = 10037  # the only absence there is
    NO_STORAGE = 10047
    NAME_IN_USE = 10058  # a peer created the stream with other settings
    NO_STREAM = 10059
    COMPARED_AND_LOST = 10071
    NO_REPLICAS = 10074  # more than one replica on a broker without peers
    NO_LIMIT = 10120  # the account has no limit for this replica count
    SAME_ID_IN_PROCESS = 10158  # decides nothing
    IN_PROCESS = 10164  # decides nothing: an earlier conditional write is being finished


class ApiError(msgspec.Struct, frozen=True):
    """The `error` of a JetStream answer."""

    code: int = 0
    err_code: int = 0
    description: str = ""


def _rows[E: CoordinationError](
    kind: type[E], classes: Iterable[type[Exception]]
) -> dict[type[Exception], type[CoordinationError]]:
    return dict.fromkeys(classes, kind)


FAULTS: Final[Mapping[type[Exception], type[CoordinationError]]] = {
    **_rows(
        Unavailable,
        (
            core.Error,
            core.TimeoutError,
            core.NoRespondersError,
            core.StaleConnectionError,
            core.OutboundBufferLimitError,
            core.UnexpectedEOF,
            core.FlushTimeoutError,
            core.ConnectionClosedError,
            core.SlowConsumerError,
            core.NoServersError,
            core.DrainTimeoutError,
            core.ConnectionDrainingError,
            core.ConnectionReconnectingError,
            core.ProtocolError,
            core.JsonParseError,
            core.ServerNotInPoolError,
            core.NotJSMessageError,
            core.MsgAlreadyAckdError,
            js.Error,
            js.APIError,
            js.ServiceUnavailableError,
            js.ServerError,
            js.NotFoundError,
            js.BadRequestError,
            js.ConsumerInvalidResetError,
            js.NoStreamResponseError,
            js.TooManyStalledMsgsError,
            js.FetchTimeoutError,
            js.ConsumerSequenceMismatchError,
            js.BucketNotFoundError,
            # "Not there" and "compared and lost" are answers, and no call of ours asks the
            # library for one: raised anyway, they say nothing about what is true.
            js.KeyValueError,
            js.KeyDeletedError,
            js.KeyNotFoundError,
            js.KeyWrongLastSequenceError,
            js.NoKeysError,
            js.LinkIsABucketError,
            js.ObjectNotFoundError,
            js.ObjectDeletedError,
            js.ObjectAlreadyExists,
        ),
    ),
    **_rows(
        InvalidRequest,
        (
            core.BadSubscriptionError,
            core.BadSubjectError,
            core.BadHeaderError,
            core.BadTimeoutError,
            core.MaxPayloadError,
            core.InvalidCallbackTypeError,
            js.BadBucketError,
            js.KeyHistoryTooLargeError,
            js.InvalidKeyError,
            js.InvalidBucketNameError,
            js.InvalidObjectNameError,
        ),
    ),
    **_rows(CorruptRecord, (js.BadObjectMetaError, js.DigestMismatchError)),
    **_rows(
        ConfigurationMismatch,
        (
            core.SecureConnRequiredError,
            core.SecureConnWantedError,
            core.SecureConnFailedError,
            core.AuthorizationError,
            core.InvalidUserCredentialsError,
            js.KeyValueLimitMarkerTTLNotSupportedError,
        ),
    ),
}


def translate(fault: Exception, *, operation: str, subject: str) -> CoordinationError:
    """Our error for one of the library's, to be raised from it.

    Args:
        fault: what was raised; anything outside the table, such as an `OSError`, is `Unavailable`.
        operation: the verb that was asked.
        subject: what it was asked about.
    """
    kind = FAULTS.get(type(fault), Unavailable)
    return kind(f"{operation} of {subject}: {fault}", operation=operation, subject=subject)


def refusal(error: ApiError, *, operation: str, subject: str) -> Unavailable:
    """The broker answered, and not with what was asked: that says nothing about what is true."""
    msg = f"{operation} of {subject}: the broker says {error.description!r} ({error.err_code})"
    return Unavailable(msg, operation=operation, subject=subject)
