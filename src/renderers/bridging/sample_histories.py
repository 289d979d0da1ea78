"""Sample conversations in place of the history of a rollout, of which only the token ids are known."""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.core.completions import CalledTool, ReasoningState
from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import (
    PROBE_EARLIER_CONTENT,
    PROBE_EARLIER_ID,
    PROBE_EARLIER_REASONING,
    PROBE_FOLLOW_UP,
    PROBE_KEY,
    PROBE_NUMBERED_ID,
    PROBE_PLAN,
    PROBE_QUESTION,
    PROBE_REASONING,
    PROBE_RESULT,
    PROBE_SYSTEM,
    PROBE_VALUE,
)
from renderers.core.probes import chat_message, reasoning_fields, tool_call

_ARGUMENTS = {PROBE_KEY: PROBE_VALUE}


class Turn(NamedTuple):
    """The properties of a completion that a proof depends on."""

    reasoning: ReasoningState
    content: str
    """The content beside reasoning and calls, or a probe word in its place."""
    calls: tuple[CalledTool, ...]


class HistoryFeature(enum.StrEnum):
    """A message that a history may contain."""

    SYSTEM = "a system message"
    TURN = "an earlier turn"
    THOUGHT = "an earlier turn with reasoning"
    TOOLS = "an earlier tool cycle"
    RESULT = "a tool result"
    PLAN = "a tool result after a call with reasoning"
    OPEN_CALL = "an earlier call without a result"
    LATER_OPEN_CALL = "a call without a result after a tool result"
    LEFT_RESULT = "a user message just after a tool result"
    OWN = "an assistant message just before"


_REPEATED: tuple[frozenset[HistoryFeature], ...] = (
    frozenset(),
    frozenset({HistoryFeature.SYSTEM, HistoryFeature.TURN, HistoryFeature.THOUGHT}),
    frozenset({HistoryFeature.RESULT}),
    frozenset({HistoryFeature.OWN}),
)
"""The features of the histories in which messages are repeated."""


INTERRUPTED = frozenset({HistoryFeature.OPEN_CALL, HistoryFeature.LATER_OPEN_CALL, HistoryFeature.LEFT_RESULT})
"""The features of histories in which a user message follows a call or a result."""


class SampleHistory(NamedTuple):
    """A history. Each begins with a question, which is not listed among its features."""

    name: str
    features: frozenset[HistoryFeature]
    messages: tuple[JsonObject, ...]


@functools.cache
def sample_histories() -> tuple[SampleHistory, ...]:
    """Return histories before a turn, beginning with the one that has no features. The messages are shared."""
    question, follow_up = chat_message("user", PROBE_QUESTION), chat_message("user", PROBE_FOLLOW_UP)
    system, answer = chat_message("system", PROBE_SYSTEM), chat_message("assistant", PROBE_EARLIER_CONTENT)
    thoughtful = {**answer, **reasoning_fields(PROBE_EARLIER_REASONING)}
    call = chat_message("assistant", "", tool_calls=[tool_call("f", _ARGUMENTS, call_id=PROBE_EARLIER_ID)])
    planned = {**call, **reasoning_fields(PROBE_PLAN)}
    result = {"role": "tool", "tool_call_id": PROBE_EARLIER_ID, "name": "f", "content": PROBE_RESULT}
    led, turn, thought, tools, last, plan, *_, own = HistoryFeature
    histories: dict[tuple[HistoryFeature, ...], tuple[JsonObject, ...]] = {
        (): (question,),
        (led,): (system, question),
        (turn,): (question, answer, follow_up),
        (led, turn, thought): (system, question, thoughtful, follow_up),
        (last,): (question, call, result),
        (led, last): (system, question, call, result),
        (last, plan): (question, planned, result),
        (turn, tools): (question, call, result, answer, follow_up),
        (led, turn, thought, tools): (system, question, planned, result, thoughtful, follow_up),
        (own,): (question, answer),
        (own, thought): (question, thoughtful),
    }
    return tuple(
        SampleHistory(", ".join(sorted(features)) or "a question", frozenset(features), messages)
        for features, messages in histories.items()
    )


@functools.cache
def interrupted_histories() -> tuple[SampleHistory, ...]:
    """Return histories in which a user message follows a call or a result. A template may reject them.

    The text between the two shows that a real history is like one of them.
    """
    question, follow_up = chat_message("user", PROBE_QUESTION), chat_message("user", PROBE_FOLLOW_UP)
    call, result, later_call, _ = _cycles([1, 1])
    histories = {
        HistoryFeature.OPEN_CALL: (question, call, follow_up),
        HistoryFeature.LATER_OPEN_CALL: (question, call, result, later_call, follow_up),
        HistoryFeature.LEFT_RESULT: (question, call, result, follow_up),
    }
    return tuple(SampleHistory(feature, frozenset({feature}), messages) for feature, messages in histories.items())


