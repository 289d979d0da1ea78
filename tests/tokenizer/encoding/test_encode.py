"""Pieces between walls give the ids of the whole text."""

from __future__ import annotations

import itertools
import random
import string
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from renderers import EMBEDDED, LoadedTokenizer, UnencodableTextError, adopt_tokenizer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.spans import Channel, LabelledSpan, TokenMatch
from renderers.core.special_tokens import find_special_tokens
from renderers.core.tokens import TokenRun
from renderers.tokenizer.encoding.encode import (
    Cuts,
    attribute,
    attribute_in_python,
    cut_at_isolating_tokens,
    cut_at_own,
    encode_text,
    encode_texts,
    join_in_python,
    locate_marks,
    split_in_python,
)
from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary

LONG = 1_000
needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


def with_control_texts(tokenizer: LoadedTokenizer, texts: list[str]) -> list[str]:
    """Puts the tokenizer's own control texts into texts: at the ends, next to each other, cut short, after spaces.

    Long texts, of which encoding takes its time, get these forms in turn.
    """
    tokens = sorted(tokenizer.added_tokens, key=lambda token: (len(token), token))
    chosen = [*tokens[:12], *tokens[-12:], *tokens[:: max(1, len(tokens) // 20)]]
    found: list[str] = []
    for at, text in enumerate(texts):
        one, other = chosen[at % len(chosen)], chosen[(at * 7 + 3) % len(chosen)]
        forms = [
            one + text + other,
            f"{text} {one}\n{other}{one}{text}",
            f"{text}{one[:-1]}{other}\u0301 {one[1:]}",
        ]
        found += forms if len(text) < LONG else [forms[at % 3]]
    return found


def at_walls(tokenizer: LoadedTokenizer, text: str) -> Cuts:
    return cut_at_isolating_tokens(tokenizer, find_special_tokens(text, tokenizer.vocab.reserved_texts))


def check_ids(tokenizer: LoadedTokenizer, text: str) -> None:
    """The ids are those of the whole text, and so they are where every mark in it is the template's own."""
    whole = tokenizer.encode(text, add_special_tokens=False)
    assert encode_text(tokenizer, text, at_walls(tokenizer, text)).ids.tolist() == whole
    own = cut_at_own(tokenizer, text, find_special_tokens(text, tokenizer.vocab.reserved_texts))
    assert encode_text(tokenizer, text, own).ids.tolist() == whole
    check_plain(tokenizer, text)


def check_plain(tokenizer: LoadedTokenizer, text: str) -> None:
    """Without any mark of the template's own nothing becomes a control token, and the text is the same."""
    reserved = {tokenizer.added_tokens[control] for control in tokenizer.vocab.reserved_texts}
    cuts = Cuts([], tokenizer.vocab.plain)
    ids = encode_text(tokenizer, text, cuts).ids.tolist()
    assert reserved.isdisjoint(ids)
    assert spaced(tokenizer.decode(ids)) == spaced(normalized(tokenizer, text))
    marks = find_special_tokens(text, tokenizer.vocab.reserved_texts)
    places = locate_marks(tokenizer, encode_text(tokenizer, text, cuts), marks)
    for mark, (start, end) in zip(marks, places, strict=True):
        assert start < end
        assert spaced(mark.text) in spaced(tokenizer.decode(ids[start:end]))


def normalized(tokenizer: LoadedTokenizer, text: str) -> str:
    normalizer = tokenizer.vocab.backend.normalizer
    return text if normalizer is None else str(normalizer.normalize_str(text))


def spaced(text: str) -> str:
    # Gemma's vocabulary has the one for the other.
    return text.replace("▁", " ")


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_give_the_ids_of_the_whole_text(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    for text in with_control_texts(tokenizer, list(nasty_texts(code_files=2, random_texts=60))):
        check_ids(tokenizer, text)


def test_the_embedded_one_does() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    assert tokenizer.vocab.isolating_texts
    for text in ["", *with_control_texts(tokenizer, list(nasty_texts(code_files=2, random_texts=80)))]:
        check_ids(tokenizer, text)


class Letters:
    """A caller's own tokenizer: a token for each character."""

    name_or_path = "letters"
    eos_token_id = unk_token_id = None

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def convert_tokens_to_ids(self, token: str) -> int:
        return ord(token)


def test_a_tokenizer_of_a_callers_own_gets_the_whole_text() -> None:
    assert encode_text(adopt_tokenizer(Letters()), "<|end|>é", Cuts([])).ids.tolist() == list(map(ord, "<|end|>é"))


@pytest.mark.parametrize("plain", [False, True])
def test_a_lone_surrogate_is_refused_by_its_place(plain: bool) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    cuts = Cuts([], tokenizer.vocab.plain if plain else None)
    with pytest.raises(UnencodableTextError, match=r"U\+D800"):
        encode_text(tokenizer, "a<|end|>b\ud800", cuts).ids.tolist()


@pytest.mark.parametrize("engine", [pytest.param("native", marks=needs_c), "tokenizers"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_lone_surrogate_leaves_the_texts_around_it_encoded(engine: Any, plain: bool) -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine=engine)
    cuts = Cuts([], tokenizer.vocab.plain if plain else None)
    texts = ["a", "\ud800", "\U0010ffff", "", "b\udfff", "c<|end|>"]
    alone = [None if text in {texts[1], texts[4]} else encode_text(tokenizer, text, cuts) for text in texts]
    assert encode_texts(tokenizer, [(text, cuts) for text in texts]) == alone
    assert encode_texts(tokenizer, [(texts[1], cuts)]) == [None]


def labelled(borders: list[int], size: int) -> list[LabelledSpan]:
    """Cuts a text into labels that differ from their neighbours."""
    places = sorted({0, size, *(border for border in borders if border < size)})
    return [
        LabelledSpan(start, end, at, ("content",), Channel.CONTENT, at % 2 == 0, True)
        for at, (start, end) in enumerate(itertools.pairwise(places))
    ]


def check_labels(tokenizer: LoadedTokenizer, text: str, borders: list[int]) -> None:
    """Each token has the label of its first sampled or else its first character, by the tokenizer's own offsets."""
    labels = labelled(borders, len(text))
    ours = encode_text(tokenizer, text, at_walls(tokenizer, text))
    runs, straddling = attribute(tokenizer, ours, labels)
    assert attribute_in_python(tokenizer, ours, labels) == (runs, straddling)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    assert ours.ids.tolist() == encoded.input_ids
    got = [run.message for run, count in zip(runs, sizes(runs), strict=True) for _ in range(count)]
    expected = []
    for start, end in encoded.offset_mapping:
        covered = [one for one in labels if one.start <= start < one.end or (start < one.end and one.start < end)]
        expected.append(next((one for one in covered if one.sampled), covered[0]).message)
    assert got == expected, text
    across = [
        at
        for at, (start, end) in enumerate(encoded.offset_mapping)
        if any(start < one.end < end for one in labels[:-1])
    ]
    assert list(straddling) == across, text


def sizes(runs: tuple[TokenRun, ...]) -> list[int]:
    return [end - start for start, end in itertools.pairwise([0, *(run.end for run in runs)])]


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_each_token_of_a_real_tokenizer_has_the_label_of_its_first_sampled_character(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    chance = random.Random(name)
    for text in with_control_texts(tokenizer, list(nasty_texts(code_files=1, random_texts=40))):
        if text:
            check_labels(tokenizer, text, [chance.randrange(len(text)) for _ in range(6)])


@settings(deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_each_token_of_the_embedded_one_does(text: str, borders: list[int]) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    text += "<|end|>é"
    check_labels(tokenizer, text, borders)


@pytest.mark.parametrize("layout", ["\t", "\r\n", "  "])
def test_an_added_token_that_is_layout_keeps_its_ids(layout: str) -> None:
    backend = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    backend.add_tokens([AddedToken(layout, normalized=False)])
    tokenizer = adopt_tokenizer(backend)
    assert isinstance(tokenizer, LoadedTokenizer)
    for text in (f"a{layout}b", f"{layout}<|end|>x{layout}{layout}", layout):
        whole = backend.encode(text, add_special_tokens=False).ids
        assert encode_text(tokenizer, text, at_walls(tokenizer, text)).ids.tolist() == whole
        own = cut_at_own(tokenizer, text, find_special_tokens(text, tokenizer.vocab.reserved_texts))
        assert encode_text(tokenizer, text, own).ids.tolist() == whole


def test_attribution_does_not_encode_a_piece_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.NFC()
    tokenizer = adopt_tokenizer(backend)
    assert isinstance(tokenizer, LoadedTokenizer)
    text = "naïve text, 你好 and e\u0301 more of it " * 20
    labels = [LabelledSpan(0, 300, 0, (), Channel.CONTENT, True, True)]
    labels.append(LabelledSpan(300, len(text), 1, (), Channel.CONTENT, False, True))
    encoded = encode_text(tokenizer, text, Cuts([]))
    first = attribute(tokenizer, encoded, labels)
    assert tokenizer.vocab._kept_texts._young
    assert not tokenizer.vocab._places_cache._young
    monkeypatch.setattr(tokenizer.vocab._kept_texts, "_encode", None)
    assert attribute(tokenizer, encoded, labels) == first


def test_texts_are_encoded_in_one_call_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="tokenizers")
    texts = ["", "a<|end|>", "<|end|><|turn|>b", "no token"]
    alone = [encode_text(tokenizer, text, at_walls(tokenizer, text)) for text in texts]
    calls = []
    encode_pieces = Vocab.encode_pieces

    def counted(vocab: Vocab, pieces: list[str]) -> list[PackedIds]:
        calls.append(pieces)
        return encode_pieces(vocab, pieces)

    monkeypatch.setattr(Vocab, "encode_pieces", counted)
    assert encode_texts(tokenizer, [(text, at_walls(tokenizer, text)) for text in texts]) == alone
    assert calls == [["a", "b", "no token"]]


@pytest.mark.parametrize("engine", [pytest.param("native", marks=needs_c), "tokenizers"])
def test_plain_texts_are_encoded_in_one_call_as_one_by_one(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine=engine)
    plain, end, turn = tokenizer.vocab.plain, "<|end|>", "<|turn|>"
    texts = ["", f"a{end}", f"{end}{turn}b{end}", f"{turn}é{end}", "no token", f"a{end}"]
    own = [TokenMatch(0, 7, end)]
    cuts = [Cuts(own if text.startswith(end) else [], plain) for text in texts]
    alone = [encode_text(tokenizer, text, each) for text, each in zip(texts, cuts, strict=True)]
    calls = []
    encode_plain = PlainEncoder.encode

    def counted(encoder: PlainEncoder, pieces: list[str], *, first: set[int]) -> list[PackedIds]:
        calls.append((pieces, first))
        return encode_plain(encoder, pieces, first=first)

    monkeypatch.setattr(PlainEncoder, "encode", counted)
    assert encode_texts(tokenizer, list(zip(texts, cuts, strict=True))) == alone
    assert calls == [([texts[1], texts[2].removeprefix(end), *texts[3:]], {0, 2, 3, 4})]


def test_plain_texts_and_others_can_be_encoded_together() -> None:
    letters = {letter: number for number, letter in enumerate(("▁", "a", *string.printable.replace("a", "")))}
    backend = Tokenizer(models.BPE(letters, []))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.decoder = decoders.Metaspace(prepend_scheme="first")
    backend.add_special_tokens([AddedToken("<end>", normalized=False)])
    end = backend.token_to_id("<end>")
    tokenizer = adopt_tokenizer(backend)
    assert isinstance(tokenizer, LoadedTokenizer)
    plain, mark = tokenizer.vocab.plain, TokenMatch(0, 5, "<end>")
    texts = [("a", Cuts([])), ("", Cuts([], plain)), ("<end>a", Cuts([mark], plain)), ("a", Cuts([], plain))]
    encoded = encode_texts(tokenizer, [*texts, ("<end>a", Cuts([mark]))])
    assert [own and list(own.ids) for own in encoded[:4]] == [[0, 1], [], [end, 1], [0, 1]]
    assert encoded[4] == encode_text(tokenizer, "<end>a", Cuts([mark]))


MARKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.sampled_from(["<a>", "<b>"])), max_size=5)
ADDED = {"<a>": 7, "<b>": 2**32 - 1}


def in_order(rows: list[tuple[int, int, str]]) -> list[TokenMatch]:
    marks: list[TokenMatch] = []
    for gap, size, token in rows:
        start = gap + (marks[-1].end if marks else 0)
        marks.append(TokenMatch(start, start + size, token))
    return marks


@needs_c
@given(st.text(max_size=40), MARKS, st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=4), min_size=6, max_size=6))
def test_c_cuts_and_joins_as_python_does(text: str, rows: list[tuple[int, int, str]], ids: list[list[int]]) -> None:
    from renderers.core._native import join_pieces, split_text

    marks = [mark for mark in in_order(rows) if mark.end <= len(text)]
    borders, between = split_text(text, marks)
    assert (borders, between) == split_in_python(text, marks)
    pieces = list(map(pack_ids, ids[: len(between)]))
    joined = join_in_python(pieces, 0, borders, marks, ADDED)
    assert join_pieces(pieces, 0, borders, marks, ADDED) == joined
    assert join_pieces([b"other", *pieces], 1, borders, marks, ADDED) == joined
    assert join_in_python([b"other", *pieces], 1, borders, marks, ADDED) == joined


@needs_c
@pytest.mark.parametrize(
    "marks", [[(2, 1, "<a>")], [(0, 9, "<a>")], [(-1, 0, "<a>")], [(1, 2, "<a>"), (0, 1, "<a>")], [(0, 1)], ["<a>"]]
)
def test_matches_that_are_not_in_the_text_are_refused(marks: Any) -> None:
    from renderers.core._native import split_text

    with pytest.raises(ValueError, match="in order and within the text"):
        split_text("abc", marks)


@needs_c
@pytest.mark.parametrize(
    ("pieces", "marks", "error"),
    [
        ([b""], [], ValueError),
        ([b""], [(1, 2, "<a>")], TypeError),
        ([b"", b"abc"], [(1, 2, "<a>")], TypeError),
        ([b"", "abcd"], [(1, 2, "<a>")], TypeError),
        ([b"", b""], ["<a>"], TypeError),
        ([b"", b""], [(1, 2, "<c>")], KeyError),
        ([b"", b""], [(1, 2, "large")], OverflowError),
        ([b"", b""], [(1, 2, "text")], TypeError),
    ],
)
def test_pieces_that_do_not_fit_are_refused(pieces: Any, marks: Any, error: type[Exception]) -> None:
    from renderers.core._native import join_pieces

    added: Any = {**ADDED, "large": 2**32, "text": "1"}
    borders = array("q", [0, 1, 2, 3]).tobytes()
    for first in (0, -1, 2**62):
        with pytest.raises((error, ValueError, TypeError) if first else error):
            join_pieces(pieces, first, borders, marks, added)


SPANS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 1), st.sampled_from(list(Channel)[:2]), st.booleans(), st.booleans()),
    max_size=12,
)


