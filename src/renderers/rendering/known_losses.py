"""Find out which input a format is known to drop, by rendering small conversations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.losses import LossKind
from renderers.core.probe_words import PROBE_CONTENT, PROBE_LATE_SYSTEM, PROBE_REASONING, PROBE_RESULT, PROBE_VALUE
from renderers.core.probes import ARGUMENTS, ASK, CALL_ID, LEAD, TOOL, chat_message, reasoning_fields, tool_call
from renderers.errors import TemplateLimitError
from renderers.probing.turn_format import TurnFormat
from renderers.programs.base import REJECTIONS
from renderers.rendering.losses import LossFinder

_PLAIN, _CALLING = "reasoning of turns without tool calls", "reasoning of turns with tool calls"
_EARLIER_PLAIN, _EARLIER_CALLING = (
    "reasoning of earlier turns without tool calls",
    "reasoning of earlier turns with tool calls",
)


class KnownLoss(NamedTuple):
    """A kind of input that a format drops, or drops in some places."""

    kind: LossKind
    place: str
    """The input in words, such as `reasoning of earlier turns`."""


class _Probe(NamedTuple):
    """A conversation, and the input in question: the losses of a kind in a message, None for tools."""

    loss: KnownLoss
    message: int | None
    conversation: list[JsonObject]


@functools.lru_cache(maxsize=64)
def known_losses(turns: TurnFormat, tool_turns: TurnFormat) -> tuple[KnownLoss, ...]:
    """Return the input that a format drops without an error. The formats are those without and with tools."""
    losses: dict[KnownLoss, bool] = {}
    try:
        for probe, format_ in itertools.product(_PROBES, (turns, tool_turns)):
            drops = _drops(format_, probe)
            if drops is not None:
                losses[probe.loss] = drops or losses.get(probe.loss, False)
    except TemplateLimitError:
        return ()
    return tuple(_generalise(losses))


def _generalise(tried: Mapping[KnownLoss, bool]) -> Iterator[KnownLoss]:
    """Yield the losses that were found, without those that are part of another one.

    `tried` has the losses that could be tried. Turns with and without calls are one place if the format drops the
    reasoning of both, or accepts only one of them.
    """
    places = {loss.place for loss, drops in tried.items() if drops}
    kept = {loss.place for loss, drops in tried.items() if not drops}
    general = {place: joined for joined, parts in _JOINED_PLACES.items() if not parts & kept for place in parts}
    places |= {general[place] for place in places if place in general}
    losses = [loss._replace(place=general.get(loss.place, loss.place)) for loss, drops in tried.items() if drops]
    yield from (loss for loss in dict.fromkeys(losses) if _MORE_GENERAL.get(loss.place, frozenset()).isdisjoint(places))


def _drops(turns: TurnFormat, probe: _Probe) -> bool | None:
    """Return True if a format drops the input in question; None if it does not accept the conversation."""
    program, arguments, with_tools, now, _ = turns.key
    if probe.loss.kind != "text_beside_calls" and with_tools != _needs_tools(probe):
        return None
    tools = [TOOL] if with_tools else None
    try:
        run = program.run(probe.conversation, tools=tools, arguments=dict(arguments), now=now)
    except REJECTIONS:
        return None
    losses = LossFinder(probe.conversation, [("tools", tools)], run, lambda: turns).losses()
    return any((loss.kind, loss.message, loss.amount) == (probe.loss.kind, probe.message, "all") for loss in losses)


def _needs_tools(probe: _Probe) -> bool:
    if probe.loss.kind == "reasoning":
        return any("tool_calls" in message for message in probe.conversation)
    return probe.loss.kind.startswith("tool")


def _probes() -> Iterator[_Probe]:
    answer = chat_message("assistant", PROBE_CONTENT)
    thought = {**answer, **reasoning_fields(PROBE_REASONING)}
    late = chat_message("system", PROBE_LATE_SYSTEM)
    yield _Probe(KnownLoss("message", "messages with unknown roles"), 1, [ASK, chat_message("human", PROBE_CONTENT)])
    yield _Probe(KnownLoss("message", "system messages"), 0, [LEAD, ASK])
    yield _Probe(KnownLoss("message", "system messages after the first"), 1, [LEAD, late, ASK])
    yield _Probe(KnownLoss("message", "system messages after others"), 2, [ASK, answer, late, ASK])
    yield _Probe(KnownLoss("name", "names of messages"), 0, [{**ASK, "name": PROBE_VALUE}])
    yield _Probe(KnownLoss("reasoning", _PLAIN), 1, [ASK, thought])
    yield _Probe(KnownLoss("reasoning", _EARLIER_PLAIN), 1, [ASK, thought, ASK, answer])
    yield _Probe(KnownLoss("tools", "tools"), None, [ASK])
    for arguments in ARGUMENTS:
        call = tool_call(PROBE_VALUE, arguments)
        calling = chat_message("assistant", "", tool_calls=[call])
        result = {"role": "tool", "tool_call_id": CALL_ID, "name": PROBE_VALUE, "content": PROBE_RESULT}
        both = {**calling, "tool_calls": [call, {**call, "id": "call00001"}]}
        beside = {**calling, "content": PROBE_CONTENT}
        planned = {**calling, **reasoning_fields(PROBE_REASONING)}
        yield _Probe(KnownLoss("reasoning", _CALLING), 1, [ASK, planned, result])
        yield _Probe(KnownLoss("reasoning", _EARLIER_CALLING), 1, [ASK, planned, result, answer, ASK, answer])
        yield _Probe(KnownLoss("tool_calls", "tool calls"), 1, [ASK, calling])
        yield _Probe(KnownLoss("tool_calls", "parallel tool calls"), 1, [ASK, both, result])
        yield _Probe(KnownLoss("name", "names of tool calls"), 1, [ASK, calling, result])
        yield _Probe(KnownLoss("text_beside_calls", "text beside tool calls"), 1, [ASK, beside, result])
        yield _Probe(KnownLoss("tool_result", "results of tools"), 2, [ASK, calling, result])
        yield _Probe(KnownLoss("message", "results without a call"), 1, [ASK, result])


_PROBES = tuple(_probes())
_JOINED_PLACES = {
    "reasoning": frozenset({_PLAIN, _CALLING}),
    "reasoning of earlier turns": frozenset({_EARLIER_PLAIN, _EARLIER_CALLING}),
}
"""Places that consist of two others."""
_MORE_GENERAL = {
    "reasoning of earlier turns": frozenset({"reasoning"}),
    _EARLIER_PLAIN: frozenset({"reasoning", _PLAIN}),
    _EARLIER_CALLING: frozenset({"reasoning", _CALLING}),
    "parallel tool calls": frozenset({"tool calls"}),
}
"""Places that are part of other places."""
