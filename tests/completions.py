"""Completions to be read: vocabularies that stand in for real ones, chunks, and what any reading has to keep.

A reading keeps its word where every token is told of once and in order, and where what was told piece by piece adds
up to the message.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers import ChatRenderer
from renderers.parse.assemble import Assembler
from renderers.parse.events import ContentDelta, ParseEvent, ReasoningDelta, ToolCallDelta
from renderers.parse.grammar import SPACES, Edges, Grammar, ReasoningFormat
from renderers.parse.response import ParsedResponse, Region
from renderers.parse.stream import new_scanner
from renderers.parse.syntax import SYNTAXES
from renderers.parse.tables import Tables, markers_within, tables_for
from renderers.tokenizer.wire import to_wire
from tests.standin import byte_tokenizer

__all__ = [
    "STOPS",
    "Reader",
    "Reading",
    "Vocabulary",
    "assert_accounted",
    "grammar_of",
    "in_two",
    "one_by_one",
    "random_chunks",
    "read",
    "reader_of",
    "reader_of_bytes",
    "reader_of_pieces",
]

STOPS = "<|stop|>", "<|eos|>"

Chunks = Iterable[Sequence[Any]]


class Vocabulary(NamedTuple):
    """A vocabulary that is only good for reading."""

    wire_texts: list[str]
    added_tokens: dict[str, int]

    @property
    def reserved_texts(self) -> frozenset[str]:
        return frozenset(self.added_tokens)


@dataclass(frozen=True)
class Reader:
    """What completions are read with."""

    tables: Tables
    tools: Sequence[Any] | None
    encode: Callable[[str], list[int]]
    size: int
    """How many ids there are."""


class Reading(NamedTuple):
    """All that was told of a completion, and the message."""

    events: list[ParseEvent]
    response: ParsedResponse


def grammar_of(key: str, *, trims: bool = False) -> Grammar:
    """Returns a grammar with a syntax's own markers; in one that trims, no space is kept at any end."""
    syntax = SYNTAXES[key]
    trimmed = SPACES if trims else ""
    reasoning = ReasoningFormat(
        markers=("<think>", "</think>"),
        edges=Edges(lead="\n", trail="\n", left=trimmed, right=trimmed),
        after="\n\n",
        after_empty="\n",
    )
    return Grammar(
        header="<|turn|>assistant\n",
        lead="\n",
        reasoning=None if key == "harmony" else reasoning,
        content=Edges(left=trimmed, right=trimmed),
        content_before_calls=Edges(trail="\n", left=trimmed, right=trimmed),
        tools=key,
        section=syntax.section,
        call=syntax.call,
    )


def reader_of_bytes(grammar: Grammar, *, tools: Sequence[Any] | None = None, marks: bool) -> Reader:
    """Returns a reader whose tokens are bytes; so are the markers, unless `marks` makes each of them a token."""
    added = sorted({*STOPS, "<|turn|>", *(markers_within(grammar) if marks else ())})
    numbers = {text: number for number, text in enumerate(added, 256)}
    vocabulary = Vocabulary([*map(chr, range(256)), *map(to_wire, added)], numbers)
    tokenizer = byte_tokenizer(added)
    return Reader(
        tables_for(grammar, vocabulary, stops=[numbers[text] for text in STOPS]),
        tools,
        lambda text: tokenizer.encode(text).ids,
        len(vocabulary.wire_texts),
    )


def reader_of_pieces(grammar: Grammar, text: str, *, tools: Sequence[Any] | None = None, seed: int) -> Reader:
    """Returns a reader for one text, whose tokens are any pieces of it: of markers, of characters, of both."""
    numbers = {stop: number for number, stop in enumerate(STOPS)}
    pieces = [*map(to_wire, STOPS)]
    ids: list[int] = []
    chance = random.Random(seed)
    for part in _cut_at_stops(text):
        rest = "" if part in numbers else to_wire(part)
        ids += [numbers[part]] if part in numbers else []
        while rest:
            size = chance.randint(1, 9)
            ids.append(len(pieces))
            pieces.append(rest[:size])
            rest = rest[size:]
    tables = tables_for(grammar, Vocabulary(pieces, numbers), stops=numbers.values())
    return Reader(tables, tools, lambda _: ids, len(pieces))


def _cut_at_stops(text: str) -> Iterator[str]:
    while found := min((stop for stop in STOPS if stop in text), key=text.index, default=None):
        before, _, text = text.partition(found)
        yield from (before, found)
    yield text


def reader_of(renderer: ChatRenderer, *, tools: Sequence[Any] | None = None) -> Reader:
    """Returns the reader of a renderer, for completions of a prompt that is not known."""
    tokenizer = renderer.tokenizer
    return Reader(
        renderer._tables,
        tools,
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        len(tokenizer.wire_texts),
    )


def read(reader: Reader, chunks: Chunks) -> Reading:
    """Reads a completion in chunks."""
    scanner, assembler = new_scanner(reader.tables, reader.tools), Assembler()
    events: list[ParseEvent] = []
    for chunk in chunks:
        events += scanner.feed(reader.tables.lexicon.pieces(list(chunk)))
    events += scanner.close()
    assembler.add(events)
    return Reading(events, assembler.response(scanner.state))


def in_two(ids: Sequence[int], at: int) -> Chunks:
    """Returns two chunks.

    >>> in_two([1, 2, 3], 1)
    [[1], [2, 3]]
    """
    return [ids[:at], ids[at:]]


def one_by_one(ids: Sequence[int]) -> Chunks:
    """Returns a chunk for each token."""
    return [[number] for number in ids]


def random_chunks(ids: Sequence[int], chance: random.Random) -> Chunks:
    """Returns chunks of any size, of which some are empty."""
    cuts = sorted(chance.choices(range(len(ids) + 1), k=chance.randint(0, 5)))
    return [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


def assert_accounted(reading: Reading, count: int) -> None:
    """Fails where a token of so many is not told of once and in order, or where the message is not what was told."""
    response = reading.response
    assert _told([(event.start, event.end) for event in reading.events]) == count
    assert _told([(part.start, part.end) for part in response.parts]) == count
    assert all(part.start < part.end for part in response.parts)
    assert all(one.region is not other.region for one, other in zip(response.parts, response.parts[1:], strict=False))
    assert _joined(reading.events, ContentDelta) == response.content
    assert _joined(reading.events, ReasoningDelta) == (response.reasoning_content or "")
    for number, call in enumerate(response.tool_calls):
        said = [event.text for event in reading.events if isinstance(event, ToolCallDelta) and event.number == number]
        assert call.raw.endswith("".join(said))
        assert call.token_span is not None
        assert 0 <= call.token_span[0] <= call.token_span[1] <= count
    assert response.reasoning_complete == (response.state.region is not Region.REASONING)


def _told(spans: Sequence[tuple[int, int]]) -> int:
    """Returns how many tokens are told of, from the first one on and without a gap."""
    at = 0
    for start, end in spans:
        assert (start, end >= start) == (at, True), spans
        at = end
    return at


def _joined(events: Iterable[ParseEvent], kind: type[ContentDelta | ReasoningDelta]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))
