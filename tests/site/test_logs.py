"""What a log line may hold, and how much a log may."""

import json
import logging
import sys
from pathlib import Path

import pytest

from crewlet_site.logs import JsonFormatter, KeyValueFormatter
from crewlet_site.supervisor import children


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("django.request", logging.WARNING, "x.py", 1, message, (), None)
    made.__dict__.update(extra)
    return made


@pytest.mark.parametrize("formatter", [KeyValueFormatter(), JsonFormatter()])
def test_the_secret_of_a_one_time_link_is_not_logged(formatter: logging.Formatter) -> None:
    made = record(
        "Unprocessable Content: /welcome/s3cret-_A/",
        request="<ASGIRequest: POST '/welcome/s3cret-_A/'>",
    )
    try:
        Path("/welcome/s3cret-_A/").stat()
    except OSError:
        made.exc_info = sys.exc_info()
    line = formatter.format(made)
    assert "s3cret" not in line
    assert "/welcome/" in line


def test_a_line_end_in_a_message_makes_no_second_line() -> None:
    line = KeyValueFormatter().format(record("Not Found: /a\r\n2026 ERROR forged", path="b\nc"))
    assert len(line.splitlines()) == 1
    assert json.loads(JsonFormatter().format(record("a\nb")))["event"] == "a\nb"


def test_a_log_that_grew_large_is_emptied_under_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LOG_LIMIT_BYTES", 10)
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"short\n")
        children.cut(log)
        assert log.read_bytes() == b"short\n"
        writer.write(b"and then much longer\n")
        children.cut(log)
        writer.write(b"goes on\n")
    assert log.read_bytes() == b"goes on\n"
    assert (tmp_path / "web.log.1").read_bytes() == b"short\nand then much longer\n"


def test_a_log_is_emptied_even_where_no_copy_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LOG_LIMIT_BYTES", 1)
    log = tmp_path / "web.log"
    log.write_bytes(b"lines\n")
    (tmp_path / "web.log.1").symlink_to("/dev/full")
    children.cut(log)
    assert log.read_bytes() == b""
