"""A grammar compiled for a vocabulary: the markers to search for in each state, and the fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal, NamedTuple
from weakref import WeakValueDictionary

from renderers.core.bounded_table import BoundedTable
from renderers.core.completions import ContentDelta, ReasoningDelta, Region
from renderers.core.text import compile_alternation
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.emitter import Field, skipped_because
from renderers.parsing.grammar import SPACES, Grammar, ReasoningFormat
from renderers.parsing.markers import MarkerText, MarkerTokenizer
from renderers.parsing.pieces import MARKER_CHARACTERS, NO_PIECES, Pieces
from renderers.parsing.plain import PlainTokens
from renderers.parsing.tool_formats import MarkerPair, TurnLayout
from renderers.parsing.tool_formats.json_calls import NAME_ARGUMENTS
from renderers.tokenizer.encoding.byte_text import UNKNOWN

BESIDE_CALLS = "beside tool calls"
"""The reason to skip text between calls and after them."""
TEXT_IN_SECTION = Field(skipped_because(BESIDE_CALLS), Region.CALLS, left=SPACES)
_TEXT_AFTER_CALLS = TEXT_IN_SECTION._replace(region=Region.CONTENT)
_NO_MARKERS = "", ""
_NO_REASONING = ReasoningFormat(markers=_NO_MARKERS)
_KEPT_PREFILLS = 64
_COMPILED: WeakValueDictionary[tuple[Grammar, int, tuple[int, ...]], CompiledGrammar] = WeakValueDictionary()


class ScannerFields(NamedTuple):
    """The fields of a turn with markers around its reasoning and its calls."""

    reasoning: Field
    content: Field
    """Content without padding before it."""
    first: Field
    """Content at the beginning of a turn."""
    answer: Field
    """Content after reasoning."""
    answer_after_empty: Field
    """Content after empty reasoning."""
    answer_start: Field
    """The beginning of content after reasoning, before it is known to be content."""
    in_response: Field
    """Content after a marker that opens it."""
    after_response: Field
    """Content after the marker that closes content."""
    after_calls: Field
    """Text after calls."""
    after_unmarked_call: Field
    """Text after a call without markers, before it is known to be text."""

    @classmethod
    def of(cls, grammar: Grammar, *, reasoning: Field, content: Field, keeps_text: bool) -> ScannerFields:
        """Return the fields of a grammar. `keeps_text` is True if text after calls is content."""
        padding, left = grammar.reasoning or _NO_REASONING, grammar.content.left
        trimmed = content._replace(left=SPACES)
        after_calls = trimmed if keeps_text else _TEXT_AFTER_CALLS
        return cls(
            reasoning=reasoning,
            content=content,
            first=content._replace(lead=grammar.lead, left=left),
            answer=content._replace(lead=padding.after, left=left),
            answer_after_empty=content._replace(lead=padding.after_empty, left=left),
            answer_start=content._replace(plain=None),
            in_response=content._replace(lead=grammar.content.lead, left=left),
            after_response=trimmed,
            after_calls=after_calls,
            after_unmarked_call=after_calls._replace(plain=None),
        )


class CompiledGrammar:
    """A grammar with its markers as byte text. Immutable: any number of scanners share it."""

    def __init__(self, grammar: Grammar, marker_text: MarkerText) -> None:
        self.grammar = grammar
        self.marker_text = marker_text
        self.tool_format = grammar.tool_format
        self.layout = self.tool_format.layout if self.tool_format else TurnLayout.MARKERS
        self.reasoning = grammar.reasoning or _NO_REASONING
        self.markers = tuple(sorted(map(marker_text.mark, markers_within(grammar)), key=len, reverse=True))
        """All markers within a turn, the longest ones first."""
        self._compile_turn()
        self._compile_calls()
        self._compile_marker_sets()
        self._compile_fields()
        self.prefills = BoundedTable[Pieces](keep=_KEPT_PREFILLS)
        """The beginnings of turns in the latest prompts, by their byte text."""
        self.known_turns = BoundedTable[Pieces | None](keep=_KEPT_PREFILLS)
        """The same by the ids of a turn and its header. None for ids that do not begin with the header."""
        self.assumed_prefill = Pieces.of([self.think]) if grammar.assumes_reasoning else NO_PIECES
        """The beginning of a turn to assume if the prompt is not given."""

    def _compile_turn(self) -> None:
        """Compile the markers of a turn, except those of calls."""
        grammar, mark = self.grammar, self.marker_text.mark
        self.header = mark(grammar.header)
        self.think, self.think_end = map(mark, self.reasoning.markers)
        self.response, self.response_end = map(mark, grammar.response or _NO_MARKERS)
        self.turn_end = mark(grammar.end)
        self.openings = tuple(map(mark, self.tool_format.openings)) if self.tool_format else ()
        self.starts = tuple(filter(None, (self.header, self.think, self.think_end, self.response)))
        """The markers that a turn can begin with, except those of calls."""
        self.answer_starts = (*filter(None, [self.response]), *self.openings)
        """The texts that a turn can go on with after reasoning, except for the markers of calls."""

    def _compile_calls(self) -> None:
        """Compile the markers of calls, of their sections, and within them."""
        grammar, tool_format = self.grammar, self.tool_format
        mark, stops = self.marker_text.mark, self.marker_text.stops
        sections = (grammar.section, *(tool_format.other_sections if tool_format else ())) if grammar.section else ()
        self.section_closers = {mark(opener): mark(closer) for opener, closer in sections}
        """The markers that open a section of calls, and the marker that closes each."""
        self.section = mark(grammar.section[0]) if grammar.section else ""
        self.section_ends = frozenset(self.section_closers.values())
        self.call = mark(grammar.call[0]) if grammar.call else ""
        self.needs_closing = grammar.call is None or bool(grammar.call[1])
        """True if a call has a closing marker."""
        self.names_calls = tool_format is not None and tool_format.names_calls
        """True if a name can be in the place of a JSON list."""
        self.list_opening = tool_format.list_opening if tool_format else None
        self.has_json_list = tool_format is not None and tool_format.json_list
        self.inner = tuple(map(mark, tool_format.inner)) if tool_format else ()
        self.unmarked, unmarked_end = map(mark, (tool_format.unmarked if tool_format else None) or _NO_MARKERS)
        self.unmarked_openers = frozenset(
            {self.unmarked, *map(mark, tool_format.within_text if tool_format else ())}
        ) - {""}
        """The texts that a call without markers within content can begin with."""
        self.quote, self.quote_end = map(mark, (tool_format.quotes if tool_format else None) or _NO_MARKERS)
        self.value, self.value_end = map(mark, (tool_format.value if tool_format else None) or _NO_MARKERS)
        pairs = [(mark(opener), mark(closer)) for opener, closer in call_markers(grammar)]
        self.call_closers = frozenset(closer for _, closer in pairs)
        openers = [opener for opener, _ in pairs]
        # A call outside of a section is a call only if its marker is a token or contains one.
        alone = [opener for opener in openers if not grammar.section or MARKER_CHARACTERS.search(opener)]
        self.call_openers = frozenset({*self.section_closers, *alone}) - {""}
        """The markers that begin calls outside of a section."""
        next_calls = openers if tool_format and tool_format.separates_calls else []
        in_call = *stops, self._unknown_in_calls, self.quote, *self.section_ends
        self.call_ends = {
            opener: (closer, MarkerSet.of(*in_call, *([closer, *next_calls] if closer else openers)))
            for opener, closer in (*pairs, *([(self.unmarked, unmarked_end)] if self.unmarked else ()))
        }
        """By the marker that opens a call: the marker that closes it, and the markers to search for in it."""
        self.list_markers = {
            opener: MarkerSet.of(*markers.markers, "{") for opener, (_, markers) in self.call_ends.items()
        }
        """By the marker that opens a JSON list: the markers to search for between its calls."""
        self.head_markers = {
            opener: MarkerSet.of(*markers.markers, *self.inner)
            for opener, markers in (self.list_markers.items() if self.names_calls else ())
        }
        """By the same marker: the markers that decide between a list and a call with a name."""

    @property
    def _unknown_in_calls(self) -> str:
        # The text of a list is searched as a whole, whatever ids are in it.
        return UNKNOWN if self.layout is TurnLayout.MARKERS else ""

    def _compile_marker_sets(self) -> None:
        """Compile the markers to search for in each state."""
        grammar, marker_text, stops = self.grammar, self.marker_text, self.marker_text.stops
        self.stop_markers = MarkerSet.of(*stops)
        self.header_start = next(iter(marker_text.ids_in(self.header[:1])), None)
        """The id that the header begins with. None if it begins with text."""
        self.header_ids, self.stop_ids = marker_text.ids_in(self.header), marker_text.ids_in("".join(sorted(stops)))
        """The ids of the tokens in the header, and of all stop tokens."""
        self.reasoning_markers = MarkerSet.of(*stops, UNKNOWN, self.think, self.think_end)
        """Within reasoning that is known to be closed."""
        call_ends = self.call_openers if self._rule("ends_reasoning") else ()
        self.open_reasoning_markers = MarkerSet.of(*self.reasoning_markers.markers, *call_ends)
        """Within reasoning that a call can end."""
        self.reasoning_end_markers = MarkerSet.of(*stops, self.think_end)
        """After a call within reasoning: these decide if the call ended the reasoning."""
        response_tokens = filter(marker_text.is_token, grammar.response or ())
        thinks_again = grammar.reasoning_anywhere and marker_text.is_token(self.reasoning.markers[0])
        in_content = self.turn_end, *map(marker_text.mark, response_tokens), *([self.think] if thinks_again else ())
        self.content_markers = MarkerSet.of(*stops, UNKNOWN, *self.call_openers, *in_content)
        self.response_markers = MarkerSet.of(*{*self.content_markers.markers, self.response_end} - {self.turn_end})
        """Within content that a marker opened. Only there, a marker that is not a token can close it."""
        self.unmarked_markers = MarkerSet.of(*self.content_markers.markers, *self.unmarked_openers)
        """Within content in which a call without markers can begin."""
        keys = self.tool_format.keys if self.tool_format else None
        names = (keys.name, NAME_ARGUMENTS.name) if keys else ()
        self.name_keys = frozenset(marker_text.mark(json.dumps(name, ensure_ascii=False)) for name in names)
        """The keys of names in JSON calls without markers: that of the format, and the usual one."""
        self.in_unmarked_calls = MarkerSet.of(*self.name_keys, *self.inner)
        """The texts that such calls within content contain: each one has a key or follows a marker."""
        self.section_markers = MarkerSet.of(*stops, UNKNOWN, self.call, *self.section_ends)
        self.quoted_markers = MarkerSet.of(*stops, self._unknown_in_calls, self.quote_end)
        """Within quotes in a call."""
        self.value_markers = MarkerSet.of(*stops, self.value, self.value_end)
        """After a marker of calls within a value: these decide if the marker is text of the value."""
        self.in_value_markers = MarkerSet.of(*stops, self._unknown_in_calls, self.value_end)
        """Within a value that is known to be closed."""
        inner = self.inner if self.layout in (TurnLayout.MESSAGES, TurnLayout.SEGMENTS) else ()
        in_calls = [marker for _, markers in self.call_ends.values() for marker in markers.markers]
        self._ends = MarkerSet.of(*stops, *in_calls, *self.section_ends, self.quote_end, self.value_end, *inner)
        """The markers that can end a call or the turn."""

    def _compile_fields(self) -> None:
        """Compile the fields of a turn, with the tokens that are plain text in each."""
        grammar, texts, edges = self.grammar, self.marker_text.texts, self.reasoning.edges
        plain = PlainTokens(texts, markers=self.open_reasoning_markers, ends=(edges,))
        reasoning = Field(
            ReasoningDelta, Region.REASONING, lead=edges.lead, left=edges.left, ends=(edges,), plain=plain
        )
        ends = grammar.content, grammar.content_before_calls
        in_content = MarkerSet.of(*self.response_markers.markers, *self.unmarked_openers)
        plain = PlainTokens(texts, markers=in_content, ends=ends)
        content = Field(ContentDelta, Region.CONTENT, ends=ends, plain=plain)
        self.fields = ScannerFields.of(
            grammar, reasoning=reasoning, content=content, keeps_text=self._rule("keeps_text")
        )
        self.plain_in_calls = PlainTokens(texts, markers=self._ends)
        """The plain tokens of calls."""
        in_messages = MarkerSet.of(*self._ends.markers, *self.unmarked_openers)
        self.plain_in_messages = PlainTokens(texts, markers=in_messages)
        """The plain tokens of all messages of a turn with several."""

    def _rule(self, name: Literal["ends_reasoning", "keeps_text"]) -> bool:
        """Return a rule of the grammar, or else that of its tool format."""
        own: bool | None = getattr(self.grammar, name)
        return bool(self.tool_format and getattr(self.tool_format, name)) if own is None else own

    def can_end_in(self, byte_text: str) -> bool:
        """Return True if a call or the turn may end within a text."""
        return self._ends.occurs_in(byte_text)


def markers_within(grammar: Grammar) -> frozenset[str]:
    """Return all markers that occur within a turn."""
    reasoning = grammar.reasoning.markers if grammar.reasoning else ()
    tool_format = grammar.tool_format
    inner = tool_format.inner if tool_format else ()
    tags = (tool_format.unmarked or (), tool_format.quotes or (), tool_format.value or ()) if tool_format else ()
    pairs = (grammar.end,), grammar.section or (), grammar.response or (), *call_markers(grammar), *tags
    return frozenset({*reasoning, *inner, *(marker for pair in pairs for marker in pair)}) - {""}


def call_markers(grammar: Grammar) -> list[MarkerPair]:
    """Return the markers around calls, those of the grammar first, and those that models write as well."""
    tool_format = grammar.tool_format
    variants = tool_format.variants if tool_format else ()
    own = [tool_format.call] if tool_format and tool_format.call and grammar.call in variants else []
    pairs = [*([grammar.call] if grammar.call else []), *own, *variants]
    return list(dict.fromkeys(pairs))


def compile_grammar(grammar: Grammar, tokenizer: MarkerTokenizer, *, stops: Iterable[int]) -> CompiledGrammar:
    """Compile a grammar for a tokenizer and for the ids of the stop tokens.

    The result is shared by everything in the process that uses the same tokenizer, with the token texts in it.
    """
    stop_ids = sorted(stops)
    # A compiled grammar keeps its tokenizer alive, so no other tokenizer has the same id.
    key = grammar, id(tokenizer), tuple(stop_ids)
    compiled = _COMPILED.get(key)
    if compiled is None:
        reserved = compile_alternation(tokenizer.reserved_texts)
        within = sorted(markers_within(grammar))
        # A header and a marker can consist of several tokens.
        tokens = sorted({*reserved.findall("\n".join([grammar.header, *within]))}) if reserved else []
        # The markers within a turn come first: the first ones get the shortest representation.
        marker_text = MarkerText(tokenizer, markers=[*within, *tokens], stops=stop_ids)
        compiled = _COMPILED.setdefault(key, CompiledGrammar(grammar, marker_text))
    return compiled
