"""The fields of a caller's message that have a text, and the names of written fields that can be compared with them.

A program may read a message in another format than the caller's, such as the joined text of content parts. So fields
are compared by name: the content, the reasoning, or the name or arguments of a call.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import JsonObject
from renderers.core.losses import LossKind
from renderers.core.messages import REASONING_NAMES, media_kind
from renderers.core.spans import Path

FieldName = Path
"""The name of a field in all formats: `("content",)`, `("reasoning",)`, `("tool_calls", 0, "arguments")`, ..."""

KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", *RESULT_ROLES})
"""The roles that templates are expected to write."""
OTHER_FIELDS: dict[str, LossKind] = {"function_call": "tool_calls", "refusal": "content"}
"""Fields of messages in the OpenAI SDK that are neither ids nor metadata, and that few templates read."""
_BODY_KEYS = frozenset({"content", "tool_calls", *REASONING_NAMES, *OTHER_FIELDS})
_LINK_KEYS = frozenset({"role", "name", "tool_call_id", "id", "type"})
CONTENT: FieldName = ("content",)
REASONING: FieldName = ("reasoning",)


class InputField(NamedTuple):
    """A field with a text, a number or JSON data."""

    kind: LossKind
    path: Path
    """The path in the caller's message."""
    name: FieldName
    value: Any


def fields_of(
    message: JsonObject, called: Collection[str] = (), markers: tuple[str, str] | None = None
) -> Iterator[InputField]:
    """Yield the fields of a message that have something to write.

    Ids and unknown keys do not count, except for `OTHER_FIELDS`. Texts and data of unknown keys count if the message
    has no content, calls or reasoning: its content may have a wrong key. The name of a result does not count if it is
    among `called`, the names of the calls before it: the message repeats it. Content of an assistant is split at
    `markers`, the texts around reasoning.

    >>> [field.path for field in fields_of({"role": "user", "content": " ", "name": "Ann", "time": "12:00"})]
    [('name',)]
    >>> [field.path for field in fields_of({"role": "user", "contents": "Hi"})]
    [('contents',)]
    """
    is_result = message["role"] in RESULT_ROLES
    calls = message.get("tool_calls") or ()
    kind: LossKind = "tool_result" if is_result else "text_beside_calls" if calls else "content"
    yield from _content_fields(message.get("content"), kind, markers if message["role"] == "assistant" else None)
    # Normalised messages have copies of their reasoning under two names.
    keys = [key for key in ("thinking", "reasoning_content", "reasoning") if isinstance(message.get(key), str)]
    for text, key in {message[key]: key for key in keys}.items():
        if has_text(text):
            yield InputField("reasoning", (key,), REASONING, text)
    for number, call in enumerate(calls):
        yield from _call_fields(call, number)
    for key, other_kind in OTHER_FIELDS.items():
        if has_text(message.get(key)):
            yield InputField(other_kind, (key,), (key,), message[key])
    for key in content_keys(message):
        yield InputField(kind, (key,), (key,), message[key])
    name = message.get("name")
    if has_text(name) and not (is_result and name in called):
        yield InputField("name", ("name",), ("name",), name)


def content_keys(message: JsonObject) -> list[str]:
    """Return the unknown keys with texts or data of a message without content, calls or reasoning.

    >>> content_keys({"role": "user", "contents": "Hi"}), content_keys({"role": "user", "content": "", "time": "12:00"})
    (['contents'], [])
    """
    if not _BODY_KEYS.isdisjoint(message):
        return []
    unknown = [key for key in message if key not in _LINK_KEYS and isinstance(message[key], str | list | dict)]
    return [key for key in unknown if has_text(message[key])]


