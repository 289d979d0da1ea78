"""`ResponseParser`: a completion read as it comes. Reading all of one at once is feeding it in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from renderers.parse.assemble import Assembler
from renderers.parse.events import ParseEvent
from renderers.parse.harmony import HarmonyScanner
from renderers.parse.lexicon import as_ids
from renderers.parse.pieces import Pieces
from renderers.parse.response import CompletionState, ParsedResponse
from renderers.parse.scanner import Scanner
from renderers.parse.tables import Tables

__all__ = ["ResponseParser", "new_scanner"]


class ResponseParser:
    """Reads one completion, in chunks of any size; made by `ChatRenderer.stream`.

    >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
    >>> parser = renderer.stream()
    >>> parser.feed(renderer.tokenizer.encode("<|think|>They greet.<|/think|>He"))[1].text
    'They greet.'
    >>> _ = parser.feed(renderer.tokenizer.encode("llo!<|end|>"))
    >>> parser.close().content
    'Hello!'
    """

    def __init__(self, tables: Tables, tools: Sequence[Any] | None, *, prefill: list[str]) -> None:
        self._tables = tables
        self._scanner = _started(tables, tools, prefill)
        self._assembler = Assembler()
        self._closed: ParsedResponse | None = None
        self._last: list[ParseEvent] = []

    def feed(self, token_ids: Iterable[Any]) -> list[ParseEvent]:
        """Reads more tokens: ids in a list, an array or a tensor. Returns what they tell, in order.

        Raises:
            ValueError: The parser was closed before.
        """
        events = self._scanner.feed(self._pieces(token_ids))
        self._assembler.add(events)
        return events

    def close(self, token_ids: Iterable[Any] = ()) -> ParsedResponse:
        """Reads the last tokens, if there are more, and returns the message. Closing once more gives the same.

        Raises:
            ValueError: The parser was closed before, and these are more tokens.
        """
        last = as_ids(token_ids)
        if self._closed is None or last:
            self._last = self._scanner.close(self._pieces(last))
            self._assembler.add(self._last)
            self._closed = self._assembler.response(self._scanner.state)
        return self._closed

    def _pieces(self, token_ids: Iterable[Any]) -> Pieces:
        if self._closed is not None:
            raise ValueError("this parser is closed: make a new one for another completion")
        return self._tables.lexicon.pieces(as_ids(token_ids))

    @property
    def last_events(self) -> list[ParseEvent]:
        """What closing has told: the last tokens, what was held back until then, and a call that was cut off."""
        return list(self._last)

    @property
    def state(self) -> CompletionState:
        """Where what was read so far ends."""
        return self._scanner.state


def new_scanner(tables: Tables, tools: Sequence[Any] | None, *, first: int = 0) -> Scanner:
    """Returns the scanner for a grammar, and for the tools of a prompt."""
    kind = HarmonyScanner if tables.syntax and tables.syntax.by_message else Scanner
    return kind(tables, tools, first=first)


def _started(tables: Tables, tools: Sequence[Any] | None, prefill: list[str]) -> Scanner:
    """Returns a scanner that has read the part of the turn that the prompt already holds."""
    scanner = new_scanner(tables, tools, first=-len(prefill))
    if not prefill:
        return scanner
    scanner.feed(Pieces.of(prefill))
    if scanner.state.stop is not None:
        # The prompt went on after that turn.
        return new_scanner(tables, tools)
    scanner.forget_calls()
    return scanner
