"""From text to YAML nodes that still know their line, with everything hostile refused first.

The text is walked as events before anything is built: aliases (a few lines can expand to
gigabytes), deep nesting (the composer recurses in C) and too many nodes never reach the composer.
"""

from typing import Any, Final

import yaml

from company.problems import DocumentInvalid, ProblemKind, invalid

DOCUMENT_LIMIT_BYTES: Final = 8 * 1024 * 1024
DEPTH_LIMIT: Final = 20
NODES_LIMIT: Final = 1_000_000

_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


def compose(text: str) -> yaml.Node:
    """The root node of one YAML document.

    Raises:
        DocumentInvalid: over 8 MiB, empty, not YAML, more than one document, or with anchors,
            aliases or tags.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > DOCUMENT_LIMIT_BYTES:
        message = f"The document has {size:,} bytes; the limit is {DOCUMENT_LIMIT_BYTES:,}."
        raise invalid(1, ProblemKind.OUT_OF_RANGE, message)
    try:
        _walk(text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as fault:
        raise _not_yaml(fault) from fault
    except (yaml.reader.ReaderError, UnicodeError) as fault:
        raise _unreadable(text, fault) from fault
    if root is None:
        raise invalid(1, ProblemKind.MISSING, "The document is empty.")
    return root


def _walk(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        line = _line_of(event.start_mark)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            message = "Anchors and aliases (&, *) are not read; write the value out."
            raise invalid(line, ProblemKind.SHAPE, message)
        if getattr(event, "tag", None):
            raise invalid(line, ProblemKind.SHAPE, "Tags (!) are not read; leave the tag out.")
        depth += isinstance(event, _OPENING)
        depth -= isinstance(event, _CLOSING)
        if depth > DEPTH_LIMIT:
            message = f"Nothing in this document nests deeper than {DEPTH_LIMIT} levels."
            raise invalid(line, ProblemKind.SHAPE, message)
        if count > NODES_LIMIT:
            message = f"The document has more than {NODES_LIMIT:,} entries."
            raise invalid(line, ProblemKind.OUT_OF_RANGE, message)


def _not_yaml(fault: yaml.MarkedYAMLError) -> DocumentInvalid:
    said = fault.problem or fault.context or "not readable"
    if isinstance(fault, yaml.composer.ComposerError):
        said = "there is more than one document in the file"
    line = _line_of(fault.problem_mark or fault.context_mark)
    return invalid(line, ProblemKind.INVALID, f"This is not valid YAML: {said}.")


def _line_of(mark: Any) -> int:
    # Any: the marks of libyaml and of the Python parser share no type.
    return int(mark.line) + 1 if mark is not None else 1


def _unreadable(text: str, fault: Exception) -> DocumentInvalid:
    bad = next((n for n, char in enumerate(text) if not _is_printable(char)), 0)
    line = text.count("\n", 0, bad) + 1
    said = f"the character U+{ord(text[bad]):04X} may not stand in it" if text else str(fault)
    return invalid(line, ProblemKind.INVALID, f"This is not valid YAML: {said}.")


def _is_printable(char: str) -> bool:
    point = ord(char)
    if char in "\t\n\r\x85" or 0x20 <= point <= 0x7E:
        return True
    return point >= 0xA0 and not 0xD800 <= point <= 0xDFFF and point not in {0xFFFE, 0xFFFF}
