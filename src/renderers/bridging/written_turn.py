"""Compare the turn of a rollout with the text that the template writes for it.

Samples do not show whether a template writes a turn as the model did, if it writes the last turn of a conversation in
another way than one that messages follow. The parsed turn itself does: the text of a history with the turn and the new
messages has to begin with the prompt and the completion.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from renderers.bridging.context import BridgeContext, RenderedTurn
from renderers.bridging.prior import has_known_ids
from renderers.bridging.sample_histories import SampleHistory, Turn, substitute_turns
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.probes import reasoning_fields
from renderers.core.spans import Trace
from renderers.programs.base import REJECTIONS


def parsed_turn(parsed: ParsedResponse, new: Sequence[JsonObject]) -> JsonObject | None:
    """Return the message of a completion; None if its calls are not fully determined by the completion and `new`."""
    message, *others = substitute_turns(Turn(parsed.state.reasoning, parsed.content, parsed.state.calls), new)
    calls = message.get("tool_calls", [])
    if others or len(calls) != len(parsed.tool_calls):
        return None
    if parsed.reasoning_content is not None:
        message |= reasoning_fields(parsed.reasoning_content)
    for call, parsed_call in zip(calls, parsed.tool_calls, strict=True):
        if not parsed_call.name or not isinstance(parsed_call.arguments, dict):
            return None
        call["function"] |= {"arguments": parsed_call.arguments}
    return message


class Rollout(NamedTuple):
    """The ids of a prompt, and the text of its completion."""

    prompt: array[int]
    completion: str


class WrittenTurn(NamedTuple):
    """A run in which the template writes the turn as the completion, and where its text ends."""

    followed: RenderedTurn
    end: int


def find_written_turn(
    context: BridgeContext,
    histories: Iterable[SampleHistory],
    turn: JsonObject,
    rollout: Rollout,
    new: Sequence[JsonObject],
) -> WrittenTurn | None:
    """Return the first run if the template writes a turn as the completion after all histories, else None.

    The text after the turn must be equal for all of them, and the prompt must end as the template ends it.
    """
    first: WrittenTurn | None = None
    suffixes: set[str] = set()
    for history in histories:
        index = len(history.messages)
        try:
            before = context.render_actual(history.messages, turn=index)
            followed = context.render_actual([*history.messages, turn, *new], turn=index)
        except REJECTIONS:
            return None
        prompt = before.trace.text + rollout.completion
        if not ends_alike(context, rollout.prompt, before.trace):
            return None
        if not followed.trace.text.startswith(prompt) or not _writes_after(followed, len(prompt), len(new)):
            return None
        suffixes.add(followed.trace.text[len(prompt) :])
        if len(suffixes) > 1:
            return None
        if first is None:
            first = WrittenTurn(followed, len(prompt))
    return first


def _writes_after(followed: RenderedTurn, end: int, new: int) -> bool:
    """Return True if all new messages are written, and none of their text is before `end`."""
    later = [span for span in followed.trace.spans if span.message > followed.message]
    return len({span.message for span in later if span.end > end}) == new and not any(
        span.path and span.start < min(span.end, end) for span in later
    )


def ends_alike(context: BridgeContext, prompt: array[int], sample: Trace) -> bool:
    """Return True if a prompt ends with the text that a sample has after its last message."""
    body = max((span.end for span in sample.spans if span.message >= 0 and span.path), default=0)
    end = sample.text[body:]
    # A token has at least one byte.
    last = prompt[-len(end.encode("utf-8", "surrogatepass")) :].tolist() if end else []
    tokenizer = context.tokenizer
    return has_known_ids(last, tokenizer.vocab.token_texts) and tokenizer.decode(last).endswith(end)