def _content_fields(content: Any, kind: LossKind, markers: tuple[str, str] | None) -> Iterator[InputField]:
    if not isinstance(content, list):
        yield from _text_fields(content, kind, CONTENT, markers)
        return
    for number, part in enumerate(content):
        path: Path = ("content", number)
        media = media_kind(part)
        if media is not None:
            yield InputField("media", path, path, media)
        elif isinstance(part, dict) and part.get("type") == "thinking":
            if has_text(part.get("thinking")):
                yield InputField("reasoning", path, REASONING, part["thinking"])
        else:
            text = part.get("text", part) if isinstance(part, dict) else part
            yield from _text_fields(text, kind, path, markers)


def _text_fields(value: Any, kind: LossKind, path: Path, markers: tuple[str, str] | None) -> Iterator[InputField]:
    """Yield the field of a text, or one for each part of it if there is reasoning in it."""
    if markers is None or not isinstance(value, str) or markers[1] not in value:
        if has_text(value):
            yield InputField(kind, path, CONTENT, value)
        return
    for text, is_reasoning in split_reasoning(value, markers):
        if has_text(text):
            yield InputField("reasoning" if is_reasoning else kind, path, CONTENT, text)


def split_reasoning(text: str, markers: tuple[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text without the markers, each with whether it is reasoning.

    The generation prompt may open the reasoning, so the first part needs no opening marker.

    >>> list(split_reasoning("Hm.</think>Yes. <think>No?</think>", ("<think>", "</think>")))
    [('Hm.', True), ('Yes. ', False), ('No?', True), ('', False)]
    """
    opening, closing = markers
    *closed, rest = text.split(closing)
    for number, part in enumerate(closed):
        before, marker, inside = part.partition(opening)
        if marker and before:
            yield before, False
        yield (inside, True) if marker else (part, number == 0)
    yield rest, False


def _call_fields(call: JsonObject, number: int) -> Iterator[InputField]:
    function, path = call.get("function"), ("tool_calls", number)
    called, inner = (function, (*path, "function")) if isinstance(function, dict) else (call, path)
    for key, kind in _CALL_FIELDS:
        value = called.get(key)
        if has_text(value) and not is_empty_object(value):
            yield InputField(kind, (*inner, key), (*path, key), value)


_CALL_FIELDS: tuple[tuple[str, LossKind], ...] = (("name", "name"), ("arguments", "tool_calls"))


def has_text(value: Any) -> bool:
    """Return True if JSON data has something to write: a text that is not blank, or a number.

    >>> has_text([None, " "]), has_text("{}"), has_text({"x": None})
    (False, True, True)
    """
    if isinstance(value, str):
        return bool(value) and not value.isspace()
    if isinstance(value, dict):
        # A key is a text too: the name of an argument.
        return bool(value)
    if isinstance(value, list):
        return any(map(has_text, value))
    return value is not None and not isinstance(value, bool)


def is_empty_object(arguments: Any) -> bool:
    """Return True for arguments that are the JSON text of an empty object.

    >>> is_empty_object("{ }"), is_empty_object({"x": 1})
    (True, False)
    """
    return isinstance(arguments, str) and "".join(arguments.split()) == "{}"


def is_word_in(name: str, value: Any) -> bool:
    """Return True if a value, such as the id of a call, contains a name as a word.

    >>> is_word_in("search", "functions.search:0"), is_word_in("f", "functions.search:0")
    (True, False)
    """
    text = str(value)
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


@functools.lru_cache(maxsize=4096)
def name_of(path: Path) -> FieldName:
    """Return the name of the field that a path in a program's message is in.

    >>> name_of(("content", 0, "thinking")), name_of(("tool_calls", 1, "function", "arguments", "city"))
    (('reasoning',), ('tool_calls', 1, 'arguments'))
    """
    key = path[0] if path else ""
    if key in REASONING_NAMES or (key == "content" and len(path) > 1 and path[-1] == "thinking"):
        return REASONING
    if key == "tool_calls":
        inner = [part for part in path[2:4] if part != "function"]
        return (*path[:2], *inner[:1])
    return path[:1]
