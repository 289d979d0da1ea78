"""The grammar of a template's turns, read off what it writes.

A template says how past turns are written, and a model that was trained on it writes the next one the same way. Markers
and padding come from small renders with known words in every field; a syntax of tool calls is recognised by reading
the calls that the template wrote.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from renderers.core.channels import span_channel
from renderers.core.patterns import compile_alternation
from renderers.core.spans import Channel, Trace
from renderers.core.text import LEXEME
from renderers.parse.assemble import Assembler
from renderers.parse.grammar import SPACES, Edges, Grammar, Pair, ReasoningFormat
from renderers.parse.lexicon import Lexicon
from renderers.parse.pieces import Pieces
from renderers.parse.response import ParsedResponse
from renderers.parse.stream import new_scanner
from renderers.parse.syntax import SYNTAXES, Syntax
from renderers.parse.tables import Tables
from renderers.probing.turn_format import Ways, fields, heads, think_markers, turn_of
from renderers.programs.input_formats import TOOL, Data
from renderers.tokenizer.wire import WireTexts, to_wire

__all__ = ["derive_grammar", "misread", "writes_calls"]

_THINK = re.compile(r"<(?!/)[^<>\s]*think[^<>\s]*>|\[THINK\]")
_PADDED = "\n Kiesel \n"
_CALLS: tuple[Data, ...] = tuple(
    {"id": f"call0000{number}", "type": "function", "function": {"name": "f", "arguments": {"x": f"y{number}"}}}
    for number in range(2)
)


@functools.lru_cache(maxsize=64)
def derive_grammar(ways: Ways, with_tools: Ways, control: frozenset[str]) -> Grammar:
    """Returns the grammar of a template's turns, without and with tools; `control` are the vocabulary's own markers."""
    prompts = [head.prompt for head in heads(ways, "user")]
    markers = think_markers(ways)
    reasoning = _reasoning(ways, markers) if markers else _unwritten_reasoning(ways, prompts)
    header = _header(prompts, reasoning)
    called = _calls(with_tools, reasoning, header, control)
    syntax = SYNTAXES[called.tools] if called.tools else None
    return Grammar(
        header=header,
        lead=_lead(ways, reasoning, header),
        reasoning=reasoning,
        content=_trimmed(ways, {"content": _PADDED}, Channel.CONTENT),
        content_before_calls=called.content_before_calls,
        tools=called.tools,
        section=called.section,
        call=called.call,
        assumes_reasoning=bool(syntax and syntax.assumes_prompt) and _opens(prompts[:1], reasoning),
    )


def _reasoning(ways: Ways, markers: Pair) -> ReasoningFormat:
    around = fields(ways)[Channel.REASONING]
    lead = around.before.rpartition(markers[0])[2]
    trail, _, after = around.after.partition(markers[1])
    said = {"content": "Said", "reasoning_content": _PADDED, "thinking": _PADDED}
    trimmed = _trimmed(ways, said, Channel.REASONING)
    after = "" if after.strip() else after
    return ReasoningFormat(
        markers=markers,
        edges=Edges(lead=lead, trail=trail, left=trimmed.left, right=trimmed.right),
        after=after,
        after_empty=_after_empty(ways, markers[1], otherwise=after),
    )


def _after_empty(ways: Ways, close: str, *, otherwise: str) -> str:
    """Returns the padding after reasoning that is empty: of a turn that has none."""
    trace, conversation = turn_of(ways, {"content": "Said"})
    said = trace and next(
        (span for span in trace.spans if span_channel(span, conversation) is Channel.CONTENT and span.message == 1),
        None,
    )
    if trace is None or not said:
        return otherwise
    _, closed, after = trace.text[: said.start].rpartition(close)
    return after if closed and not after.strip() else otherwise


def _unwritten_reasoning(ways: Ways, prompts: Sequence[str]) -> ReasoningFormat | None:
    """Returns reasoning that a prompt or an empty pair of markers shows, and that the template never writes."""
    content = fields(ways).get(Channel.CONTENT)
    texts = [*prompts, content.before if content else ""]
    found = [tag for text in texts for tag in _THINK.findall(text)]
    if not found:
        return None
    close = f"{found[0][0]}/{found[0][1:]}"
    # Nothing shows the padding: it is taken to be what such models write.
    return ReasoningFormat(
        markers=(found[0], close),
        edges=Edges(left=SPACES, right=SPACES),
        after="\n\n",
        after_empty=_after_empty(ways, close, otherwise="\n\n"),
    )


def _header(prompts: Sequence[str], reasoning: ReasoningFormat | None) -> str:
    """Returns what all prompts begin a turn with."""
    pattern = compile_alternation(frozenset(reasoning.markers)) if reasoning else None
    cut = [pattern.split(prompt)[0] if pattern else prompt for prompt in prompts]
    columns = zip(*(LEXEME.findall(one) for one in cut), strict=False)
    return "".join(one[0] for one in itertools.takewhile(lambda column: len(set(column)) == 1, columns))


def _opens(prompts: Sequence[str], reasoning: ReasoningFormat | None) -> bool:
    if reasoning is None:
        return False
    opened, closed = reasoning.markers
    return any(prompt.rfind(opened) > prompt.rfind(closed) for prompt in prompts)


def _lead(ways: Ways, reasoning: ReasoningFormat | None, header: str) -> str:
    """Returns the padding between the header and what a turn begins with."""
    around = fields(ways).get(Channel.REASONING) or fields(ways).get(Channel.CONTENT)
    if around is None or header not in around.before:
        return ""
    rest = around.before.rpartition(header)[2] if header else around.before
    lead = rest.partition(reasoning.markers[0])[0] if reasoning else rest
    return "" if lead.strip() else lead


def _trimmed(ways: Ways, said: Data, channel: Channel) -> Edges:
    """Returns what a template trims from a field."""
    trace, conversation = turn_of(ways, said)
    shown = _shown(trace, conversation, channel) if trace else None
    if not shown or "Kiesel" not in shown:
        return Edges()
    before, _, after = shown.partition("Kiesel")
    return Edges(left=_lost(_PADDED.partition("K")[0], before), right=_lost(_PADDED.rpartition("l")[2], after))


def _lost(given: str, shown: str) -> str:
    """Returns the characters that are trimmed, where some of those around a word are not shown."""
    if shown == given:
        return ""
    return "\n" if " " in shown else SPACES


def _shown(trace: Trace, conversation: Sequence[Data], channel: Channel) -> str | None:
    spans = [
        trace.text[span.start : span.end]
        for span in trace.spans
        if span.message == 1 and span_channel(span, conversation) is channel
    ]
    return "".join(spans) if spans else None


# ==================
# Calls
# ==================


def _calls(ways: Ways, reasoning: ReasoningFormat | None, header: str, control: frozenset[str]) -> Grammar:
    """Returns what of a grammar is about tool calls."""
    for calls in (_CALLS, _CALLS[:1]):
        trace, conversation = turn_of(ways, {"content": "", "tool_calls": [*calls]})
        if trace is None or _shown(trace, conversation, Channel.TOOL_NAME) is None:
            continue
        turn = _turn_text(trace, header)
        for grammar in _candidates(trace, conversation, reasoning):
            read = _read_text(grammar, _without_end(turn, grammar, control))
            wanted = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
            if [(call.name, call.arguments) for call in read.tool_calls] == wanted:
                return _with_content(ways, grammar)
    # A template that fails on calls may still name the markers.
    named = (syntax for syntax in SYNTAXES.values() if syntax.section and _names(ways.source, syntax))
    syntax = next(named, None)
    if syntax is None:
        return Grammar()
    return Grammar(tools=syntax.key, section=syntax.section, call=syntax.call)


def writes_calls(ways: Ways) -> bool:
    """Says whether a template writes tool calls at all."""
    trace, conversation = turn_of(ways, {"content": "", "tool_calls": [*_CALLS[:1]]})
    return trace is not None and bool(_shown(trace, conversation, Channel.TOOL_NAME))


def misread(ways: Ways, grammar: Grammar, ends: frozenset[str]) -> list[str]:
    """Returns what is read of turns that the template wrote where that is not what they say, in words.

    `ends` are the texts of the tokens that end a turn.
    """
    found, end = [], compile_alternation(ends)
    for said in ({"content": "Kiesel"}, {"content": "Kiesel", "reasoning_content": "Wolke", "thinking": "Wolke"}):
        trace, conversation = turn_of(ways, said)
        if trace is None or _shown(trace, conversation, Channel.CONTENT) is None:
            continue
        wanted = "Kiesel", "Wolke" if "Wolke" in trace.text else ""
        turn = _turn_text(trace, grammar.header)
        read = _read_text(grammar, end.split(turn, maxsplit=1)[0] if end else turn)
        got = read.content.strip(), (read.reasoning_content or "").strip()
        if got != wanted:
            found.append(f"content {wanted[0]!r} and reasoning {wanted[1]!r} are read as {got[0]!r} and {got[1]!r}")
    return found


def _names(source: str, syntax: Syntax) -> bool:
    return all(marker in source for marker in (*(syntax.section or ()), *(syntax.call or ()), *syntax.inner))


def _turn_text(trace: Trace, header: str) -> str:
    """Returns an assistant's turn without its header."""
    own = next((span.start for span in trace.spans if span.message == 1), len(trace.text))
    text = trace.text[own:]
    return text.partition(header)[2] if header and header in text else text


