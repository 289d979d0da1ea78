"""Check the types of the content, the reasoning and the tool calls of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderers.core.spans import Path
from renderers.core.text import describe_type
from renderers.errors import MessageError

# The results of tools may be any JSON data, and so may the content of roles that only some templates have.
_TEXT_ROLES = frozenset({"system", "developer", "user", "assistant"})
# A tuple is checked faster than a union, which is built on every call.
_PARTS, _ARGUMENTS = (str, Mapping), (str, Mapping)


def check_content(message: Mapping[str, Any], index: int) -> None:
    """Raise a `MessageError` if the content of a message has a type that no template takes.

    A tool may return a number or an object.
    """
    content, path = message.get("content"), ("content",)
    if content is None or type(content) is str:
        return
    if content is True or content is False:
        raise _type_error("a string, a list of parts, None, or JSON data of a tool", content, index, path)
    if message.get("role") not in _TEXT_ROLES or isinstance(content, str):
        return
    if not isinstance(content, list | tuple):
        remedy = ": put a part into a list" if isinstance(content, Mapping) else ""
        raise _type_error("a string, a list of parts or None", content, index, path, remedy)
    for number, part in enumerate(content):
        if not isinstance(part, _PARTS):
            expected = "a part such as {'type': 'text', 'text': 'Hello!'}"
            raise _type_error(expected, part, index, (*path, number))


def check_reasoning(reasoning: object, index: int, key: str) -> None:
    """Raise a `MessageError` if the reasoning of a message is not a string. An empty list is allowed."""
    if not isinstance(reasoning, str) and reasoning != []:
        raise _type_error("a string", reasoning, index, (key,))


def has_usual_arguments(function: Mapping[str, Any]) -> bool:
    """Return True if the arguments of a tool call are an object or text of exact types, or missing."""
    return type(function.get("arguments", "")) in (str, dict)


def check_arguments(function: Mapping[str, Any], index: int, path: Path) -> None:
    """Raise a `MessageError` if the arguments of a tool call are neither an object nor text. They may be missing."""
    arguments = function.get("arguments", "")
    if not isinstance(arguments, _ARGUMENTS):
        remedy = ": pass {} for a call without arguments" if arguments is None else ""
        raise _type_error("an object or JSON text", arguments, index, (*path, "arguments"), remedy)


def _type_error(expected: str, value: object, index: int, path: Path, remedy: str = "") -> MessageError:
    return MessageError(f"must be {expected}, not {describe_type(value)}{remedy}", message=index, path=path)
