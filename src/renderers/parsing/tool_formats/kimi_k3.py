"""Calls as tags of special tokens, with a type for each argument.

    <|open|>tools<|sep|>
    <|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="city" type="string"<|sep|>Rome<|close|>argument<|sep|>
    <|close|>call<|sep|>
    <|close|>tools<|sep|>

(Line breaks are for readability only.) Used by Kimi K3. Strings have no quotes, other values are JSON. A call can
have a tag `json` with all arguments in one object instead. Quotes and ampersands in attributes are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.schema import ToolSchemas, read_value
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    OK,
    CallHead,
    Payload,
    ToolFormat,
    failed_call,
    named_call,
    recovered,
)
from renderers.parsing.tool_formats.json_calls import ReadArguments, read_arguments

_SECTION = "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"
_CALL = "<|open|>call", "<|close|>call<|sep|>"
_SEPARATOR = "<|sep|>"
_ARGUMENT = "<|open|>argument", "<|close|>argument<|sep|>"
_JSON = "<|open|>json", "<|close|>json<|sep|>"
_ATTRIBUTE = lazy_pattern(r'(\w+)="([^"]*)"')


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag."""
    pairs = _ATTRIBUTE.findall(text)
    return {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in pairs}


class _Tag(NamedTuple):
    """The attributes and the text of a tag, and whether it is closed and has no other text."""

    attributes: dict[str, str]
    text: str
    is_closed: bool


def _tags(payload: Payload, start: int, markers: tuple[str, str]) -> tuple[list[_Tag], str]:
    """Return the tags from a position on, and the text outside of them."""
    byte_text, (opener, closer) = payload.byte_text, map(payload.mark, markers)
    separator, tags, outside = payload.mark(_SEPARATOR), list[_Tag](), list[str]()
    closed, separated = start, -1
    while (opened := byte_text.find(opener, start)) >= 0:
        outside.append(byte_text[start:opened])
        if separated < opened:
            separated = byte_text.find(separator, opened)
        if separated < 0:
            tags.append(_Tag(_attributes(payload.decode(byte_text[opened + len(opener) :])), "", is_closed=False))
            return tags, payload.decode("".join(outside))
        head_start = opened + len(opener)
        following = byte_text.find(opener, head_start, separated)
        head_end = byte_text.find(closer, head_start, separated if following < 0 else following)
        if following >= 0 or head_end >= 0:
            # The separator is missing.
            start = head_end if head_end >= 0 else following
            attributes = _attributes(payload.decode(byte_text[head_start:start]))
            tags.append(_Tag(attributes, "", is_closed=False))
            continue
        body = separated + len(separator)
        following = byte_text.find(opener, body)
        if 0 <= closed < body:
            # The last search holds for this tag too if it found nothing, or a later position.
            closed = byte_text.find(closer, body)
        is_closed = closed >= 0 and not 0 <= following < closed
        if is_closed:
            end, start = closed, closed + len(closer)
        else:
            end = start = following if following >= 0 else len(byte_text)
        head = payload.decode(byte_text[head_start:separated])
        is_closed = is_closed and not _ATTRIBUTE.sub("", head).strip()
        tags.append(_Tag(_attributes(head), payload.decode(byte_text[body:end]), is_closed))
    return tags, payload.decode("".join([*outside, byte_text[start:]]))


def _read(payload: Payload) -> ParsedToolCall:
    head, start = payload.head(_SEPARATOR)
    name = _attributes(payload.text() if head is None else head).get("tool")
    if head is None:
        return failed_call(MALFORMED, name)
    tags, outside = _tags(payload, start, _ARGUMENT)
    objects, beside = _tags(payload, start, _JSON)
    if objects:
        return _call_of_object(name, objects, is_alone=not beside.strip())
    if not tags and outside.strip().startswith("{"):
        return recovered(named_call(name, *read_arguments(outside)), RecoveryKind.OTHER_SYNTAX)
    return _call_of_tags(name, tags, payload.schemas, is_alone=not outside.strip())


def _call_of_object(name: str | None, tags: Sequence[_Tag], *, is_alone: bool) -> ParsedToolCall:
    """Return a call with all arguments in one tag. `is_alone` is False if there is text outside of such tags."""
    tag = tags[0]
    arguments = read_arguments(tag.text) if tag.is_closed else ReadArguments(tag.text, MALFORMED)
    if arguments.status is OK and (len(tags) > 1 or not is_alone):
        arguments = arguments._replace(status=MALFORMED)
    return named_call(name, *arguments)


def _call_of_tags(name: str | None, tags: Sequence[_Tag], schemas: ToolSchemas, *, is_alone: bool) -> ParsedToolCall:
    """Return a call with a tag for each argument. `is_alone` is False if there is text outside of the tags."""
    arguments: dict[str, Any] = {}
    status = OK if is_alone else MALFORMED
    recoveries: tuple[RecoveryKind, ...] = ()
    for attributes, text, is_closed in tags:
        key, kind = attributes.get("key"), attributes.get("type")
        if key is None or key in arguments or not is_closed:
            status = MALFORMED
        if key is None:
            continue
        if kind is None:
            recoveries = (RecoveryKind.UNTYPED_VALUE,)
            arguments[key], is_valid = read_value(text, schemas.parameter(name or "", key))
        else:
            arguments[key], is_valid = _read_typed(text, kind)
        status = status if is_valid or status is MALFORMED else INVALID
    return named_call(name, arguments, status, recoveries)


def _read_typed(text: str, kind: str) -> tuple[Any, bool]:
    """Return a value of a type, and whether its text fits the type."""
    if kind == "string":
        return text, True
    try:
        return read_json(text.strip()), True
    except JsonError:
        return text, False


def _read_head(payload: Payload) -> CallHead:
    head, end = payload.head(_SEPARATOR)
    return CallHead() if head is None else CallHead(_attributes(head).get("tool"), end)


KIMI_K3 = ToolFormat(
    key="kimi_k3",
    section=_SECTION,
    call=_CALL,
    value=_ARGUMENT,
    inner=(_SEPARATOR, *_JSON),
    separates_calls=True,
    read=_read,
    read_head=_read_head,
)