def _candidates(trace: Trace, conversation: Sequence[Data], reasoning: ReasoningFormat | None) -> Iterator[Grammar]:
    """Yields grammars that may be the one that calls were written with."""
    names = [span for span in trace.spans if span_channel(span, conversation) is Channel.TOOL_NAME]
    own = _own_markers(trace, conversation)
    for syntax in SYNTAXES.values():
        marked = syntax.inner[:1] if syntax.by_message else (*(syntax.section or ()), *(syntax.call or ()))
        if all(marker in trace.text for marker in marked) and names:
            yield Grammar(reasoning=reasoning, tools=syntax.key, section=syntax.section, call=syntax.call)
        if own is not None and syntax.call is not None and syntax.section is None:
            yield Grammar(reasoning=reasoning, tools=syntax.key, call=own)


def _own_markers(trace: Trace, conversation: Sequence[Data]) -> Pair | None:
    """Returns the markers next to each other between two calls: what closes one, and what opens the next."""
    bodies = [
        span
        for span in trace.spans
        if span.message == 1 and span_channel(span, conversation) in (Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)
    ]
    second = [span for span in bodies if span.path[1:2] == (1,)]
    first = [span for span in bodies if span.path[1:2] == (0,)]
    if not first or not second:
        return None
    tags = [
        tag for tag in LEXEME.findall(trace.text[first[-1].end : second[0].start]) if len(tag) > 2 and tag[0] in "<["
    ]
    return (tags[-1], tags[-2]) if len(tags) > 1 else None


