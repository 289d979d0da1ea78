"""A grammar compiled for a vocabulary: the markers to search for in each state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from renderers.core.text import compile_alternation
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.grammar import Grammar
from renderers.parsing.markers import MarkerText, MarkerTokenizer
from renderers.parsing.tool_formats import TOOL_FORMATS, ToolFormat
from renderers.tokenizer.encoding.byte_text import UNKNOWN


class CompiledGrammar:
    """A grammar with its markers as byte text. Immutable: any number of scanners share it."""

    def __init__(self, grammar: Grammar, marker_text: MarkerText) -> None:
        self.grammar = grammar
        self.marker_text = marker_text
        self.tool_format: ToolFormat | None = TOOL_FORMATS[grammar.tools] if grammar.tools else None
        mark, stops = marker_text.mark, marker_text.stops
        self.header = marker_text.mark_all(grammar.header)
        self.think, self.think_end = map(mark, grammar.reasoning.markers) if grammar.reasoning else ("", "")
        self.section, self.section_end = map(mark, grammar.section or ("", ""))
        self.call, self.call_end = map(mark, grammar.call or ("", ""))
        self.starts = tuple(filter(None, (self.header, self.think, self.think_end)))
        """The markers that a turn can begin with, except those of calls."""
        # A call outside of a section is a call only if it begins with a token.
        alone = grammar.call and (not grammar.section or marker_text.is_token(grammar.call[0]))
        self.call_openers = frozenset({self.section, self.call if alone else ""}) - {""}
        """The markers that begin calls outside of a section."""
        ends_reasoning = self.tool_format is not None and self.tool_format.ends_reasoning
        self.reasoning_markers = MarkerSet.of(*stops, UNKNOWN, self.think, self.think_end)
        """Within reasoning that is known to be closed."""
        self.open_reasoning_markers = MarkerSet.of(
            *self.reasoning_markers.markers, *(self.call_openers if ends_reasoning else ())
        )
        """Within reasoning that a call can end."""
        self.reasoning_end_markers = MarkerSet.of(*stops, self.think_end)
        """After a call within reasoning: these decide if the call ended the reasoning."""
        self.content_markers = MarkerSet.of(*stops, UNKNOWN, *self.call_openers)
        self.section_markers = MarkerSet.of(*stops, UNKNOWN, self.call, self.section_end)
        self.call_markers = MarkerSet.of(*stops, UNKNOWN, self.call_end, self.section_end)
        self.stop_markers = MarkerSet.of(*stops)
        self.assumed_prefill = [self.think] if grammar.assumes_reasoning else []
        """The beginning of a turn to assume if the prompt is not given."""


def markers_within(grammar: Grammar) -> frozenset[str]:
    """Return all markers that occur within a turn."""
    reasoning = grammar.reasoning.markers if grammar.reasoning else ()
    inner = TOOL_FORMATS[grammar.tools].inner if grammar.tools else ()
    return frozenset({*reasoning, *(grammar.section or ()), *(grammar.call or ()), *inner})


def compile_grammar(grammar: Grammar, tokenizer: _Tokenizer, *, stops: Iterable[int]) -> CompiledGrammar:
    """Compile a grammar for a tokenizer and for the ids of the stop tokens."""
    within = markers_within(grammar)
    reserved = compile_alternation(tokenizer.reserved_texts)
    header = frozenset(reserved.findall(grammar.header)) if reserved else frozenset()
    # The markers within a turn come first: the first ones get the shortest representation.
    marker_text = MarkerText(tokenizer, markers=[*sorted(within), *sorted(header)], stops=sorted(stops))
    return CompiledGrammar(grammar, marker_text)


class _Tokenizer(MarkerTokenizer, Protocol):
    @property
    def reserved_texts(self) -> frozenset[str]: ...
