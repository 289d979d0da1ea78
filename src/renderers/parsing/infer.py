"""Infer the grammar of turns from a chat template.

A model that was trained with a template writes turns as the template does. Markers and padding are
read off small renders with known words in every field. The tool format is the one that parses the
calls that the template renders. A probe that fails, by a limit of the template or otherwise, counts
as no information: parsing must not raise because of a template.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from renderers.core.channels import span_channel
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.patterns import compile_alternation
from renderers.core.probes import TOOL
from renderers.core.spans import Channel, Span, Trace
from renderers.core.text import LEXEME
from renderers.parsing.assembler import assemble
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.grammar import NO_EDGES, SPACES, Edges, Grammar, ReasoningFormat
from renderers.parsing.markers import MarkerText
from renderers.parsing.parser import new_scanner
from renderers.parsing.pieces import Pieces
from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair, ToolFormat, TurnLayout
from renderers.probing.turn_format import TurnFormat
from renderers.programs.base import Program
from renderers.tokenizer.encoding.byte_text import ByteTexts, to_byte_text

_THINK = re.compile(r"<(?!/)[^<>\s]*think[^<>\s]*>|\[THINK\]")
_WORD, _REASONING_WORD = "Kiesel", "Wolke"
_PADDING = "\n ", " \n"
_PADDED = _PADDING[0] + _WORD + _PADDING[1]
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
    reasoning = _reasoning(turns, markers) if markers else _unrendered_reasoning(turns, prompts)
    header = _header(prompts, reasoning)
    calls = _calls(tool_turns, reasoning, header)
    tool_format = TOOL_FORMATS[calls.tools] if calls.tools else None
    return Grammar(
        header=header,
        lead=_lead(turns, reasoning, header),
        reasoning=reasoning,
        content=_trimmed(turns, {"content": _PADDED}, Channel.CONTENT),
        content_before_calls=calls.content_before_calls,
        tools=calls.tools,
        section=calls.section,
        call=calls.call,
        assumes_reasoning=bool(tool_format and tool_format.assumes_prompt) and _opens_reasoning(prompts[:1], reasoning),
    )


def writes_calls(turns: TurnFormat) -> bool:
    """Return True if a template renders tool calls."""
    trace, conversation = turns.render_turn({"content": "", "tool_calls": [*_CALLS[:1]]})
    return trace is not None and bool(_body(trace, conversation, Channel.TOOL_NAME))


def check_round_trip(turns: TurnFormat, grammar: Grammar, ends: frozenset[str]) -> list[str]:
    """Parse turns that the template rendered. Return a description of each difference.

    `ends` are the texts of the tokens that end a turn.
    """
    differences, end = [], compile_alternation(ends)
    reasoning = {"reasoning_content": _REASONING_WORD, "thinking": _REASONING_WORD}
    for turn in ({"content": _WORD}, {"content": _WORD, **reasoning}):
        trace, conversation = turns.render_turn(turn)
        if trace is None or _body(trace, conversation, Channel.CONTENT) is None:
            continue
        expected = _WORD, _REASONING_WORD if _REASONING_WORD in trace.text else ""
        text = _turn_text(trace, grammar.header)
        response = _parse_text(grammar, end.split(text, maxsplit=1)[0] if end else text)
        actual = response.content.strip(), (response.reasoning_content or "").strip()
        if actual != expected:
            differences.append(
                f"content {expected[0]!r} and reasoning {expected[1]!r} are read as {actual[0]!r} and {actual[1]!r}"
            )
    return differences


# ==================
# Reasoning and padding
# ==================


def _reasoning(turns: TurnFormat, markers: MarkerPair) -> ReasoningFormat:
    around = turns.field_delimiters[Channel.REASONING]
    lead = around.before.rpartition(markers[0])[2]
    trail, _, after = around.after.partition(markers[1])
    turn = {"content": "Said", "reasoning_content": _PADDED, "thinking": _PADDED}
    trimmed = _trimmed(turns, turn, Channel.REASONING)
    after = "" if after.strip() else after
    return ReasoningFormat(
        markers=markers,
        edges=Edges(lead=lead, trail=trail, left=trimmed.left, right=trimmed.right),
        after=after,
        after_empty=_after_empty(turns, markers[1], default=after),
    )


def _after_empty(turns: TurnFormat, close: str, *, default: str) -> str:
    """Return the padding after empty reasoning, as in a turn without reasoning."""
    trace, conversation = turns.render_turn({"content": "Said"})
    spans = _turn_spans(trace, conversation, Channel.CONTENT) if trace else []
    if trace is None or not spans:
        return default
    _, closing, after = trace.text[: spans[0].start].rpartition(close)
    return after if closing and not after.strip() else default


def _unrendered_reasoning(turns: TurnFormat, prompts: Sequence[str]) -> ReasoningFormat | None:
    """Return the format of reasoning that the template never renders, but opens in a prompt or as an empty pair."""
    content = turns.field_delimiters.get(Channel.CONTENT)
    texts = [*prompts, content.before if content else ""]
    tags = [tag for text in texts for tag in _THINK.findall(text)]
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


def _header(prompts: Sequence[str], reasoning: ReasoningFormat | None) -> str:
    """Return the common beginning of all generation prompts, in whole lexemes."""
    pattern = compile_alternation(frozenset(reasoning.markers)) if reasoning else None
    headers = [pattern.split(prompt)[0] if pattern else prompt for prompt in prompts]
    columns = zip(*(LEXEME.findall(header) for header in headers), strict=False)
    return "".join(column[0] for column in itertools.takewhile(lambda column: len(set(column)) == 1, columns))


def _opens_reasoning(prompts: Sequence[str], reasoning: ReasoningFormat | None) -> bool:
    if reasoning is None:
        return False
    opening, closing = reasoning.markers
    return any(prompt.rfind(opening) > prompt.rfind(closing) for prompt in prompts)


def _lead(turns: TurnFormat, reasoning: ReasoningFormat | None, header: str) -> str:
    """Return the padding between the header and the first field."""
    markers = turns.field_delimiters
    around = markers.get(Channel.REASONING) or markers.get(Channel.CONTENT)
    if around is None or header not in around.before:
        return ""
    rest = around.before.rpartition(header)[2] if header else around.before
    lead = rest.partition(reasoning.markers[0])[0] if reasoning else rest
    return "" if lead.strip() else lead


def _trimmed(turns: TurnFormat, turn: JsonObject, channel: Channel) -> Edges:
    """Return the characters that a template trims from a field, which has the value `_PADDED` in the turn."""
    trace, conversation = turns.render_turn(turn)
    body = _body(trace, conversation, channel) if trace else None
    if not body or _WORD not in body:
        return NO_EDGES
    before, _, after = body.partition(_WORD)
    return Edges(left=_trimmed_characters(_PADDING[0], before), right=_trimmed_characters(_PADDING[1], after))


def _trimmed_characters(padding: str, rendered: str) -> str:
    """Return the characters that were trimmed, given the padding before and after."""
    if rendered == padding:
        return ""
    return "\n" if " " in rendered else SPACES


def _body(trace: Trace, conversation: Sequence[JsonObject], channel: Channel) -> str | None:
    """Return the text of a channel in the assistant turn. None if it was not rendered."""
    spans = _turn_spans(trace, conversation, channel)
    return "".join(trace.text[span.start : span.end] for span in spans) if spans else None


def _turn_spans(trace: Trace, conversation: Sequence[JsonObject], *channels: Channel) -> list[Span]:
    return [span for span in trace.spans if span.message == 1 and span_channel(span, conversation) in channels]


# ==================
# Calls
# ==================


def _calls(turns: TurnFormat, reasoning: ReasoningFormat | None, header: str) -> Grammar:
    """Return a grammar with the fields that concern tool calls."""
    for calls in (_CALLS, _CALLS[:1]):
        trace, conversation = turns.render_turn({"content": "", "tool_calls": [*calls]})
        if trace is None or _body(trace, conversation, Channel.TOOL_NAME) is None:
            continue
        text = _turn_text(trace, header)
        expected = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
        for grammar in _candidates(trace, conversation, reasoning):
            response = _parse_text(grammar, _without_end(text, grammar, turns.key.special_tokens))
            if [(call.name, call.arguments) for call in response.tool_calls] == expected:
                return _with_content(turns, grammar)
    # A template that fails on calls can still contain the markers of a format.
    for tool_format in TOOL_FORMATS.values():
        if tool_format.section and _may_write(turns.key.program, tool_format):
            return Grammar(tools=tool_format.key, section=tool_format.section, call=tool_format.call)
    return Grammar()


def _may_write(program: Program, tool_format: ToolFormat) -> bool:
    markers = (*(tool_format.section or ()), *(tool_format.call or ()), *tool_format.inner)
    return all(map(program.may_write, markers))


def _turn_text(trace: Trace, header: str) -> str:
    """Return the text of the assistant turn without its header."""
    start = next((span.start for span in trace.spans if span.message == 1), len(trace.text))
    text = trace.text[start:]
    return text.partition(header)[2] if header and header in text else text


def _candidates(
    trace: Trace, conversation: Sequence[JsonObject], reasoning: ReasoningFormat | None
) -> Iterator[Grammar]:
    """Yield the grammars that may parse the calls of a render."""
    names = [span for span in trace.spans if span_channel(span, conversation) is Channel.TOOL_NAME]
    between = _markers_between_calls(trace, conversation)
    for tool_format in TOOL_FORMATS.values():
        markers = (*(tool_format.section or ()), *(tool_format.call or ()))
        if tool_format.layout is TurnLayout.MESSAGES:
            markers = tool_format.inner[:1]
        if all(marker in trace.text for marker in markers) and names:
            yield Grammar(
                reasoning=reasoning, tools=tool_format.key, section=tool_format.section, call=tool_format.call
            )
        if between is not None and tool_format.call is not None and tool_format.section is None:
            yield Grammar(reasoning=reasoning, tools=tool_format.key, call=between)


def _markers_between_calls(trace: Trace, conversation: Sequence[JsonObject]) -> MarkerPair | None:
    """Return the last two markers between two calls: they open the second call and close the first one."""
    bodies = _turn_spans(trace, conversation, Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)
    first = [span for span in bodies if span.path[1:2] == (0,)]
    second = [span for span in bodies if span.path[1:2] == (1,)]
    if not first or not second:
        return None
    lexemes = LEXEME.findall(trace.text[first[-1].end : second[0].start])
    tags = [lexeme for lexeme in lexemes if len(lexeme) > 2 and lexeme[0] in "<["]
    return (tags[-1], tags[-2]) if len(tags) > 1 else None


def _without_end(text: str, grammar: Grammar, control: frozenset[str]) -> str:
    """Remove the special tokens at the end of a turn, except the markers of calls."""
    markers = {*(grammar.section or ()), *(grammar.call or ())}
    pattern = compile_alternation(frozenset(control - markers))
    while pattern is not None:
        stripped = text.rstrip()
        at_end = [match for match in pattern.finditer(stripped) if match.end() == len(stripped)]
        if not at_end:
            return text
        text = stripped[: at_end[-1].start()]
    return text


class _NoTokens:
    """A vocabulary without tokens: all markers are text."""

    byte_texts = ByteTexts([])
    added_tokens: dict[str, int] = {}  # noqa: RUF012


def _parse_text(grammar: Grammar, text: str) -> ParsedResponse:
    compiled = CompiledGrammar(grammar, MarkerText(_NoTokens(), markers=(), stops=()))
    scanner = new_scanner(compiled, [TOOL])
    events = scanner.close(Pieces.of([to_byte_text(text)]))
    return assemble(events, scanner.state)


def _with_content(turns: TurnFormat, grammar: Grammar) -> Grammar:
    """Return the fields of a grammar that concern calls, with the edges of content before calls."""
    padded = _trimmed(turns, {"content": _PADDED, "tool_calls": [*_CALLS[:1]]}, Channel.CONTENT)
    trace, _ = turns.render_turn({"content": _WORD, "tool_calls": [*_CALLS[:1]]})
    trail = ""
    opener = grammar.section or grammar.call
    if trace is not None and opener is not None and _WORD in trace.text:
        before = trace.text.rpartition(_WORD)[2].partition(opener[0])[0]
        trail = "" if before.strip() else before
    edges = Edges(trail=trail, right=padded.right)
    return Grammar(tools=grammar.tools, section=grammar.section, call=grammar.call, content_before_calls=edges)
