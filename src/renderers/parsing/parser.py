"""`ResponseParser`: parse a completion in chunks. A whole completion is one chunk."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from renderers.core.completions import CompletionState, ParsedResponse, ParseEvent
from renderers.core.token_ids import as_ids, find_ids, find_invalid_id, list_ids
from renderers.parsing.assembler import assemble
from renderers.parsing.base_scanner import Scanner
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.harmony import HarmonyScanner
from renderers.parsing.lists import ListScanner
from renderers.parsing.markers import split_at_marker_tokens
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.scanner import MarkerScanner
from renderers.parsing.schema import schemas_of
from renderers.parsing.segments import SegmentScanner
from renderers.parsing.tool_formats import TurnLayout
from renderers.parsing.whole_turn import read_whole_turn

_FIRST_WINDOW, _WINDOW_GROWTH = 16, 8
"""The number of tokens at the end of a prompt in which a header is searched for first, and the factor for the next."""

_SCANNERS: dict[TurnLayout, type[Scanner]] = {
    TurnLayout.MARKERS: MarkerScanner,
    TurnLayout.LISTS: ListScanner,
    TurnLayout.BARE_CALLS: ListScanner,
    TurnLayout.MESSAGES: HarmonyScanner,
    TurnLayout.SEGMENTS: SegmentScanner,
}


class ResponseParser:
    """Parse one completion in chunks of any size. Created by `ChatRenderer.parser`.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> parser = renderer.parser()
    >>> parser.feed(renderer.tokenizer.encode("<|think|>They greet.<|/think|>He", add_special_tokens=False))[1].text
    'They greet.'
    >>> _ = parser.feed(renderer.tokenizer.encode("llo!<|end|>", add_special_tokens=False))
    >>> parser.close().content
    'Hello!'
    """

    def __init__(
        self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces, follows_calls: bool = True
    ) -> None:
        self._marker_text = compiled.marker_text
        self._scanner = new_scanner(compiled, tools, prefill=prefill)
        self._scanner.calls.follows = follows_calls
        if prefill.byte_text and compiled.can_end_in(prefill.byte_text):
            self._scanner.feed(NO_PIECES)
            self._scanner.calls.forget()
            if self._scanner.stop_token_id is not None:
                # The prompt ends that turn, so the completion begins another one.
                self._scanner = new_scanner(compiled, tools)
                self._scanner.calls.follows = follows_calls
        self._events: list[ParseEvent] = []
        self._last_events: list[ParseEvent] = []
        self._response: ParsedResponse | None = None

    def feed(self, token_ids: Iterable[Any]) -> list[ParseEvent]:
        """Parse more tokens: ids in a list, an array or a tensor. Return their events in order.

        Raises:
            TypeError: An item is not an int. Names its position in the chunk.
            ValueError: The parser is closed.
        """
        ids = as_ids(token_ids, any_int=True)
        if len(ids) == 1:
            event = self._scanner.feed_plain(ids[0])
            if event is not None:
                self._events.append(event)
                return [event]
        events = self._scanner.feed(self._pieces(ids))
        self._events += events
        return events

    def close(self, token_ids: Iterable[Any] = ()) -> ParsedResponse:
        """Parse the last tokens, if any, and return the message. Closing again returns the same message.

        Raises:
            TypeError: An item is not an int. Names its position in the chunk.
            ValueError: The parser is closed, and there are more tokens.
        """
        last_ids = list_ids(token_ids, name="token_ids")
        if self._response is None or last_ids:
            return self.close_with(self._pieces(last_ids))
        return self._response

    def close_with(self, pieces: Pieces) -> ParsedResponse:
        """Parse the last tokens, as pieces that begin at the end of the input, and return the message."""
        self._last_events = self._scanner.close(pieces)
        self._response = assemble(self._events + self._last_events, self._scanner.state)
        return self._response

    def _pieces(self, token_ids: list[Any]) -> Pieces:
        if self._response is not None:
            as_ids(token_ids, any_int=True)
            raise ValueError("this parser is closed. Create a new one for another completion.")
        return self._marker_text.pieces(token_ids, self._scanner.buffer.end)

    @property
    def last_events(self) -> list[ParseEvent]:
        """The events of `close`: the last tokens, text that was kept back, and a call that was cut off."""
        return list(self._last_events)

    @property
    def state(self) -> CompletionState:
        """The state at the end of the tokens so far."""
        if self._response is None:
            # Scans the end of the prompt, if nothing was fed yet.
            self._scanner.feed(NO_PIECES)
        return self._scanner.state


def parse_whole(
    compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces, token_ids: Iterable[Any]
) -> ParsedResponse:
    """Parse a whole completion. Return what a `ResponseParser` returns, in fewer steps if it has the usual shape.

    Raises:
        TypeError: An item is not an int. Names its position.
    """
    if prefill.byte_text and compiled.can_end_in(prefill.byte_text):
        return ResponseParser(compiled, tools, prefill=prefill, follows_calls=False).close(token_ids)
    ids = list_ids(token_ids, name="token_ids")
    pieces = compiled.marker_text.pieces(ids, len(prefill.byte_text))
    response = read_whole_turn(compiled, schemas_of(tools), prefill=prefill, pieces=pieces)
    if response is None:
        return ResponseParser(compiled, tools, prefill=prefill, follows_calls=False).close_with(pieces)
    return response


def new_scanner(compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> Scanner:
    """Return a scanner for a grammar and the tools of a prompt. The layout of turns determines its class."""
    return _SCANNERS[compiled.layout](compiled, tools, prefill=prefill)


def find_prefill(compiled: CompiledGrammar, prompt_ids: Sequence[Any]) -> Pieces:
    """Return the byte text of a prompt after the last header of an assistant turn, in pieces.

    It may include the end of that turn and everything that follows it. It is empty if a stop token follows the header
    at some distance: then the completion begins another turn. A prompt without a header and a stop token that begins
    with open reasoning is the beginning of a turn. Only the ids that are read are checked: prompts are long,
    and most headers are near the end.

    Raises:
        TypeError: An id is not an int. Names its position.
    """
    pieces = _known_prefill(compiled, prompt_ids)
    if pieces is not None:
        return pieces
    header, size = compiled.header, _FIRST_WINDOW
    ends_turn = compiled.stop_markers.occurs_in
    # A window may begin within a header, so a stop token in the header shows nothing.
    may_skip = not ends_turn(header)
    while header:
        ids = prompt_ids[-size:]
        if not _is_packed(ids) and find_invalid_id(ids if type(ids) is list else list(ids)) >= 0:
            ids = as_ids(prompt_ids, name="prompt_ids", any_int=True)[-size:]
        if compiled.header_ids and size < len(prompt_ids) and not _contains(ids, compiled.header_ids[:1]):
            # No header, so the byte text is not needed: stop tokens are found by their ids.
            if may_skip and _contains(ids, compiled.stop_ids):
                break
            size *= _WINDOW_GROWTH
            continue
        listed = list(ids)
        text = compiled.marker_text.known_text(listed)
        if text is None:
            text = compiled.marker_text.byte_text(listed)
        _, marker, prefill = text.rpartition(header)
        if marker:
            return compiled.prefills.get(prefill, functools.partial(_pieces_of, prefill))
        if may_skip and ends_turn(text):
            # The turn that a header further back begins ends with that stop token.
            break
        if size >= len(prompt_ids):
            is_open = compiled.think and text.startswith(compiled.think) and compiled.think_end not in text
            return _pieces_of(text) if is_open else NO_PIECES
        size *= _WINDOW_GROWTH
    return NO_PIECES


def _known_prefill(compiled: CompiledGrammar, prompt_ids: Sequence[Any]) -> Pieces | None:
    """Return the result of `find_prefill` for a prompt with a header that begins at the last token of that id.

    None if there is no header among the last ids, or if it does not begin with a token.
    """
    token = compiled.header_start
    ids = prompt_ids[-_FIRST_WINDOW:]
    ids = ids.tolist() if _is_packed(ids) else ids
    if token is None or type(ids) is not list or find_invalid_id(ids) >= 0 or token not in ids:
        return None
    ids.reverse()
    # The turn so far in most prompts: the header, and perhaps a marker.
    turn = tuple(ids[ids.index(token) :: -1])
    return compiled.known_turns.get(turn, functools.partial(_prefill_in, compiled, turn))


def _prefill_in(compiled: CompiledGrammar, turn: tuple[int, ...]) -> Pieces | None:
    """Return the byte text after the header that a turn begins with, in pieces. None if it does not begin with it."""
    byte_text = compiled.marker_text.byte_text(list(turn))
    return _pieces_of(byte_text.removeprefix(compiled.header)) if byte_text.startswith(compiled.header) else None


def _is_packed(ids: Sequence[Any]) -> TypeGuard[array[int]]:
    return isinstance(ids, array) and ids.typecode == "I"


def _contains(ids: Sequence[Any], tokens: Sequence[int]) -> bool:
    """Return True if one of some tokens is among ids."""
    if _is_packed(ids):
        return any(find_ids(ids, array("I", [token]), 0) >= 0 for token in tokens)
    return any(token in ids for token in tokens)


def _pieces_of(byte_text: str) -> Pieces:
    return Pieces.of(split_at_marker_tokens(byte_text))
