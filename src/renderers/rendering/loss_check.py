"""A fast check of a run, which decides whether losses have to be searched for at all. Every render runs it."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from typing import Any

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import JsonObject
from renderers.core.losses import LossKind
from renderers.core.spans import Path

Written = Collection[tuple[int, Path]]
"""The fields with text in the output of a run, as messages and paths."""

_CONTENT, _NAME = ("content",), ("name",)
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
        if not (has_content and len(message) == 2) and _may_lose_message(
            index, message, written, kinds, has_content, called
        ):
            return True
    return any(values and kind in kinds and not _writes_items(kind, values[0], written) for kind, values in items)


def _may_lose_message(
    index: int,
    message: JsonObject,
    written: Written,
    kinds: Container[LossKind],
    has_content: bool,
    called: set[str],
) -> bool:
    """Check a message. Add the names of its calls to `called`."""
    calls_written = False
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function")
        if type(function) is not dict:
            return True
        called.add(function["name"])
        path = ("tool_calls", number, "function")
        has_name = (index, (*path, "name")) in written
        has_arguments = _writes_arguments(index, (*path, "arguments"), function.get("arguments"), written)
        calls_written = calls_written or has_name or has_arguments
        if (not has_name and "name" in kinds) or (not (has_name and has_arguments) and "tool_calls" in kinds):
            return True
    content = message.get("content")
    if type(content) is list:
        return not _writes_parts(index, content, has_content, written)
    if not has_content and content and not (type(content) is str and content.isspace()):
        return not calls_written or "text_beside_calls" in kinds
    name = message.get("name")
    if name and "name" in kinds and (index, _NAME) not in written:
        return name not in called or message["role"] not in RESULT_ROLES
    if "reasoning" in kinds and message.get("reasoning_content"):
        return not any((index, path) in written for path in _REASONING)
    return False


def _writes_parts(index: int, parts: Sequence[Any], has_content: bool, written: Written) -> bool:
    """Return True if content consists of text parts, and something was written of them."""
    if not all(type(part) is dict and part.get("type") == "text" for part in parts):
        return False
    return has_content or any((index, ("content", number, "text")) in written for number in range(len(parts)))


def _writes_arguments(index: int, path: Path, arguments: Any, written: Written) -> bool:
    if not arguments or (index, path) in written:
        return True
    return type(arguments) is dict and (index, (*path, next(iter(arguments)))) in written


def _writes_items(name: LossKind, item: Any, written: Written) -> bool:
    """Return True if something was written of a list, judged by its first item."""
    function = item.get("function") if type(item) is dict else None
    inner = ("name",) if function is None else ("function", "name")
    paths: tuple[Path, ...] = ((name, 0), (name,), (name, 0, *inner), (name, 0, *inner[:1]))
    return any((-1, path) in written for path in paths)