def _without_end(turn: str, grammar: Grammar, control: frozenset[str]) -> str:
    """Returns a turn's text without the tokens that end it."""
    markers = {*(grammar.section or ()), *(grammar.call or ())}
    pattern = compile_alternation(frozenset(control - markers))
    while pattern is not None:
        text = turn.rstrip()
        found = [match for match in pattern.finditer(text) if match.end() == len(text)]
        if not found:
            return turn
        turn = text[: found[-1].start()]
    return turn


class _NoTokens:
    """A vocabulary without any tokens: all markers are text."""

    wire_texts = WireTexts([])
    added_tokens: dict[str, int] = {}  # noqa: RUF012


def _read_text(grammar: Grammar, text: str) -> ParsedResponse:
    tables = Tables(grammar, Lexicon(_NoTokens(), marks=(), stops=()))
    scanner, assembler = new_scanner(tables, [TOOL]), Assembler()
    assembler.add(scanner.feed(Pieces.of([to_wire(text)])))
    assembler.add(scanner.close())
    return assembler.response(scanner.state)


def _with_content(ways: Ways, grammar: Grammar) -> Grammar:
    """Returns a grammar that also knows how content ends before calls."""
    padded = _trimmed(ways, {"content": _PADDED, "tool_calls": [*_CALLS[:1]]}, Channel.CONTENT)
    trace, _ = turn_of(ways, {"content": "Kiesel", "tool_calls": [*_CALLS[:1]]})
    trail = ""
    opener = grammar.section or grammar.call
    if trace is not None and opener is not None:
        rest = trace.text.rpartition("Kiesel")[2]
        before, _, _ = rest.partition(opener[0])
        trail = before if "Kiesel" in trace.text and not before.strip() else ""
    edges = Edges(trail=trail, right=padded.right)
    return Grammar(tools=grammar.tools, section=grammar.section, call=grammar.call, content_before_calls=edges)