@functools.lru_cache(maxsize=64)
def long_histories(counts: frozenset[int]) -> tuple[SampleHistory, ...]:
    """Return histories with about as many messages, turns or tool cycles as some counts.

    The histories of `sample_histories` have up to six messages and one cycle. Two and three cycles are always tried.

    >>> [len(history.messages) for history in long_histories(frozenset({9}))][:9]
    [7, 8, 9, 10, 15, 16, 17, 18, 19]
    >>> [history.name for history in long_histories(frozenset())]
    ['2 tool cycles', '3 tool cycles']
    """
    # About as many messages, and about as many turns.
    near = [range(count - 2, count + 2) for count in counts] + [range(2 * count - 3, 2 * count + 4) for count in counts]
    lengths = set(itertools.chain.from_iterable(near))
    shortest = max(len(history.messages) for history in sample_histories())
    cycles = sorted({2, 3, *(number for count in counts for number in (count - 1, count, count + 1))})
    return (
        *(_long_history(length) for length in sorted(lengths) if length > shortest),
        *map(_history_with_cycles, cycles),
    )


def _history_with_cycles(count: int) -> SampleHistory:
    messages = chat_message("user", PROBE_QUESTION), *_cycles([1] * count)
    return SampleHistory(f"{count} tool cycles", frozenset({HistoryFeature.RESULT}), messages)


