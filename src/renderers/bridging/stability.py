"""`PrefixStability`: whether appending messages changes the ids of a conversation, tried with sample conversations."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from renderers.bridging.context import pipeline_key, sample_pipeline
from renderers.bridging.sample_histories import Turn, sample_histories, substitute_turn
from renderers.core.bounded_table import BoundedTable
from renderers.core.completions import CalledTool, ReasoningState
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_messages
from renderers.core.probe_words import (
    PROBE_CONTENT,
    PROBE_LATE_RESULT,
    PROBE_LATE_SYSTEM,
    PROBE_NEXT_CONTENT,
    PROBE_NEXT_QUESTION,
    PROBE_REASONING,
)
from renderers.core.probes import CALL_ID, TOOL, chat_message
from renderers.core.text import first_difference, quote_short
from renderers.programs.base import REJECTIONS
from renderers.rendering.pipeline import RenderPipeline

_CONTEXT = 60
"""The number of characters that are quoted on each side of a boundary."""
_LEARNED: BoundedTable[PrefixStability] = BoundedTable(keep=64)
"""The results of this process, by everything that determines them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixStability:
    """Whether appending messages to a conversation that ends with an assistant message leaves its ids unchanged.

    Both are rendered without a generation prompt.
    """

    stable: bool
    before: list[JsonObject] | None = None
    """The smallest of the compared conversations that changes; None if none does."""
    after: list[JsonObject] | None = None
    """The same conversation with the messages that change it."""
    tools: list[JsonObject] | None = None
    """The tools that both are rendered with."""
    change: str = ""
    """A description of the change."""
    tried: tuple[str, ...] = ()
    """The pairs of conversations that were compared, smallest first. The last one changes if the result is unstable."""
    refused: int = 0
    """The number of further pairs that the template rejects."""


RenderSample = Callable[[list[JsonObject], list[JsonObject] | None], tuple[str, list[int]]]
"""Returns the text and the ids of messages and tools, without a generation prompt. Raises the errors of `render`."""


def learn_prefix_stability(pipeline: RenderPipeline) -> PrefixStability:
    """Return the result of `prefix_stability` for a pipeline, computed once per process for equal ones.

    The record is a copy that the caller may change.
    """
    samples = {with_tools: sample_pipeline(pipeline, with_tools=with_tools) for with_tools in (False, True)}
    key = tuple(pipeline_key(sample, with_tools=with_tools) for with_tools, sample in samples.items())

    def render(messages: list[JsonObject], tools: list[JsonObject] | None) -> tuple[str, list[int]]:
        rendered = samples[tools is not None].run(messages, tools=tools, add_generation_prompt=False)
        return rendered.text, rendered.encoded.ids.tolist()

    return copy.deepcopy(_LEARNED.get(key, lambda: prefix_stability(render)))


def prefix_stability(render: RenderSample) -> PrefixStability:
    """Compare sample conversations with the same ones when messages follow, up to the first that changes.

    A template that rejects all of them is not stable. The samples are shared: the caller must not change the result.

    Raises:
        TemplateLimitError: The template does not terminate.

    >>> def render(messages, tools):
    ...     text = " ".join(message["content"] for message in messages)
    ...     return text, [ord(character) for character in text]
    >>> prefix_stability(render).stable
    True
    """
    # Several pairs begin with the same conversation.
    shorter: dict[str, tuple[str, list[int]]] = {}
    tried: list[str] = []
    errors: list[str] = []
    for pair in _sample_pairs():
        after = [*pair.before, *pair.new]
        try:
            if pair.name not in shorter:
                shorter[pair.name] = render(pair.before, pair.tools)
            longer_text, longer_ids = render(after, pair.tools)
        except REJECTIONS as error:
            errors.append(str(error))
            continue
        tried.append(str(pair))
        text, ids = shorter[pair.name]
        if longer_ids[: len(ids)] != ids:
            change = _describe_change(text, longer_text)
            result = PrefixStability(stable=False, before=pair.before, after=after, tools=pair.tools, change=change)
            break
    else:
        change = "" if tried else f"the template rejects all sample conversations: {errors[0]}"
        result = PrefixStability(stable=bool(tried), change=change)
    return replace(result, tried=tuple(tried), refused=len(errors))


class _Pair(NamedTuple):
    """A conversation that ends with an assistant message, and the messages that are appended."""

    name: str
    """The name of the conversation and its tools."""
    before: list[JsonObject]
    new: tuple[JsonObject, ...]
    tools: list[JsonObject] | None

    def __str__(self) -> str:
        return f"{self.name}, then {', '.join(message['role'] for message in self.new)}"


@functools.cache
def _sample_pairs() -> tuple[_Pair, ...]:
    """Return the pairs to compare, smallest first, so that most templates that are not stable end early."""
    return tuple(sorted(_make_pairs(), key=lambda pair: (len(pair.before) + len(pair.new), pair.tools is not None)))


def _make_pairs() -> Iterator[_Pair]:
    call = (CalledTool(None, "f"),)
    inline_reasoning = f"<think>\n{PROBE_REASONING}\n</think>\n\n{PROBE_CONTENT}"
    kinds = {
        "a turn": Turn(ReasoningState.NONE, PROBE_CONTENT, ()),
        "a turn with reasoning": Turn(ReasoningState.SOME, PROBE_CONTENT, ()),
        "a turn with reasoning in its text": Turn(ReasoningState.NONE, inline_reasoning, ()),
        "a call": Turn(ReasoningState.NONE, "", call),
        "a call with reasoning": Turn(ReasoningState.SOME, "", call),
        "a call with text": Turn(ReasoningState.NONE, PROBE_CONTENT, call),
    }
    question, answer = chat_message("user", PROBE_NEXT_QUESTION), chat_message("assistant", PROBE_NEXT_CONTENT)
    system = chat_message("system", PROBE_LATE_SYSTEM)
    result = {"role": "tool", "tool_call_id": CALL_ID, "name": "f", "content": PROBE_LATE_RESULT}
    questions = (question,), (question, answer), (question, answer, question)
    after_turn = *questions, (answer,), (system,), (system, question)
    after_call = (question,), (result,), (result, question), (result, answer), (result, answer, question)
    for history, (kind, turn) in itertools.product(sample_histories(), kinds.items()):
        before = normalise_messages([*history.messages, substitute_turn(turn, (result,) if turn.calls else ())])
        has_calls = any("tool_calls" in message for message in before)
        for new, tools in itertools.product(after_call if turn.calls else after_turn, (None, [TOOL])):
            # The longest continuation has all roles, so the others are compared after a question only.
            if not history.features or (new[1:] == (answer, question) and has_calls is (tools is not None)):
                name = f"after {history.name}: {kind}{', with a tool' if tools else ''}"
                yield _Pair(name, before, new, tools)


def _describe_change(before: str, after: str) -> str:
    """Return in words how the second text does not begin with the first."""
    start = first_difference(before, after)
    lost, new = before[start:], after[start:]
    if not lost:
        return f"{quote_short(before[-_CONTEXT:])} ends with other tokens where {quote_short(new[:_CONTEXT])} follows"
    dropped = next((size for size in range(len(lost)) if new.startswith(lost[size:])), None)
    if dropped is not None:
        return f"{quote_short(lost[:dropped])} is left out before {quote_short(lost[dropped:])}"
    if lost in new:
        return f"{quote_short(new[: new.index(lost)])} is added before {quote_short(lost)}"
    return f"{quote_short(lost)} becomes {quote_short(new)}"
