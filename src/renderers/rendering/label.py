"""Label rendered text: which channel each span is in, and whether the model samples it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TypedDict

from renderers.core.channels import RESULT_ROLES, field_channel
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import media_parts
from renderers.core.options import SamplingConventions
from renderers.core.spans import LabelledSpan, TokenMatch, Trace
from renderers.core.text import compile_alternation
from renderers.core.tokens import TokenRun
from renderers.errors import TemplateLimitError
from renderers.probing.turn_format import TurnFormat
from renderers.rendering.span_labels import CHANNELS, ROLE, Media, Turn, index_spans, label_spans
from renderers.rendering.turns import Headers, TurnRules, find_turns
from renderers.tokenizer.encoding.encode import Runs
from renderers.tokenizer.encoding.locate import AnyVocab, EncodedText, call_native

_DEFAULT_CONVENTIONS = SamplingConventions()


class LabelOptions(TypedDict):
    """The arguments of `label` and of `attribute_spans` by keyword."""

    turn_format: TurnFormat
    stop_tokens: frozenset[str]
    conventions: SamplingConventions
    inline_reasoning: bool
    tokens: list[TokenMatch] | None


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
    channels, places = index_spans(trace.spans, _are_results(roles))
    headers = _headers_of(roles, turn_format, are_written=[own is not None for own in places])
    rules = TurnRules.of_format(turn_format, stop_tokens=stop_tokens, inline_reasoning=inline_reasoning)
    adjust = None
    if _adjusts_turns(conventions):
        adjust = functools.partial(_apply_conventions, conventions=conventions, text=trace.text)
    turns = find_turns(trace, places, headers, rules=rules, tokens=tokens, adjust=adjust)
    return label_spans(trace, channels, turns, _find_media(messages, turn_format))


def attribute_spans(
    vocab: AnyVocab,
    encoded: EncodedText,
    trace: Trace,
    messages: Sequence[JsonObject],
    *,
    turn_format: TurnFormat,
    stop_tokens: frozenset[str],
    conventions: SamplingConventions,
    inline_reasoning: bool,
    tokens: list[TokenMatch] | None,
) -> Runs | None:
    """Return what `attribute` returns for the labels of a trace. No labels are made for it.

    None if the C extension is not used, or if it cannot label all of the text.
    """
    is_usual = inline_reasoning and tokens is not None and not _adjusts_turns(conventions)
    if not is_usual or _find_media(messages, turn_format):
        return None
    roles = [message["role"] for message in messages]
    rules = TurnRules.of_format(turn_format, stop_tokens=stop_tokens, inline_reasoning=True)
    channel_rules = _are_results(roles), field_channel, CHANNELS, ROLE
    try:
        headers = _headers_of(roles, turn_format, are_written=[True] * len(roles))
    except TemplateLimitError:
        # The turns that are not written need no headers.
        return None
    turn_rules = headers, tokens, rules.in_c
    runs: Runs | None = call_native(
        "attribute_spans", vocab, encoded, trace.spans, *channel_rules, *turn_rules, TokenRun
    )
    return runs


def _are_results(roles: list[str]) -> list[bool]:
    return [role in RESULT_ROLES for role in roles]


def _headers_of(roles: list[str], turn_format: TurnFormat, *, are_written: list[bool]) -> list[Headers | None]:
    """Return the headers of each turn that was written; None for other messages."""
    headers: list[Headers | None] = []
    known: dict[str, Headers] = {}
    previous = ""
    for role, is_written in zip(roles, are_written, strict=True):
        if role == "assistant" and is_written:
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


def _adjusts_turns(conventions: SamplingConventions) -> bool:
    return conventions.sampled_from is not None or conventions.prompted is not None


def _apply_conventions(turn: Turn, *, conventions: SamplingConventions, text: str) -> Turn:
    if conventions.sampled_from is not None:
        position = text.find(conventions.sampled_from, turn.first, turn.start)
        turn = turn._replace(start=position if position >= 0 else turn.start)
    if conventions.prompted is not None:
        matches = re.finditer(conventions.prompted, text[turn.start : turn.end])
        prompted = tuple((turn.start + match.start(), turn.start + match.end()) for match in matches)
        turn = turn._replace(prompted=turn.prompted + prompted)
    return turn