def _long_history(length: int) -> SampleHistory:
    question, answer = chat_message("user", PROBE_QUESTION), chat_message("assistant", PROBE_EARLIER_CONTENT)
    messages = [question, answer] * ((length - 1) // 2) + [chat_message("user", PROBE_FOLLOW_UP)]
    features = {HistoryFeature.TURN}
    if len(messages) < length:
        messages.insert(0, chat_message("system", PROBE_SYSTEM))
        features.add(HistoryFeature.SYSTEM)
    return SampleHistory(f"{length} messages", frozenset(features), tuple(messages))


@functools.lru_cache(maxsize=16)
def histories_with_calls(count: int) -> tuple[SampleHistory, ...]:
    """Return histories with a number of calls, each with its result. The calls are in one turn or in several.

    >>> [history.name for history in histories_with_calls(1)][:2]
    ['a tool result, 1 calls', 'a system message, a tool result, 1 calls']
    """
    question, follow_up = chat_message("user", PROBE_QUESTION), chat_message("user", PROBE_FOLLOW_UP)
    system, answer = chat_message("system", PROBE_SYSTEM), chat_message("assistant", PROBE_EARLIER_CONTENT)
    thoughtful = {**answer, **reasoning_fields(PROBE_EARLIER_REASONING)}
    cycles = [*_cycles([1] * count)]
    planned = [*_cycles([1] * count, **reasoning_fields(PROBE_PLAN))]
    at_once, later = [*_cycles([count])], [*_cycles([1, count - 1] if count > 1 else [1])]
    led, turn, thought, tools, last, plan, *_, left, own = HistoryFeature
    histories: list[tuple[tuple[HistoryFeature, ...], tuple[JsonObject, ...]]] = [
        ((last,), (question, *cycles)),
        ((led, last), (system, question, *cycles)),
        ((last,), (question, *at_once)),
        ((last,), (question, *later)),
        ((last, plan), (question, *planned)),
        ((turn, tools), (question, *cycles, answer, follow_up)),
        ((turn, tools), (question, *at_once, answer, follow_up)),
        ((led, turn, thought, tools), (system, question, *planned, thoughtful, follow_up)),
        ((left,), (question, *cycles, follow_up)),
        ((tools, own), (question, *cycles, answer)),
    ]
    return tuple(
        SampleHistory(f"{', '.join(sorted(features))}, {count} calls", frozenset(features), messages)
        for features, messages in histories
    )


def _cycles(calls_per_turn: Sequence[int], **fields: str) -> Iterator[JsonObject]:
    """Yield turns with calls, each followed by the results."""
    number = 0
    for count in calls_per_turn:
        ids = [f"{PROBE_NUMBERED_ID}{number + place:04}" for place in range(count)]
        yield chat_message(
            "assistant", "", tool_calls=[tool_call("f", _ARGUMENTS, call_id=id_) for id_ in ids], **fields
        )
        for id_ in ids:
            yield {"role": "tool", "tool_call_id": id_, "name": "f", "content": PROBE_RESULT}
        number += count


def repeating_histories(turn: JsonObject, new: Sequence[JsonObject]) -> Iterator[SampleHistory]:
    """Yield histories with messages that are equal to each other, to the turn, or to a new message.

    A message of another kind gets only the content.

    >>> turn, bye = {"role": "assistant", "content": "Hm"}, {"role": "user", "content": "Bye"}
    >>> repeated = next(repeating_histories(turn, [bye]))
    >>> repeated.name, repeated.messages
    ('a message equal to the turn', ({'role': 'user', 'content': 'Hm'},))
    """
    repeated = {"the turn": turn} | {f"new message {number}": message for number, message in enumerate(new)}
    for history in sample_histories():
        if history.features not in _REPEATED:
            continue
        for name, message in repeated.items():
            changed = [_repeat(earlier, message) for earlier in history.messages]
            places = [{place} for place in range(len(changed))]
            for replaced in (*places, set(range(len(changed)))) if len(changed) > 1 else places:
                messages = [changed[place] if place in replaced else old for place, old in enumerate(history.messages)]
                yield history._replace(name=f"a message equal to {name}", messages=tuple(messages))
        by_role: dict[str, JsonObject] = {}
        alike = tuple(by_role.setdefault(earlier["role"], earlier) for earlier in history.messages)
        if alike != history.messages:
            yield history._replace(name="messages equal to each other", messages=alike)


def _repeat(earlier: JsonObject, message: JsonObject) -> JsonObject:
    """Return an earlier message that repeats another one. A call stays one, because its result follows."""
    is_alike = message["role"] == earlier["role"] and ("tool_calls" in message) is ("tool_calls" in earlier)
    return message if is_alike else {**earlier, "content": message.get("content", "")}


def substitute_turn(turn: Turn, new: Sequence[JsonObject]) -> JsonObject:
    """Return the first assistant message that may stand for a completion before new messages."""
    return next(substitute_turns(turn, new))


def substitute_turns(turn: Turn, new: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Yield assistant messages that may stand for a completion: two if its calls are not fully determined.

    A call has the name and the id that the model wrote, else those of its result. A result belongs to the call with
    its id, or with its name if no other call has it, or to the only call that is left. The second message differs in
    everything that is not determined by this: other names, other ids, results in reverse order, one call more. A result
    with an id that the model did not write shows that the caller has given the call another id.

    >>> turn = Turn(ReasoningState.NONE, content="Hm", calls=(CalledTool(None, "get"),))
    >>> result = {"role": "tool", "tool_call_id": "c7", "content": "x"}
    >>> [message["tool_calls"][0]["id"] for message in substitute_turns(turn, [result])]
    ['c7']
    """
    message = chat_message("assistant", turn.content)
    if turn.reasoning is not ReasoningState.NONE:
        message |= reasoning_fields(PROBE_REASONING if turn.reasoning is ReasoningState.SOME else "")
    results = [other for other in new if other["role"] == "tool"]
    called = [*turn.calls, *[CalledTool(None, None)] * (len(results) - len(turn.calls))]
    matched = match_results(called, results)
    result_of_matched = {call: results[result] for call, result in matched.items()}
    open_calls = [call for call in range(len(called)) if call not in matched]
    left = [result for index, result in enumerate(results) if index not in matched.values()]
    first: list[JsonObject] | None = None
    for name, prefix, order in (("f", "call", 1), ("g", "made", -1)):
        result_of = {**result_of_matched, **dict(zip(open_calls[::order], left, strict=False))}
        calls = []
        for index, call in enumerate(called):
            result = result_of.get(index, {})
            own_id, result_id = call.id, result.get("tool_call_id")
            if first is not None and result_id and all(other.id != result_id for other in called):
                own_id = None
            call_id = own_id or result_id or f"{prefix}{index:05}"
            calls.append(tool_call(call.name or result.get("name") or name, _ARGUMENTS, call_id=call_id))
        if first is not None and results and not turn.calls:
            # The turn may contain more calls than results.
            calls.insert(0, tool_call(name, _ARGUMENTS, call_id=f"{prefix}{len(called):05}"))
        if calls != first:
            yield {**message, "tool_calls": calls} if calls else message
        first = calls


def match_results(calls: Sequence[CalledTool], results: Sequence[JsonObject]) -> dict[int, int]:
    """Return the positions of the results that belong to a call by its id or name, by the position of the call.

    A single result belongs to a single call.
    """
    if len(calls) == len(results) == 1:
        return {0: 0}
    matched: dict[int, int] = {}
    for key, values in (("tool_call_id", [call.id for call in calls]), ("name", [call.name for call in calls])):
        if not any(values):
            continue
        references = [result.get(key) for result in results]
        for index, value in enumerate(values):
            if value and index not in matched and values.count(value) == references.count(value) == 1:
                result = references.index(value)
                if result not in matched.values():
                    matched[index] = result
    return matched
