"""Infer the grammar of turns from a chat template: a model writes turns as the template of its training does.

Markers and padding come from renders of probe words. The tool format is the one that parses the calls
that the template renders. A probe that fails counts as no information: parsing must not raise because
of a template.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from renderers.core.completions import RecoveryKind, ToolCallParseStatus
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy_pattern
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING
from renderers.core.probes import reasoning_fields
from renderers.core.spans import Channel
from renderers.core.text import LEXEME, compile_alternation
from renderers.parsing.call_syntax import written_keys, written_tags
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import NO_EDGES, SPACES, Edges, Grammar, ReasoningFormat
from renderers.parsing.rendered_turns import RenderedTurn, parse_text, without_end
from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair, ToolFormat, TurnLayout
from renderers.probing.turn_format import TurnFormat

_THINK = lazy_pattern(r"<(?!/)[^<>\s]*think[^<>\s]*>|\[THINK\]")
_PADDING = "\n ", " \n"
_PADDED = PROBE_CONTENT.join(_PADDING)
_CALLS: tuple[JsonObject, ...] = tuple(
    {"id": f"call0000{number}", "type": "function", "function": {"name": "f", "arguments": {"x": f"y{number}"}}}
    for number in range(2)
)


@functools.lru_cache(maxsize=64)
def infer_grammar(turns: TurnFormat, tool_turns: TurnFormat) -> Grammar:
    """Return the grammar of turns, from the formats of conversations without and with tools.

    Raises:
        TemplateLimitError: The template exceeds its limits on a probe.
    """
    prompts = [header.generation_prompt for header in turns.headers("user")]
    markers = turns.think_markers
    rendered = _reasoning(turns, markers) if markers else _unrendered_reasoning(turns, prompts)
    reasoning = _prompted_reasoning(turns, prompts) or rendered
    response = _response(turns)
    header = _header(turns, prompts, {*(reasoning.markers if reasoning else ()), *(response or ())})
    calls = _calls(tool_turns, Grammar(reasoning=reasoning, response=response), header)
    tool_format = calls.tool_format
    think, think_end = reasoning.markers if reasoning else ("", "")
    opens_reasoning = bool(prompts) and prompts[0].rfind(think) > prompts[0].rfind(think_end)
    return replace(
        calls,
        header=header,
        lead=_lead(turns, calls, header),
        content=_content(turns, response),
        end=_end(turns, response),
        assumes_reasoning=opens_reasoning and tool_format is not None and tool_format.assumes_prompt,
    )


def writes_calls(turns: TurnFormat) -> bool:
    """Return True if a template renders tool calls."""
    return bool(_turn_of(turns, _CALLS[:1]).body(Channel.TOOL_NAME))


def call_end_token(turns: TurnFormat, grammar: Grammar) -> str | None:
    """Return the special token that ends a turn with calls, if it is neither that of other turns nor a marker."""
    turn = _turn_of(turns, _CALLS[:1])
    bodies = turn.spans(Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)
    pattern = compile_alternation(turns.key.special_tokens)
    tokens: list[str] = pattern.findall(turn.trace.text, bodies[-1].end) if pattern and bodies else []
    if not tokens or turns.end_token in tokens or tokens[-1] in markers_within(grammar):
        return None
    return tokens[-1]


def _turn_of(turns: TurnFormat, calls: Sequence[JsonObject]) -> RenderedTurn:
    """Return a turn with calls only."""
    return RenderedTurn.of(turns, "", tool_calls=[*calls])


def _reasoning(turns: TurnFormat, markers: MarkerPair) -> ReasoningFormat:
    around = turns.field_delimiters[Channel.REASONING]
    trail, _, after = around.after.partition(markers[1])
    turn = RenderedTurn.of(turns, PROBE_CONTENT, reasoning_content=_PADDED, thinking=_PADDED)
    trimmed = _trimmed(turn, Channel.REASONING)
    after = _if_blank(after)
    return ReasoningFormat(
        markers=markers,
        edges=Edges(lead=around.before.rpartition(markers[0])[2], trail=trail, left=trimmed.left, right=trimmed.right),
        after=after,
        after_empty=_after_empty(turns, markers[1], default=after),
    )


def _after_empty(turns: TurnFormat, close: str, *, default: str) -> str:
    """Return the padding after empty reasoning, as in a turn without reasoning."""
    turn = RenderedTurn.of(turns, PROBE_CONTENT)
    spans = turn.spans(Channel.CONTENT)
    if not spans:
        return default
    _, closing, after = turn.trace.text[: spans[0].start].rpartition(close)
    return after if closing and not after.strip() else default


def _prompted_reasoning(turns: TurnFormat, prompts: Sequence[str]) -> ReasoningFormat | None:
    """Return the format of reasoning that prompts open with a text that no turn contains. None if they do not."""
    around = turns.field_delimiters.get(Channel.REASONING)
    # Nothing may be between the header and the reasoning: content begins there, too.
    if around is None or around.before != _around_content(turns)[0] or not around.after.strip():
        return None
    openings = {prompt.rpartition(around.before)[2] for prompt in prompts if around.before in prompt}
    opening, close = next(iter(openings), "").strip(), around.after.strip()
    if len(openings) != 1 or not opening:
        return None
    trail, _, after = around.after.partition(close)
    lead = next(iter(openings)).partition(opening)[2]
    return ReasoningFormat(markers=(opening, close), edges=Edges(lead=lead, trail=trail), after=after)


def _unrendered_reasoning(turns: TurnFormat, prompts: Sequence[str]) -> ReasoningFormat | None:
    """Return the format of reasoning that the template never renders, but opens in a prompt or as an empty pair."""
    content = turns.field_delimiters.get(Channel.CONTENT)
    tags = _THINK.findall("\n".join([*prompts, content.before if content else ""]))
    if not tags:
        return None
    close = f"{tags[0][0]}/{tags[0][1:]}"
    # No render shows the padding, so this is the usual padding of such models.
    return ReasoningFormat(
        markers=(tags[0], close),
        edges=Edges(left=SPACES, right=SPACES),
        after="\n\n",
        after_empty=_after_empty(turns, close, default="\n\n"),
    )


_OPENING, _CLOSING = lazy_pattern("start|begin|open", re.IGNORECASE), lazy_pattern("end|close|/", re.IGNORECASE)
_OF_MESSAGES = TurnLayout.MESSAGES, TurnLayout.SEGMENTS
"""The layouts in which a marker within calls identifies the format."""
_LEXEMES_OF_MARKERS = 1, 3
"""The numbers of lexemes that a marker around content can have, as in `<answer>` and `<|open|>response<|sep|>`."""


def _response(turns: TurnFormat) -> MarkerPair | None:
    """Return the markers around content, if the template writes a pair that differs in a word such as `end` only."""
    before, after = (LEXEME.findall(text.strip()) for text in _around_content(turns))
    for count in _LEXEMES_OF_MARKERS:
        opener, closer = "".join(before[-count:]), "".join(after[:count])
        is_marker = opener[:1] in ("<", "[") and len(opener) > 2 and closer not in (opener, turns.end_token)
        if is_marker and _OPENING.sub("", opener).lower() == _CLOSING.sub("", closer).lower():
            return opener, closer
    return None


def _around_content(turns: TurnFormat) -> tuple[str, str]:
    """Return the text before and after the content of a turn with nothing else. Both are empty if it has none."""
    turn = RenderedTurn.of(turns, PROBE_CONTENT)
    spans = turn.spans(Channel.CONTENT)
    return (turn.text_before(spans[0]), turn.trace.text[spans[-1].end :]) if spans else ("", "")


def _content(turns: TurnFormat, response: MarkerPair | None) -> Edges:
    """Return the edges of content that is the last field of a turn."""
    trimmed = _trimmed(RenderedTurn.of(turns, _PADDED), Channel.CONTENT)
    before, after = _around_content(turns)
    closer = response[1] if response else turns.end_token
    trail = _if_blank(after.partition(closer)[0]) if closer and closer in after else ""
    lead = _if_blank(before.rpartition(response[0])[2]) if response else ""
    return replace(trimmed, lead=lead, trail=trail)


def _end(turns: TurnFormat, response: MarkerPair | None) -> str:
    """Return the text between the marker after content and the end token."""
    if response is None:
        return ""
    after = RenderedTurn.of(turns, PROBE_CONTENT).trace.text.rpartition(PROBE_CONTENT)[2].partition(response[1])[2]
    return (after.partition(turns.end_token)[0] if turns.end_token else after).strip()


def _header(turns: TurnFormat, prompts: Sequence[str], markers: set[str]) -> str:
    """Return the common beginning of all generation prompts and turns, in whole lexemes and before any of some markers.

    A template can write the header of the next turn without being asked to. Then it is in no generation prompt.
    """
    pattern = compile_alternation(frozenset(markers))
    header = _common_lexemes(pattern.split(prompt)[0] if pattern else prompt for prompt in prompts)
    samples = [RenderedTurn.of(turns, PROBE_CONTENT, **fields) for fields in ({}, reasoning_fields(PROBE_REASONING))]
    bodies = [(turn, turn.spans(Channel.REASONING, Channel.CONTENT)) for turn in samples]
    heads = [turn.text_before(spans[0]) for turn, spans in bodies if spans]
    if not header:
        header = _common_lexemes(pattern.split(head)[0] if pattern else head for head in heads)
        return header if all(header in prompt.text for prompt in turns.headers("user")) else ""
    lexemes = LEXEME.findall(header)
    shorter = ("".join(lexemes[:count]) for count in range(len(lexemes), 0, -1))
    return next((text for text in shorter if text.strip() and all(text in head for head in heads)), header)


def _common_lexemes(texts: Iterable[str]) -> str:
    columns = zip(*map(LEXEME.findall, texts), strict=False)
    return "".join(column[0] for column in itertools.takewhile(lambda column: len(set(column)) == 1, columns))


def _lead(turns: TurnFormat, grammar: Grammar, header: str) -> str:
    """Return the padding between the header and the first field, or the marker before that field."""
    delimiters = turns.field_delimiters
    around = delimiters.get(Channel.REASONING) or delimiters.get(Channel.CONTENT)
    if around is None or header not in around.before:
        return ""
    rest = around.before.rpartition(header)[2] if header else around.before
    for markers in (grammar.reasoning and grammar.reasoning.markers, grammar.response):
        rest = rest.partition(markers[0])[0] if markers else rest
    return _if_blank(rest)


def _if_blank(text: str) -> str:
    return "" if text.strip() else text


def _trimmed(turn: RenderedTurn, channel: Channel) -> Edges:
    """Return the characters that a template trims from a field with the value `_PADDED`."""
    before, content, after = (turn.body(channel) or "").partition(PROBE_CONTENT)
    if not content:
        return NO_EDGES
    return Edges(left=_trimmed_characters(_PADDING[0], before), right=_trimmed_characters(_PADDING[1], after))


def _trimmed_characters(padding: str, rendered: str) -> str:
    if rendered == padding:
        return ""
    return "\n" if " " in rendered else SPACES


def _calls(turns: TurnFormat, fields: Grammar, header: str) -> Grammar:
    """Return a grammar with the fields of another one, and with those that concern tool calls."""
    for calls in (_CALLS, _CALLS[:1]):
        turn = _turn_of(turns, calls)
        if turn.body(Channel.TOOL_NAME) is None:
            continue
        text = turn.text_after(header)
        keys = written_keys(turn, calls[0]["function"]["name"], calls[0]["function"]["arguments"])
        for tool_format, section, pair in _candidates(turn, turns):
            own = None if tool_format.keys in (None, keys) else keys
            grammar = replace(fields, tools=tool_format.key, section=section, call=pair, keys=own)
            if _reads(grammar, text, calls, turns):
                return replace(grammar, content_before_calls=_edges_before_calls(turns, grammar))
        written = written_tags(lambda calls: _turn_of(turns, calls), header, end_token=turns.end_token)
        if written is not None:
            grammar = replace(fields, **written._asdict())
            if _reads(grammar, text, calls, turns):
                return replace(grammar, content_before_calls=_edges_before_calls(turns, grammar))
    # A template that fails on calls, or describes these to the model only, can still contain the markers of a format.
    for tool_format in TOOL_FORMATS.values():
        markers = {*(tool_format.section or ()), *(tool_format.call or ()), *tool_format.inner} - {""}
        is_distinct = tool_format.section or (tool_format.call and tool_format.layout is TurnLayout.LISTS)
        if is_distinct and all(map(turns.key.program.may_write, markers)):
            return replace(fields, tools=tool_format.key, section=tool_format.section, call=tool_format.call)
    return fields


def _reads(grammar: Grammar, text: str, calls: Sequence[JsonObject], turns: TurnFormat) -> bool:
    """Return True if a grammar reads the calls in the text of a turn, and nothing else."""
    markers = {*(grammar.section or ()), *(grammar.call or ())}
    response = parse_text(grammar, without_end(text, turns.key.special_tokens - markers))
    # Some formats read the calls of another one as well, as malformed or as another syntax.
    parsed = [
        (call.name, call.arguments)
        for call in response.tool_calls
        if call.status is not ToolCallParseStatus.MALFORMED_STRUCTURE
        and RecoveryKind.OTHER_SYNTAX not in call.recoveries
    ]
    expected = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
    # Content in a turn of calls is a part of their markers, which the format does not read.
    return parsed == expected and not response.content.strip()


def _candidates(
    turn: RenderedTurn, turns: TurnFormat
) -> Iterator[tuple[ToolFormat, MarkerPair | None, MarkerPair | None]]:
    """Yield formats with the markers around all calls and around each: with their own markers first, without any last.

    A format without markers around all calls can have any others.
    """
    text, formats = turn.trace.text, TOOL_FORMATS.values()
    own = {
        tool_format: (*(tool_format.section or ()), *(tool_format.call or ()))
        or (tool_format.inner[:1] if tool_format.layout in _OF_MESSAGES else ())
        for tool_format in formats
    }
    for tool_format in formats:
        if own[tool_format] and all(marker in text for marker in (*own[tool_format], tool_format.signature)):
            yield tool_format, tool_format.section, tool_format.call
        for variant in tool_format.variants:
            if all(marker in text for marker in variant):
                yield tool_format, tool_format.section, variant
    between, around = _markers_between_calls(turn), _markers_around_calls(turn, turns.end_token)
    for tool_format in formats:
        pair = around if tool_format.layout is TurnLayout.LISTS else between
        if pair is not None and tool_format.call is not None and tool_format.section is None:
            yield tool_format, None, pair
    for tool_format in formats:
        if not own[tool_format]:
            yield tool_format, None, None


def _markers_between_calls(turn: RenderedTurn) -> MarkerPair | None:
    """Return the last two markers between two calls: they open the second call and close the first one."""
    bodies = turn.spans(Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)
    first, second = ([span for span in bodies if span.path[1:2] == (number,)] for number in range(2))
    if not first or not second:
        return None
    tags = _tags_in(turn.trace.text[first[-1].end : second[0].start])
    return (tags[-1], tags[-2]) if len(tags) > 1 else None


def _markers_around_calls(turn: RenderedTurn, end_token: str | None) -> MarkerPair | None:
    """Return the marker before all calls and the one after them, which is empty if the turn ends there."""
    bodies = turn.spans(Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)
    before, after = _tags_in(turn.trace.text[: bodies[0].start]), _tags_in(turn.trace.text[bodies[-1].end :])
    return (before[-1], after[0] if after and after[0] != end_token else "") if before else None


def _tags_in(text: str) -> list[str]:
    return [lexeme for lexeme in LEXEME.findall(text) if len(lexeme) > 2 and lexeme[0] in "<["]


def _edges_before_calls(turns: TurnFormat, grammar: Grammar) -> Edges:
    calls = [*_CALLS[:1]]
    right = _trimmed(RenderedTurn.of(turns, _PADDED, tool_calls=calls), Channel.CONTENT).right
    _, content, after = RenderedTurn.of(turns, PROBE_CONTENT, tool_calls=calls).trace.text.rpartition(PROBE_CONTENT)
    opener = grammar.section or grammar.call
    return Edges(trail=_if_blank(after.partition(opener[0])[0]) if content and opener else "", right=right)
