"""Conversations with a word of its own in every field, to check that a template writes it or that it is a loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from renderers import Loss
from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Path
from tests.support.parity import MARK, Data

__all__ = ["SHAPES", "problems_of"]

_LINKS = frozenset({"role", "type", "id", "tool_call_id", "required", "image", "timestamp"})
"""Keys with values that are no loss by rule: ids and roles link messages, `type` and `required` may be expressed in
other words, a medium becomes a placeholder, and an unknown key, such as a timestamp, is metadata of the caller's."""


def _call(number: int, arguments: Any = None) -> Data:
    arguments = {"city": "Rome", "when": {"day": ["Monday", 7], "hour": 8.5}} if arguments is None else arguments
    return {"id": f"call0000{number}", "type": "function", "function": {"name": "search", "arguments": arguments}}


USER, SYSTEM, ANSWER = ({"role": role, "content": "two words"} for role in ("user", "system", "assistant"))
THOUGHT = {**ANSWER, "reasoning_content": "some reasons"}
RESULT = {"role": "tool", "tool_call_id": "call00000", "content": "a result"}
TEXT = {"type": "text", "text": "some text"}
CALLING: Data = {"role": "assistant", "content": "", "tool_calls": [_call(0)]}

SHAPES: dict[str, list[Data]] = {
    "question": [USER],
    "system": [SYSTEM, USER, ANSWER, USER],
    "late system": [USER, ANSWER, SYSTEM, USER],
    "two systems": [SYSTEM, SYSTEM, USER],
    "developer": [{**SYSTEM, "role": "developer"}, USER],
    "unknown role": [USER, {**ANSWER, "role": "human"}, USER],
    "unknown roles": [{**ANSWER, "role": "human"}, {**ANSWER, "role": "gpt"}],
    "unknown role without content": [USER, {**THOUGHT, "role": "gpt", "content": ""}, {**CALLING, "role": "gpt"}],
    "names": [{**USER, "name": "Ann"}, {**ANSWER, "name": "Bob"}, USER],
    "reasoning": [USER, THOUGHT, USER, THOUGHT],
    "other names of reasoning": [USER, {**ANSWER, "reasoning": "hm"}, USER, {**ANSWER, "thinking": "hm hm"}],
    "inline reasoning": [USER, {**ANSWER, "content": "<think>\nsome reasons\n</think>\n\ntwo words"}, USER],
    "inline reasoning alone": [USER, {**ANSWER, "content": "<think>\nsome reasons\n</think>"}, USER, ANSWER],
    "call": [USER, CALLING],
    "call without content": [USER, {**CALLING, "content": None}, {**RESULT, "name": "search"}, USER],
    "call and text": [USER, {**CALLING, "content": "two words"}, RESULT, ANSWER],
    "call, text and reasoning": [USER, {**THOUGHT, "tool_calls": [_call(0)]}, RESULT, THOUGHT, USER],
    "calls": [USER, {**CALLING, "tool_calls": [_call(0), _call(1)]}, RESULT, {**RESULT, "tool_call_id": "call00001"}],
    "call as text": [USER, {**CALLING, "tool_calls": [_call(0, '{"city": "Rome", "day": ["Monday"]}')]}, RESULT],
    "bare call": [USER, {**CALLING, "tool_calls": [{"name": "search", "arguments": {"city": "Rome"}}]}, RESULT],
    "call without arguments": [USER, {**CALLING, "tool_calls": [_call(0, {})]}, RESULT],
    "result alone": [USER, RESULT, ANSWER],
    "result as data": [USER, CALLING, {**RESULT, "content": {"sky": "clear", "wind": [3, "west"]}}],
    "parts": [{**USER, "content": [TEXT, TEXT]}, {**ANSWER, "content": [TEXT]}, USER],
    "thinking parts": [USER, {**ANSWER, "content": [{"type": "thinking", "thinking": "some reasons"}, TEXT]}, USER],
    "image": [{**USER, "content": [{"type": "image"}, TEXT, {"type": "image"}]}, ANSWER],
    "function call": [USER, {**CALLING, "tool_calls": None, "function_call": {"name": "search", "arguments": "some"}}],
    "refusal": [USER, {**ANSWER, "content": None, "refusal": "two words"}, USER, {**ANSWER, "refusal": "two words"}],
    "two users": [USER, USER, ANSWER],
    "other keys": [{**USER, "timestamp": "12:00"}, ANSWER],
}
"""Conversations for `mark`, which numbers their words."""


def problems_of(text: str, losses: Iterable[Loss], messages: list[Data], tools: list[Data] | None) -> list[str]:
    """Return the words of marked input that are neither in a text nor lost, and the lost words that are in it."""
    written = {match[1] for match in MARK.finditer(text)}
    lost = list(losses)
    problems = []
    for word, message, path in _words(messages, tools):
        around = [loss for loss in lost if loss.message == message and _contains(loss.path, path)]
        if word not in written and not around:
            problems.append(f"message {message}: a word at {path} is neither written nor lost")
        if word in written and any(loss.amount == "all" for loss in around):
            problems.append(f"message {message}: a word at {path} is written, and all of it is lost")
    return problems


def _words(messages: list[Data], tools: list[Data] | None) -> Iterator[tuple[str, int | None, Path]]:
    """Yield the numbers of all words with their message and path."""
    for index, message in enumerate(messages):
        yield from ((word, index, path) for word, path in _words_in(message, ()))
    yield from ((word, None, path) for word, path in _words_in(tools, ("tools",)))


def _words_in(value: Any, path: Path) -> Iterator[tuple[str, Path]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _LINKS:
                yield from _words_in(key, (*path, key))
                yield from _words_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _words_in(item, (*path, index))
    else:
        yield from ((match[1], path) for match in MARK.finditer(str(value)))


def _contains(field: Path, path: Path) -> bool:
    """Return True if a path is within a field. Reasoning has several names."""
    same = [tuple("reasoning" if key in REASONING_NAMES else key for key in keys) for keys in (field, path)]
    return same[1][: len(field)] == same[0]
