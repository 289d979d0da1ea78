"""Count the calls of a prompt, for templates that number calls across the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.bridging.context import BridgeContext
from renderers.bridging.prior import count_sequence
from renderers.bridging.sample_histories import (
    SampleHistory,
    histories_with_calls,
    interrupted_histories,
    sample_histories,
)
from renderers.core.jsontypes import JsonObject
from renderers.core.spans import Trace
from renderers.core.text import compile_alternation
from renderers.programs.base import REJECTIONS

_MOST_CALLS = 1_000
"""How many calls are counted at most. The histories of a proof contain as many."""


class CycleMarkers(NamedTuple):
    """The ids that show calls and results in a prompt."""

    calls: tuple[int, ...]
    """The special tokens that each call contains once, and nothing else contains."""
    result: tuple[int, ...]
    """Ids, beginning with a special token, that each result contains once, and nothing else contains."""


def cycle_markers(context: BridgeContext) -> CycleMarkers | None:
    """Return the markers of calls and results; None if special tokens do not show them."""
    histories = (*sample_histories(), *interrupted_histories(), *histories_with_calls(2), *histories_with_calls(3))
    rendered = list(_render_prompts(context, histories))
    prompts = [_CountedPrompt.of(history.messages, context.encode(trace.text)) for history, trace in rendered]
    with_calls = [frozenset(prompt.ids) for prompt in prompts if prompt.calls]
    used = frozenset.intersection(*with_calls) if with_calls else frozenset()
    used &= {number for text, number in context.tokenizer.added_tokens.items() if text in context.special_tokens}
    calls = tuple(token for token in used if all(prompt.ids.count(token) == prompt.calls for prompt in prompts))
    for marker in dict.fromkeys(_result_markers(context, rendered)) if calls else ():
        if all(count_sequence(prompt.ids, marker) == prompt.results for prompt in prompts):
            return CycleMarkers(calls, marker)
    return None


class _CountedPrompt(NamedTuple):
    """The ids of a prompt, and the numbers of calls and results in its messages."""

    ids: list[int]
    calls: int
    results: int

    @classmethod
    def of(cls, messages: Sequence[JsonObject], ids: list[int]) -> _CountedPrompt:
        calls = sum(len(message.get("tool_calls", ())) for message in messages)
        return cls(ids, calls, sum(message["role"] == "tool" for message in messages))


def _render_prompts(
    context: BridgeContext, histories: Sequence[SampleHistory]
) -> Iterator[tuple[SampleHistory, Trace]]:
    for history in histories:
        try:
            yield history, context.render(history.messages, turn=len(history.messages), prompt=True).trace
        except REJECTIONS:
            continue


def _result_markers(
    context: BridgeContext, rendered: Sequence[tuple[SampleHistory, Trace]]
) -> Iterator[tuple[int, ...]]:
    """Yield the ids of template text in results, from a special token on, the longest first.

    The text may contain a number, so each prefix is yielded as well.
    """
    pattern = compile_alternation(context.special_tokens)
    for history, trace in rendered if pattern else ():
        for start, end, message, path in trace.spans:
            if path or message < 0 or history.messages[message]["role"] != "tool":
                continue
            text = trace.text[start:end]
            for token in pattern.finditer(text) if pattern else ():
                ids = context.encode(text[token.start() :])
                # The last token may merge with the text after it.
                yield from (tuple(ids[:size]) for size in range(max(1, len(ids) - 1), 0, -1))


def count_calls(prompt: Sequence[int], markers: CycleMarkers) -> int | None:
    """Return the number of calls in a prompt, each with its result; None if it is not known.

    >>> markers = CycleMarkers(calls=(1, 2), result=(7, 8))
    >>> count_calls([1, 5, 2, 7, 8, 9], markers)
    1

    A call without an end or without a result may not be a call of the conversation.

    >>> count_calls([1, 5, 7, 8, 9], markers) is count_calls([1, 5, 2], markers) is None
    True
    """
    counts = {count_sequence(prompt, (token,)) for token in markers.calls} | {count_sequence(prompt, markers.result)}
    count = counts.pop()
    return None if counts or count > _MOST_CALLS else count
