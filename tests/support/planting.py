"""Conversations with a word of its own in every field, to find fields that a template does not write."""

from __future__ import annotations

import itertools
from typing import Any

from renderers.core.spans import Path

__all__ = ["PLANTED", "Data", "Place", "plant"]

Data = dict[str, Any]
Place = tuple[int | None, Path]
"""A message, or None for tools and documents, and the path of a text in it."""

UNPLANTED = frozenset({"role", "type", "id", "tool_call_id", "required", "image", "timestamp"})
"""Keys with values that stay: a template tests them, or they only link messages."""


def _call(number: int, arguments: Any = None) -> Data:
    arguments = {"city": "w", "when": {"day": ["w", 7]}} if arguments is None else arguments
    return {"id": f"call0000{number}", "type": "function", "function": {"name": "w", "arguments": arguments}}


def _tool(text: str) -> Data:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": text, "enum": ["w", "w"]},
            "when": {"type": "object", "properties": {"day": {"type": "array", "items": {"type": "string"}}}},
        },
        "required": ["city"],
    }
    return {"type": "function", "function": {"name": "w", "description": "w", "parameters": schema}}


USER, SYSTEM, ANSWER = ({"role": role, "content": "w w"} for role in ("user", "system", "assistant"))
THOUGHT = {**ANSWER, "reasoning_content": "w w"}
RESULT = {"role": "tool", "tool_call_id": "call00000", "name": "w", "content": "w w"}
TEXT = {"type": "text", "text": "w w"}
CALLING: Data = {"role": "assistant", "content": "", "tool_calls": [_call(0)]}

PLANTED: dict[str, list[Data]] = {
    "question": [USER],
    "system": [SYSTEM, USER, ANSWER, USER],
    "late system": [USER, ANSWER, SYSTEM, USER],
    "two systems": [SYSTEM, SYSTEM, USER],
    "developer": [{**SYSTEM, "role": "developer"}, USER],
    "unknown role": [USER, {**ANSWER, "role": "human"}, USER],
    "unknown first role": [{**ANSWER, "role": "human"}, {**ANSWER, "role": "gpt"}],
    "names": [{**USER, "name": "w"}, {**ANSWER, "name": "w"}, USER],
    "reasoning": [USER, THOUGHT, USER, THOUGHT],
    "old names of reasoning": [USER, {**ANSWER, "reasoning": "w"}, USER, {**ANSWER, "thinking": "w"}],
    "inline reasoning": [USER, {**ANSWER, "content": "<think>\nw w\n</think>\n\nw w"}, USER],
    "call": [USER, CALLING],
    "call without content": [USER, {**CALLING, "content": None}, RESULT, USER],
    "call and text": [USER, {**CALLING, "content": "w w"}, RESULT, ANSWER],
    "call, text and reasoning": [USER, {**THOUGHT, "tool_calls": [_call(0)]}, RESULT, THOUGHT, USER],
    "calls": [USER, {**CALLING, "tool_calls": [_call(0), _call(1)]}, RESULT, {**RESULT, "tool_call_id": "call00001"}],
    "call as text": [USER, {**CALLING, "tool_calls": [_call(0, '{"city": "w", "day": ["w"]}')]}, RESULT],
    "bare call": [USER, {**CALLING, "tool_calls": [{"name": "w", "arguments": {"city": "w"}}]}, RESULT],
    "result alone": [USER, RESULT, ANSWER],
    "result as data": [USER, CALLING, {**RESULT, "content": {"sky": "w", "wind": [3, "w"]}}],
    "parts": [{**USER, "content": [TEXT, TEXT]}, {**ANSWER, "content": [TEXT]}, USER],
    "thinking parts": [USER, {**ANSWER, "content": [{"type": "thinking", "thinking": "w w"}, TEXT]}, USER],
    "image": [{**USER, "content": [{"type": "image"}, TEXT, {"type": "image"}]}, ANSWER],
    "two users": [USER, USER, ANSWER],
    "other keys": [{**USER, "timestamp": "12:00"}, ANSWER],
}
"""Conversations with `w` in the place of each text."""


def plant(messages: list[Data], *, number: int = 0) -> tuple[list[Data], list[Data], dict[str, Place]]:
    """Return messages and tools with a word of its own for each `w`, and the place of each word.

    The name of each result is that of a call, as the name of a tool is, so that it has no place of its own.
    """
    words = (f"plant{number}x{count}z" for count in itertools.count())
    places: dict[str, Place] = {}

    def fill(value: Any, message: int | None, path: Path) -> Any:
        if isinstance(value, dict):
            return {key: item if key in UNPLANTED else fill(item, message, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item, message, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        texts = []
        for text in value.split("w"):
            word = next(words)
            places[word] = message, path
            texts += [text, word]
        del places[texts.pop()]
        return "".join(texts)

    planted = [fill(message, index, ()) for index, message in enumerate(messages)]
    tools = [fill(tool, None, ("tools", index)) for index, tool in enumerate([_tool("w"), _tool("w")])]
    return planted, tools, places
