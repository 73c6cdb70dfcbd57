"""Limits that the server's door and the application behind it share."""

from typing import Final

BODY_LIMIT_BYTES: Final = 1_114_112
DRAIN_RETRY_SECONDS: Final = 30
