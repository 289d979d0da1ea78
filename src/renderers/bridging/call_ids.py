"""Give tool results the ids or the names of the calls that a completion contains."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.bridging.sample_histories import match_results
from renderers.core.completions import CalledTool
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy_pattern
from renderers.core.spans import Trace

_WORD_BEFORE, _WORD_AFTER = lazy_pattern(r"[^\s<>]*\Z"), lazy_pattern(r"[^\s<>]*")
_PUNCTUATION = "\"'`,:;()[]{}"
"""The characters beside a name that belong to the syntax around it."""


def with_call_ids(new: Sequence[JsonObject], calls: Sequence[CalledTool]) -> list[JsonObject]:
    """Return new messages, with the id of its call in each result that has none.

    A result belongs to the call with its name if no other call has it. The other results belong to the other calls in
    order, if there are as many of them. Otherwise nothing is filled in: no id is made up.

    >>> results = [{"role": "tool", "content": "Sunny"}]
    >>> with_call_ids(results, [CalledTool("functions.weather:0", "weather")])
    [{'role': 'tool', 'content': 'Sunny', 'tool_call_id': 'functions.weather:0'}]
    """
    results = [message for message in new if message["role"] == "tool"]
    if not any(call.id for call in calls) or all(result.get("tool_call_id") for result in results):
        return list(new)
    return _fill_in(new, calls, "tool_call_id", [call.id for call in calls])


def with_call_names(new: Sequence[JsonObject], calls: Sequence[CalledTool]) -> list[JsonObject]:
    """Return new messages, with the name of its call in each result that has neither an id nor a name.

    A result belongs to a call as in `with_call_ids`.

    >>> with_call_names([{"role": "tool", "content": "Sunny"}], [CalledTool(None, "weather")])
    [{'role': 'tool', 'content': 'Sunny', 'name': 'weather'}]
    """
    if any(message.get("tool_call_id") for message in new):
        return list(new)
    return _fill_in(new, calls, "name", [call.name for call in calls])


def with_some_ids(new: Sequence[JsonObject], calls: Sequence[CalledTool]) -> list[JsonObject]:
    """Return new messages, with the id of any call in each result that has none.

    They show whether a template reads the ids that are missing.

    >>> with_some_ids([{"role": "tool", "content": "Sunny"}], [CalledTool("c1", "search"), CalledTool("c2", "weather")])
    [{'role': 'tool', 'content': 'Sunny', 'tool_call_id': 'c1'}]
    """
    call_id = next((call.id for call in calls if call.id), None)
    if call_id is None:
        return list(new)
    return [
        {**message, "tool_call_id": call_id}
        if message["role"] == "tool" and not message.get("tool_call_id")
        else message
        for message in new
    ]


def find_other_id(trace: Trace, *, turn: int, end: int, calls: Sequence[CalledTool]) -> tuple[str, str] | None:
    """Return the id of a call in the completion and the other one that a template writes; None if there is none.

    `turn` is the message with the calls, and `end` the offset at which it ends. A made-up id contains the name of the
    call, and the template writes it both in the turn and after it.

    >>> from renderers.core.spans import Span
    >>> name = "tool_calls", 0, "function", "name"
    >>> spans = [Span(0, 3, 1, ()), Span(3, 6, 1, name), Span(6, 11, 1, ()), Span(11, 14, 1, name), Span(14, 16, 2, ())]
    >>> find_other_id(Trace("ns.get:1 ns.get:1", spans), turn=1, end=8, calls=[CalledTool("ns.get:0", "get")])
    ('ns.get:0', 'ns.get:1')
    """
    if not any(call.id for call in calls):
        return None
    text, first = trace.text, min([span.start for span in trace.spans if span.message == turn], default=0)
    for start, stop, message, path in trace.spans:
        if start < end or message != turn or len(path) != 4 or path[0] != "tool_calls" or path[3] != "name":
            continue
        number = path[1]
        call = calls[number] if isinstance(number, int) and number < len(calls) else CalledTool(None, None)
        before, after = _WORD_BEFORE.search(text, end, start), _WORD_AFTER.match(text, stop)
        word = (before[0] if before else "") + text[start:stop] + (after[0] if after else "")
        written = word.strip(_PUNCTUATION)
        if call.id and written not in (call.name, call.id) and text.find(written, first, end) >= 0:
            return call.id, written
    return None


def _fill_in(
    new: Sequence[JsonObject], calls: Sequence[CalledTool], field: str, values: Sequence[str | None]
) -> list[JsonObject]:
    """Return new messages, with the value of its call in a field of each result that lacks it."""
    places = [place for place, message in enumerate(new) if message["role"] == "tool"]
    results = [new[place] for place in places]
    matched = match_results(calls, results)
    open_calls = [call for call in range(len(calls)) if call not in matched]
    left = [result for result in range(len(results)) if result not in matched.values()]
    if len(open_calls) == len(left):
        matched |= zip(open_calls, left, strict=True)
    filled = list(new)
    for call, result in matched.items():
        if values[call] and not results[result].get(field):
            filled[places[result]] = {**results[result], field: values[call]}
    return filled
