"""Turns that a program renders, and their text as a parser without a vocabulary reads it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

from renderers.core.channels import span_channel
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject
from renderers.core.probes import TOOL
from renderers.core.spans import Channel, Span, Trace
from renderers.parsing.assembler import assemble
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.grammar import Grammar
from renderers.parsing.markers import MarkerText
from renderers.parsing.parser import new_scanner
from renderers.parsing.pieces import Pieces
from renderers.probing.turn_format import TurnFormat
from renderers.tokenizer.encoding.byte_text import to_byte_text


class RenderedTurn(NamedTuple):
    """An assistant's turn after a question. The trace is empty if the template rejects the turn."""

    trace: Trace
    conversation: Sequence[JsonObject]

    @classmethod
    def of(cls, turns: TurnFormat, content: str, **fields: object) -> RenderedTurn:
        trace, conversation = turns.render_turn({"content": content, **fields})
        return cls(trace or Trace("", ()), conversation)

    def spans(self, *channels: Channel) -> list[Span]:
        own = [span for span in self.trace.spans if span.message == 1]
        return [span for span in own if span_channel(span, self.conversation) in channels]

    def body(self, channel: Channel) -> str | None:
        """Return the text of a channel. None if it was not rendered."""
        spans = self.spans(channel)
        return "".join(self.trace.text[span.start : span.end] for span in spans) if spans else None

    @property
    def start(self) -> int:
        """The position at which the turn begins."""
        return next((span.start for span in self.trace.spans if span.message == 1), len(self.trace.text))

    def text_before(self, span: Span) -> str:
        """Return the text of the turn before a span."""
        return self.trace.text[self.start : span.start]

    def text_after(self, header: str) -> str:
        """Return the text of the turn without its header."""
        text = self.trace.text[self.start :]
        return text.partition(header)[2] if header and header in text else text


def without_end(text: str, special_tokens: frozenset[str]) -> str:
    """Remove the special tokens at the end of a turn, and the whitespace between and after them."""
    while True:
        stripped = text.rstrip()
        ends = [token for token in special_tokens if token and stripped.endswith(token)]
        if not ends:
            return text
        text = stripped.removesuffix(max(ends, key=len))


_NO_TOKENS = SimpleNamespace(token_texts={}, byte_texts=None, stored=None, added_tokens={}, reserved_texts=frozenset())
_TEXT_ONLY = MarkerText(_NO_TOKENS, markers=(), stops=())
"""A vocabulary without tokens: all markers are text."""


def parse_text(grammar: Grammar, text: str, *, tools: Sequence[JsonObject] = (TOOL,)) -> ParsedResponse:
    """Parse the text of a turn. Special tokens in it are found by their text."""
    scanner = new_scanner(CompiledGrammar(grammar, _TEXT_ONLY), tools)
    events = scanner.close(Pieces.of([to_byte_text(text)]))
    return assemble(events, scanner.state)
