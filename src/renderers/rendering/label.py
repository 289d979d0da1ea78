"""Label rendered text: which channel each span is in, and whether the model samples it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import media_parts
from renderers.core.options import SamplingConventions
from renderers.core.spans import LabelledSpan, TokenMatch, Trace
from renderers.core.text import compile_alternation
from renderers.probing.turn_format import TurnFormat
from renderers.rendering.span_labels import Media, MessageSpans, Turn, index_spans, label_spans
from renderers.rendering.turns import Headers, TurnRules, find_turns

_DEFAULT_CONVENTIONS = SamplingConventions()


def label(
    trace: Trace,
    messages: Sequence[JsonObject],
    *,
    turn_format: TurnFormat,
    stop_tokens: frozenset[str] = frozenset(),
    conventions: SamplingConventions = _DEFAULT_CONVENTIONS,
    inline_reasoning: bool = True,
    tokens: list[TokenMatch] | None = None,
) -> tuple[LabelledSpan, ...]:
    """Return the spans of a trace with their channels and sampled flags.

    `stop_tokens` are the texts of the model's stop tokens, empty if unknown. A stop token that the template writes
    at the start of the next message belongs to the message that it ends. `conventions` can move the boundaries of
    sampled text.

    Content at the start of a turn that is enclosed in the template's reasoning markers is reasoning. With
    `inline_reasoning`, markers inside the content count as well.

    `tokens` are all special tokens in the text. None if these are not known, or if one can overlap another one.
    """
    roles = [message["role"] for message in messages]
    channels, places = index_spans(trace.spans, [role in RESULT_ROLES for role in roles])
    headers = _headers_of(roles, places, turn_format)
    rules = TurnRules.of_format(turn_format, stop_tokens=stop_tokens, inline_reasoning=inline_reasoning)
    adjust = None
    if conventions.sampled_from is not None or conventions.prompted is not None:
        adjust = functools.partial(_apply_conventions, conventions=conventions, text=trace.text)
    turns = find_turns(trace, places, headers, rules=rules, tokens=tokens, adjust=adjust)
    return label_spans(trace, channels, turns, _find_media(messages, turn_format))


def _headers_of(roles: list[str], places: list[MessageSpans | None], turn_format: TurnFormat) -> list[Headers | None]:
    """Return the headers of each turn that was written; None for other messages."""
    headers: list[Headers | None] = []
    known: dict[str, Headers] = {}
    previous = ""
    for role, own in zip(roles, places, strict=True):
        if role == "assistant" and own is not None:
            if previous not in known:
                known[previous] = turn_format.headers(previous)
            headers.append(known[previous])
        else:
            headers.append(None)
        previous = role
    return headers


def _find_media(messages: Sequence[JsonObject], turn_format: TurnFormat) -> Media:
    media: Media = {}
    for index, message in enumerate(messages):
        # Most contents are texts.
        if type(message.get("content")) is not str and (parts := media_parts(message)):
            texts = (turn_format.placeholder(message["role"], kind) for kind in set(parts.values()))
            media[index] = compile_alternation(frozenset(filter(None, texts)))
    return media


def _apply_conventions(turn: Turn, *, conventions: SamplingConventions, text: str) -> Turn:
    if conventions.sampled_from is not None:
        position = text.find(conventions.sampled_from, turn.first, turn.start)
        turn = turn._replace(start=position if position >= 0 else turn.start)
    if conventions.prompted is not None:
        matches = re.finditer(conventions.prompted, text[turn.start : turn.end])
        prompted = tuple((turn.start + match.start(), turn.start + match.end()) for match in matches)
        turn = turn._replace(prompted=turn.prompted + prompted)
    return turn
