"""A fast check of a run, which decides whether losses have to be searched for at all. Every render runs it."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Sequence
from typing import Any

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import JsonObject
from renderers.core.losses import LossKind
from renderers.core.spans import Path
from renderers.rendering.input_fields import KNOWN_ROLES, has_text, is_empty_object, is_word_in

Written = Collection[tuple[int, Path]]
"""The fields with text in the output of a run, as messages and paths."""

_CONTENT, _NAME = ("content",), ("name",)
_FIRST_KEY = re.compile(r'\s*\{\s*"([^"\\]*)"')
"""The first key of an object in JSON, if it has no escapes."""
_REASONING = (("reasoning_content",), ("thinking",), ("reasoning",))


def may_lose(
    messages: Sequence[JsonObject],
    items: Sequence[tuple[LossKind, Sequence[Any] | None]],
    written: Written,
    kinds: Container[LossKind],
) -> bool:
    """Return False if something was written of every field of some kinds. True may be a false alarm.

    Fields are looked up at the paths that most templates write. `items` are the tools and the documents.
    """
    called: set[str] = set()
    for index, message in enumerate(messages):
        has_content = (index, _CONTENT) in written
        # Most messages have a role and a content only.
        if has_content and len(message) == 2:
            continue
        if _may_lose_message(index, message, written, kinds, has_content, called):
            return True
    for kind, values in items:  # noqa: SIM110 - a generator takes longer
        if values and kind in kinds and not _writes_items(kind, written):
            return True
    return False


def _may_lose_message(
    index: int,
    message: JsonObject,
    written: Written,
    kinds: Container[LossKind],
    has_content: bool,
    called: set[str],
) -> bool:
    """Check a message. Add the names of its calls to `called`."""
    if message["role"] not in KNOWN_ROLES or message.get("function_call") or message.get("refusal"):
        return True
    calls = message.get("tool_calls")
    calls_lost = _may_lose_calls(index, calls or (), written, called)
    if calls_lost and ("tool_calls" in kinds or "name" in kinds):
        return True
    if not has_content:
        content = message.get("content")
        if type(content) is list:
            return not _writes_parts(index, content, written)
        if content and not (type(content) is str and content.isspace()):
            return not calls or calls_lost or "text_beside_calls" in kinds
    name = message.get("name")
    if name and "name" in kinds and (index, _NAME) not in written:
        return name not in called or message["role"] not in RESULT_ROLES
    if "reasoning" in kinds and message.get("reasoning_content"):
        return not any((index, path) in written for path in _REASONING)
    return False


def _may_lose_calls(index: int, calls: Sequence[JsonObject], written: Written, called: set[str]) -> bool:
    for number, call in enumerate(calls):
        function = call.get("function")
        if type(function) is not dict:
            return True
        name, arguments = function["name"], function.get("arguments")
        called.add(name)
        if (index, ("tool_calls", number, "function", "name")) not in written and not (
            (index, ("tool_calls", number, "id")) in written and is_word_in(name, call.get("id"))
        ):
            return True
        if arguments and not _writes_arguments(index, number, arguments, written):
            return True
    return False


def _writes_arguments(index: int, number: int, arguments: Any, written: Written) -> bool:
    """Return True if something was written of the arguments of a call, judged by the first of them."""
    if (index, ("tool_calls", number, "function", "arguments")) in written:
        return True
    first: str | None = None
    if type(arguments) is dict:
        first = next(iter(arguments))
    elif type(arguments) is str:
        key = _FIRST_KEY.match(arguments)
        if key is None:
            return is_empty_object(arguments) or not has_text(arguments)
        first = key[1]
    return (index, ("tool_calls", number, "function", "arguments", first)) in written


def _writes_parts(index: int, parts: Sequence[Any], written: Written) -> bool:
    """Return True if content consists of text parts, and something was written of them."""
    if not all(type(part) is dict and part.get("type") == "text" for part in parts):
        return False
    return any((index, ("content", number, "text")) in written for number in range(len(parts)))


def _writes_items(name: LossKind, written: Written) -> bool:
    """Return True if something was written of a list, judged by its first item."""
    return (
        (-1, (name, 0)) in written
        or (-1, (name, 0, "function")) in written
        or (-1, (name, 0, "function", "name")) in written
        or (-1, (name, 0, "name")) in written
        or (-1, (name,)) in written
    )
