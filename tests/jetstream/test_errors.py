"""The mapping of the library's exceptions: complete, and with the cause kept."""

import inspect

import nats.errors
import nats.js.errors
import pytest

from coordination.errors import (
    ConfigurationMismatch,
    CorruptRecord,
    InvalidRequest,
    Unavailable,
)
from coordination.jetstream.errors import FAULTS, ApiError, refusal, translate


def library_exceptions() -> set[type[Exception]]:
    return {
        found
        for module in (nats.errors, nats.js.errors)
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception) and found.__module__ == module.__name__
    }


def test_every_exception_of_the_library_has_a_row() -> None:
    found = library_exceptions()
    assert len(found) >= 57
    assert found - FAULTS.keys() == set()


def test_no_row_stands_for_a_class_the_library_lost() -> None:
    assert FAULTS.keys() - library_exceptions() == set()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (nats.errors.TimeoutError(), Unavailable),
        (ConnectionResetError("gone"), Unavailable),
        (nats.errors.MaxPayloadError(), InvalidRequest),
        (nats.errors.AuthorizationError(), ConfigurationMismatch),
        (nats.js.errors.DigestMismatchError(), CorruptRecord),
        (nats.js.errors.NotFoundError(), Unavailable),
    ],
)
def test_a_fault_becomes_ours_and_names_the_call(fault: Exception, kind: type[Exception]) -> None:
    error = translate(fault, operation="renew", subject="seat:ceo")
    assert type(error) is kind
    assert error.operation == "renew"
    assert error.subject == "seat:ceo"
    assert "renew of seat:ceo" in str(error)


def test_a_refusal_of_the_broker_says_its_words_and_its_code() -> None:
    error = refusal(
        ApiError(code=404, err_code=10059, description="stream not found"),
        operation="read",
        subject="crewlet_leases",
    )
    assert type(error) is Unavailable
    assert "stream not found" in str(error)
    assert "10059" in str(error)
