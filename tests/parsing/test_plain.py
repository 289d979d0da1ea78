"""A token that no later token can change is emitted at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.completions import ContentDelta, ParseEvent, ReasoningDelta
from renderers.parsing.base_scanner import Scanner
from renderers.parsing.buffer import MarkerSet
from renderers.parsing.grammar import Edges
from renderers.parsing.parser import ResponseParser
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.plain import PlainTokens
from renderers.parsing.tool_formats import TOOL_FORMATS, TurnLayout
from renderers.tokenizer.encoding.byte_text import FREE, UNKNOWN, TokenTexts, to_byte_text
from tests.support.completions import completions, grammar_of, one_by_one, read, reader_of_bytes, reader_of_pieces
from tests.support.responses import embedded

MARKERS = MarkerSet.of(FREE[0], "<end>")
TEXTS = ["a", " a", "é", "你好", "a<", "<", "", "a\n", "\n", "\n a", "\xe4", "a\xe4\xbd", UNKNOWN, FREE[0], FREE[1]]


def tokens_of(*texts: str) -> PlainTokens:
    return PlainTokens(TokenTexts(dict(enumerate(texts)).get), markers=MARKERS, ends=[Edges(trail="\n")])


@pytest.mark.parametrize("text", ["a", " a", "é", "你好", "\n a", "a ", ">", "a<b", "<<e>"])
def test_whole_characters_without_a_marker_are_plain(text: str) -> None:
    assert tokens_of(to_byte_text(text))[0] == (to_byte_text(text), text)


@pytest.mark.parametrize(
    "byte_text",
    [
        "",
        "<",
        "a<",
        "b<en",
        "<end>b",
        "a\n",
        "\n",
        "\xe4",
        "a\xe4\xbd",
        "\xbd",
        UNKNOWN,
        FREE[0],
        FREE[1],
        "\u0100",
        "\xff",
    ],
)
def test_text_that_a_later_token_can_change_is_not_plain(byte_text: str) -> None:
    assert tokens_of(byte_text)[0] is None


def test_ids_that_are_not_tokens_are_not_plain() -> None:
    tokens = tokens_of("a")
    assert [tokens[number] for number in (-1, 1, 2**70)] == [None, None, None]


@given(st.lists(st.sampled_from(TEXTS), max_size=8))
def test_plain_text_followed_by_plain_text_is_plain(texts: list[str]) -> None:
    plain = [text for text in map(to_byte_text, texts) if tokens_of(text)[0] is not None]
    if plain:
        assert tokens_of("".join(plain))[0] is not None


def slow_events(parser: ResponseParser, ids: list[int], monkeypatch: pytest.MonkeyPatch) -> list[list[ParseEvent]]:
    with monkeypatch.context() as patch:
        patch.setattr(Scanner, "feed_plain", lambda *_: None)
        return [parser.feed([number]) for number in ids]


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_plain_token_gives_the_event_that_any_chunk_gives(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in completions(key):
        for reader in (
            reader_of_bytes(grammar_of(key), marks=True),
            reader_of_bytes(grammar_of(key, trims=True), marks=False),
            reader_of_pieces(grammar_of(key), text, seed=len(text)),
        ):
            ids = reader.encode(text)
            fast, slow = (ResponseParser(reader.compiled, None, prefill=NO_PIECES) for _ in range(2))
            assert [fast.feed([number]) for number in ids] == slow_events(slow, ids, monkeypatch)
            assert repr(fast.close()) == repr(slow.close())


# In a turn of several messages, text without a header is held back.
_WITHOUT_HEADERS = [
    key
    for key, tool_format in TOOL_FORMATS.items()
    if tool_format.layout not in (TurnLayout.MESSAGES, TurnLayout.SEGMENTS)
]


@pytest.mark.parametrize("key", _WITHOUT_HEADERS)
def test_most_tokens_of_a_stream_are_plain(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[Pieces] = []
    feed = Scanner.feed

    def counted(scanner: Scanner, pieces: Pieces) -> list[ParseEvent]:
        fed.append(pieces)
        return feed(scanner, pieces)

    monkeypatch.setattr(Scanner, "feed", counted)
    reader = reader_of_bytes(grammar_of(key), marks=True)
    read(reader, one_by_one(reader.encode("<think>\nHello there</think>\n\nAnd hello again")))
    # The ends of the padding, the first characters, and a chunk without tokens.
    assert len(fed) < 12


def test_the_first_reasoning_counts_as_reasoning() -> None:
    parser = embedded().stream()
    for token_id in embedded().tokenizer.encode("<|think|>a b c"):
        events = parser.feed([token_id])
    assert isinstance(events[-1], ReasoningDelta)
    assert parser.close().reasoning_content == "a b c"


@pytest.mark.parametrize("odd", [-1, 10**6, 2**70])
def test_an_odd_id_is_parsed_as_in_any_chunk(odd: int) -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode("Hello there")
    parser = renderer.stream()
    for token_id in (*ids, odd, *ids):
        parser.feed([token_id])
    assert parser.close() == renderer.parse_response([*ids, odd, *ids])


def test_a_closed_parser_rejects_plain_tokens() -> None:
    renderer = embedded()
    parser = renderer.stream()
    ids = renderer.tokenizer.encode("Hello there")
    assert isinstance(parser.feed(ids)[0], ContentDelta)
    parser.close()
    with pytest.raises(ValueError, match="closed"):
        parser.feed(ids[-1:])
