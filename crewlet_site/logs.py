"""Log lines as key=value or JSON: the event's name first, then what came in `extra`."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any, Final, override

# What every record carries by itself; anything else came with the call.
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


# A one-time link stands in the address of its page, and whoever reads a log could use it.
_SECRET: Final = re.compile(r"(/welcome/)[^/\s'\"]+")


class KeyValueFormatter(logging.Formatter):
    """`2026-12-01T09:00:00.123Z INFO fleet.node lease_lost resource=seat:ada epoch=4`."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback under it where there is one."""
        pairs = "".join(f" {key}={_shown(value)}" for key, value in _extra(record).items())
        event = _one_line(record.getMessage())
        line = f"{_moment(record)} {record.levelname} {record.name} {event}{pairs}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return _hidden(f"{line}{trace}")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """The same facts as the key=value form."""
        document: dict[str, Any] = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return _hidden(json.dumps(document, default=str))


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _OWN}


def _moment(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def _shown(value: object) -> str:
    text = str(value)
    plain = text and all(character.isprintable() and character not in ' "=' for character in text)
    return text if plain else json.dumps(text)


def _hidden(text: str) -> str:
    return _SECRET.sub(r"\1…", text)


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")
