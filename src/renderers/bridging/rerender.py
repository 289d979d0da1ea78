"""Compare a bridge with renders of sample histories, the turn as it was parsed, and the new messages."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from renderers.bridging.context import BridgeContext
from renderers.bridging.sample_histories import SampleHistory, Turn, substitute_turns
from renderers.bridging.written_turn import ends_alike
from renderers.core.completions import CalledTool, ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_messages
from renderers.programs.base import REJECTIONS


def matches_renders(
    context: BridgeContext,
    histories: Iterable[SampleHistory],
    parsed: ParsedResponse,
    new: Sequence[JsonObject],
    *,
    prompt: array[int],
    rest: array[int],
) -> bool:
    """Return True if a render of each history, the parsed turn and the new messages ends with the ids of a bridge.

    `rest` are the ids after the prompt: those of the completion, and those that the bridge added. Histories that do not
    end as the prompt, and those that the template rejects with the turn, are not like the real one. False if none is
    left.
    """
    turns = list(parsed_messages(parsed, new))
    compared = False
    for history in histories:
        index = len(history.messages)
        try:
            before = context.render_actual(history.messages, turn=index)
            if not ends_alike(context, prompt, before.trace):
                continue
            renders = [context.render_actual([*history.messages, turn, *new], turn=index) for turn in turns]
        except REJECTIONS:
            continue
        expected = before.rendered.encoded.ids + rest
        if any(render.rendered.encoded.ids != expected for render in renders):
            return False
        compared = True
    return compared


def parsed_messages(parsed: ParsedResponse, new: Sequence[JsonObject]) -> Iterator[JsonObject]:
    """Yield the messages of a completion that a conversation may contain: two if the ids of its calls are not known."""
    (message,) = normalise_messages([parsed.to_message()])
    calls = message.get("tool_calls", [])
    called = tuple([CalledTool(call.get("id"), call["function"]["name"]) for call in calls])
    for substitute in substitute_turns(Turn(parsed.state.reasoning, parsed.content, called), new if calls else ()):
        ids = [call["id"] for call in substitute.get("tool_calls", [])[: len(calls)]]
        identified = [{**call, "id": call_id} for call, call_id in zip(calls, ids, strict=True)]
        yield {**message, "tool_calls": identified} if calls else message
