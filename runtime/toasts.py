"""A sentence said once after an act, with the way back where there is one.

It travels in Django's messages, so it survives the redirect and needs no script.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The form that takes an act back.

    Args:
        url: where it is posted.
        label: the button's word.
        fields: hidden inputs: handle, the version to act on, an operation id.
    """

    url: str
    label: str = "Undo"
    fields: Mapping[str, str] = field(default_factory=dict)


def say(request: HttpRequest, text: str, *, undo: Undo | None = None) -> None:
    """Say it on the next page this person loads."""
    tags = ""
    if undo:
        tags = json.dumps({"url": undo.url, "label": undo.label, "fields": dict(undo.fields)})
    messages.success(request, text, extra_tags=tags)


def undo_of(message: Message) -> Undo | None:
    """The way back that was said with this message."""
    if not message.extra_tags:
        return None
    try:
        said = json.loads(message.extra_tags)
        return Undo(url=said["url"], label=said["label"], fields=dict(said["fields"]))
    except (ValueError, KeyError, TypeError):
        return None