@settings(deadline=None)
@given(st.text("ab é<|end|>", max_size=40), SPANS)
def test_labels_that_are_empty_or_alike_are_merged_as_in_python(text: str, rows: list[Any]) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    encoded = encode_text(tokenizer, text, at_walls(tokenizer, text))
    labels, place = [], 0
    for size, *kind in rows:
        end = min(place + size, len(text))
        labels.append(LabelledSpan(place, end, kind[0], (), *kind[1:]))
        place = end
    labels.append(LabelledSpan(place, len(text), 5, (), Channel.CONTENT, False, False))
    expected = attribute_in_python(tokenizer, encoded, labels)
    runs, straddling = attribute(tokenizer, encoded, labels)
    assert (runs, straddling) == expected
    assert all(type(run) is TokenRun for run in runs)


@needs_c
@pytest.mark.parametrize(
    ("labels", "run"),
    [
        ([(0, 1)], TokenRun),
        ([[0, 1, 0, (), "", True, True]], TokenRun),
        ([(0, 3, 0, (), "", True, True)], TokenRun),
        ([(0, 2, 0, (), "", True, True), (0, 1, 0, (), "", True, True)], TokenRun),
        ([("0", 1, 0, (), "", True, True)], TokenRun),
        ([], str),
    ],
)
def test_labels_that_do_not_fit_are_rejected(labels: list[Any], run: Any) -> None:
    from renderers.core._native import attribute

    ids, sizes, borders, ends = array("I", [1]), array("I", [0, 3]), array("q", [0, 2]), array("q", [1])
    with pytest.raises((TypeError, ValueError)):
        attribute("ab", ids, sizes, borders, ends, "ab", array("q"), tuple(labels), run)
