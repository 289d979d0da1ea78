"""Give tool results the ids of the calls that a completion contains."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.bridging.sample_histories import match_results
from renderers.core.completions import CalledTool
from renderers.core.jsontypes import JsonObject


def with_call_ids(new: Sequence[JsonObject], calls: Sequence[CalledTool]) -> list[JsonObject]:
    """Return new messages, with the id of its call in each result that has none.

    A result belongs to the call with its name if no other call has it. The other results belong to the other calls in
    order, if there are as many of them. Otherwise nothing is filled in: no id is made up.

    >>> results = [{"role": "tool", "content": "Sunny"}]
    >>> with_call_ids(results, [CalledTool("functions.weather:0", "weather")])
    [{'role': 'tool', 'content': 'Sunny', 'tool_call_id': 'functions.weather:0'}]
    """
    places = [place for place, message in enumerate(new) if message["role"] == "tool"]
    if not any(call.id for call in calls) or all(new[place].get("tool_call_id") for place in places):
        return list(new)
    results = [new[place] for place in places]
    matched = match_results(calls, results)
    open_calls = [call for call in range(len(calls)) if call not in matched]
    left = [result for result in range(len(results)) if result not in matched.values()]
    if len(open_calls) == len(left):
        matched |= zip(open_calls, left, strict=True)
    filled = list(new)
    for call, result in matched.items():
        message, call_id = results[result], calls[call].id
        if call_id and not message.get("tool_call_id"):
            filled[places[result]] = {**message, "tool_call_id": call_id}
    return filled
