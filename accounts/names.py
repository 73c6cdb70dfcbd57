"""What may be a sign-in name, a display name or a token's name."""

import re
import unicodedata
from typing import Final

from accounts.models import fold_name

DISPLAY_NAME_LIMIT: Final = 100  # characters
RESERVED: Final = frozenset({"add"})  # /people/add/ is a page
# ASCII on purpose: two names that look alike are two people to everybody who reads a record.
_SIGN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}\Z")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Unacceptable(ValueError):
    """A value that cannot be kept; `message` says what to write instead."""

    def __init__(self, *, field: str, message: str) -> None:
        self.field = field
        self.message = message
        super().__init__(message)


def read_sign_name(text: str) -> str:
    """A sign-in name in the form that is kept: lower case.

    Raises:
        Unacceptable: not 1 to 64 of letters, digits and `. _ @ + -`.
    """
    name = fold_name(text)
    if name in RESERVED:
        raise Unacceptable(field="sign_name", message="This name is an address of a page.")
    if not _SIGN_NAME.match(name):
        message = "1 to 64 of a-z, 0-9 and . _ @ + -, starting with a letter or digit."
        raise Unacceptable(field="sign_name", message=message)
    return name


def read_display_name(text: str) -> str:
    """A name as pages show it: one line, NFC.

    Raises:
        Unacceptable: empty, over 100 characters, or with characters that cannot be seen.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name or len(name) > DISPLAY_NAME_LIMIT:
        message = f"1 to {DISPLAY_NAME_LIMIT} characters."
        raise Unacceptable(field="display_name", message=message)
    if any(unicodedata.category(char) in _UNSEEN for char in name):
        message = "One line, without characters that cannot be seen."
        raise Unacceptable(field="display_name", message=message)
    return name
