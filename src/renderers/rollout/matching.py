"""Find the sampled turns of a rollout in a conversation that a harness wrote."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.messages import REASONING_NAMES
from renderers.rollout.trajectory import Turn


class MatchedHistory(NamedTuple):
    """A sampled turn of a conversation, and the number of messages up to and including it."""

    turn: Turn
    end: int


def find_history(
    turns: Sequence[Turn], messages: Sequence[JsonObject], *, latest: Sequence[Turn]
) -> MatchedHistory | None:
    """Return the last turn of the longest history that a conversation begins with; None if there is no such turn.

    Args:
        turns: The sampled turns, in the order in which they were sampled.
        messages: The normalised messages of the conversation.
        latest: The turns of the current branch. They are compared first. If others match as far, one of these is
            returned.
    """
    matched = _match_turns(latest, messages)
    if latest and matched.keys() == {turn.number for turn in latest}:
        end = matched[latest[-1].number].end
        if not any(message["role"] == "assistant" for message in messages[end:]):
            # No other history can be longer.
            return MatchedHistory(latest[-1], end)
    preferred = matched.keys()
    matched = _match_turns(turns, messages)
    candidates = [MatchedHistory(turn, matched[turn.number].end) for turn in turns if turn.number in matched]
    return max(candidates, key=lambda history: (history.end, history.turn.number in preferred), default=None)


_NOT_RECORDED: JsonObject = {}


class _Match(NamedTuple):
    """A turn that a conversation contains."""

    end: int
    """The number of messages up to and including it."""
    ids: dict[Any, Any]
    """The recorded id of each call so far, by the id in the conversation."""


def _match_turns(turns: Iterable[Turn], messages: Sequence[JsonObject]) -> dict[int, _Match]:
    """Return the turns that a conversation contains, by number."""
    matched: dict[int, _Match] = {}
    for turn in turns:
        parent = turn.prompt.parent
        before = _Match(0, {}) if parent is None else matched.get(parent)
        if before is None:
            continue
        recorded, ids = (*turn.prompt.messages, turn.message), dict(before.ids)
        replayed = messages[before.end : before.end + len(recorded)]
        if len(replayed) == len(recorded) and all(
            is_same_message(ours, _with_recorded_ids(theirs, ours, ids))
            for ours, theirs in zip(recorded, replayed, strict=True)
        ):
            matched[turn.number] = _Match(before.end + len(recorded), ids)
    return matched


def with_recorded_ids(messages: Sequence[JsonObject], recorded: Sequence[JsonObject]) -> list[JsonObject]:
    """Return a conversation with the recorded ids of calls, such as those that the model wrote.

    Args:
        messages: The conversation of the harness.
        recorded: The messages that it begins with, as they are recorded.
    """
    ids: dict[Any, Any] = {}
    pairs = itertools.zip_longest(messages, recorded, fillvalue=_NOT_RECORDED)
    return [_with_recorded_ids(message, ours, ids) for message, ours in pairs]


def find_edit(messages: Sequence[JsonObject], recorded: Sequence[JsonObject]) -> int | None:
    """Return the index of the first message that differs from the recorded one; None if none does."""
    ids: dict[Any, Any] = {}
    for index, (message, ours) in enumerate(zip(messages, recorded, strict=False)):
        if not is_same_message(ours, _with_recorded_ids(message, ours, ids)):
            return index
    return None


def _with_recorded_ids(message: JsonObject, recorded: Mapping[str, Any], ids: dict[Any, Any]) -> JsonObject:
    """Return a message with the recorded ids of its calls, or of the call that it is the result of.

    Args:
        message: A message of the harness.
        recorded: The same message as it is recorded. Empty if it is not.
        ids: The recorded id of each call before the message. The calls of the message are added.
    """
    if message.get("tool_call_id") in ids:
        return {**message, "tool_call_id": ids[message["tool_call_id"]]}
    calls = message.get("tool_calls") or ()
    if not calls:
        return message
    renamed = []
    for call, ours in itertools.zip_longest(
        calls, (recorded.get("tool_calls") or ())[: len(calls)], fillvalue=_NOT_RECORDED
    ):
        id_ = call.get("id") if ours.get("id") is None else ours["id"]
        if call.get("id") is not None:
            ids[call["id"]] = id_
        renamed.append(call if id_ is None else {**call, "id": id_})
    return {**message, "tool_calls": renamed}


def is_same_message(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> bool:
    """Return True if a harness made a message from a recorded one without changing its meaning.

    In an assistant message, the text may be trimmed, reasoning may be missing or in parts of the content, the arguments
    of calls may be JSON text with another layout, and the ids of calls and all other keys may differ. In other
    messages, only keys with the value None may differ.

    >>> is_same_message({"role": "assistant", "content": "Hi\\n"}, {"role": "assistant", "content": "Hi"})
    True
    """
    if recorded is replayed:
        return True
    if recorded.get("role") != replayed.get("role"):
        return False
    if recorded.get("role") != "assistant":
        return _set_items(recorded) == _set_items(replayed)
    reasoning = reasoning_of(replayed)
    return (
        text_of(recorded.get("content")) == text_of(replayed.get("content"))
        and (not reasoning or reasoning == reasoning_of(recorded))
        and _calls(recorded) == _calls(replayed)
    )


def _set_items(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if value is not None}


def text_of(content: Any) -> Any:
    """Return the trimmed text of a content, without reasoning; the content itself if it has other parts."""
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else None for part in content if not _is_thinking(part)]
        if not all(isinstance(text, str) for text in texts):
            return content
        content = "".join(map(str, texts))
    return content.strip() if isinstance(content, str) else content or ""


def reasoning_of(message: Mapping[str, Any]) -> Any:
    """Return the trimmed reasoning of a message, which may be in parts of its content."""
    for key in REASONING_NAMES:
        if message.get(key) is not None:
            return text_of(message[key])
    content = message.get("content")
    parts = [part.get("thinking") for part in content if _is_thinking(part)] if isinstance(content, list) else []
    return "".join(map(str, map(text_of, parts)))


def _is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def _calls(message: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    functions = (call.get("function") or call for call in message.get("tool_calls") or ())
    return [(function.get("name"), _arguments(function.get("arguments"))) for function in functions]


def _arguments(arguments: Any) -> str:
    """Return the arguments of a call as JSON text with sorted keys. Python objects would make 1 equal to true."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    try:
        return json.dumps(json.loads(text or "{}", parse_float=_number), sort_keys=True)
    except ValueError:
        return text


def _number(text: str) -> int | float:
    """Return an int for a number such as 1.0, which is written as 1 in JavaScript."""
    number = float(text)
    return int(number) if number.is_integer() else number
