"""The engine in C gives the ids of tokenizers, or leaves a text to it."""

from __future__ import annotations

import itertools
import mmap
import random
import sys
import threading
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

from renderers import EMBEDDED, TokenizerCheckError, UnencodableTextError, adopt_tokenizer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.spans import TokenMatch
from renderers.core.special_tokens import find_special_tokens
from renderers.tokenizer.compiled.block import CompiledVocabulary
from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.encoding.encode import _encode_at_once, _encode_in_pieces, cut_at_isolating_tokens
from renderers.tokenizer.encoding.locate import locate
from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, pack_ids, unpack_ids
from renderers.tokenizer.engines import native as module
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.native import NativeEngine
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


def engine_of(vocab: Vocab) -> NativeEngine:
    return made_from(vocab.backend, frozenset(vocab.added_tokens), vocab.isolated_texts)


def made_from(backend: Tokenizer, added: frozenset[str], isolated: frozenset[str]) -> NativeEngine:
    compiled = CompiledVocabulary(compile_vocabulary(backend, isolated=isolated))
    normalizer = backend.normalizer
    return NativeEngine(
        compiled,
        normalize=lambda text: text if normalizer is None else normalizer.normalize_str(text),
        added=added - isolated,
    )


def unpacked(found: Sequence[PackedIds | None]) -> list[list[int] | None]:
    return [None if ids is None else list(unpack_ids(ids)) for ids in found]


def pieces_of(vocab: Vocab, texts: list[str]) -> list[str]:
    """Return the texts that contain no isolating token."""
    return [text for text in texts if not any(token in text for token in vocab.isolated_texts)]


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_give_the_same_ids(name: str, hub: object) -> None:
    vocab = load_tokenizer(name, bpe_engine="native").vocab
    engine = vocab.engines.engine_for([])
    assert engine is not None
    texts = [*nasty_texts(code_files=4, random_texts=60), " " * 20_000, "a" * 20_000, "1" * 5_000, "是" * 20_000]
    texts = pieces_of(vocab, texts)
    taken = [(ids, text) for text, ids in zip(texts, unpacked(engine.encode(texts)), strict=True) if ids is not None]
    assert len(taken) > 0.9 * len(texts)
    assert [ids for ids, _ in taken] == encode_batch(vocab.backend, [text for _, text in taken])


def test_any_text_has_the_same_ids() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    engine = engine_of(vocab)

    @settings(deadline=None, max_examples=300)
    @given(st.text() | st.text("aA '\n\t\r19.-é中🙂\u0301\u200d"))
    def check(text: str) -> None:
        (ids,) = unpacked(engine.encode([text]))
        if pieces_of(vocab, [text]) and ids is not None:
            assert ids == vocab.backend.encode(text, add_special_tokens=False).ids

    check()


def normalizing() -> tuple[Tokenizer, NativeEngine]:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.NFC()
    return backend, made_from(backend, frozenset({"[é]"}), frozenset())


def test_a_text_is_normalized_first_if_the_normalizer_may_change_it() -> None:
    backend, engine = normalizing()
    texts = ["plain", "e\u0301 \u1112\u1161\u11ab \u212a", "é", ""]
    assert unpacked(engine.encode(texts)) == encode_batch(backend, texts)


def test_texts_with_an_added_token_are_left_out_even_if_normalization_writes_it() -> None:
    _, engine = normalizing()
    found = unpacked(engine.encode(["a[é]", "", "[e\u0301]", "[e]", "e\u0301"]))
    assert [ids is None for ids in found] == [True, False, True, False, False]


def test_texts_are_cut_at_added_tokens_that_pieces_can_contain() -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.add_tokens([AddedToken(token, normalized=False) for token in ("\n\n", "\n\n\n", "\t")])
    vocab = adopt_tokenizer(backend, bpe_engine="native").vocab
    assert isinstance(vocab, Vocab)
    engine = vocab.engines.engine_for([])
    assert engine is not None
    texts = ["a\n\n\n\n\nb\t c", "\t", "\n", "", "\n\n\t\t\n\n\n"]
    assert unpacked(engine.encode([*texts, "\t\U0010ffff"])) == [*encode_batch(backend, texts), None]


def test_tokens_that_overlap_are_found_within_pieces_and_are_text_for_plain_text() -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in ("]~b]", "]~!b[", "b]]")])
    vocab, engine = adopted(backend)
    assert engine is not None
    texts = ["]~b]ai]~!b[", "a]~b]]~b]", "]~b]]", "plain", "]~"]
    assert unpacked(engine.encode(texts)) == encode_batch(backend, texts)
    assert engine.encode(texts) != vocab.plain.encode(texts, first={0})
    numbers = {vocab.added_tokens[token] for token in ("]~b]", "]~!b[", "b]]")}
    for ids in vocab.plain.encode(texts, first={0}):
        assert numbers.isdisjoint(unpack_ids(ids))


@pytest.mark.parametrize(
    "text", ["]~b]ai]~!b[", "a]~b]]~b]", "]~b]]", "<|end|>]~b]<|end|>a]~b]]~!b[ b]]c", "plain", ""]
)
def test_tokens_that_overlap_have_the_same_ids_and_places_in_one_call(text: str) -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in ("]~b]", "]~!b[", "b]]")])
    tokenizer = adopt_tokenizer(backend, bpe_engine="native")
    assert isinstance(tokenizer.vocab, Vocab)
    assert tokenizer.vocab.engines.engine_for([]) is not None
    cuts = cut_at_isolating_tokens(tokenizer, find_special_tokens(text, tokenizer.vocab.reserved_texts))
    (at_once,), (in_pieces,) = _encode_at_once(tokenizer, [(text, cuts)]), _encode_in_pieces(tokenizer, [(text, cuts)])
    assert at_once is not None
    assert at_once.ids == in_pieces.ids == array("I", backend.encode(text, add_special_tokens=False).ids)
    places = list(range(len(text) + 1))
    assert locate(tokenizer.vocab, at_once, places) == locate(tokenizer.vocab, in_pieces, places)


def adopted(backend: Tokenizer) -> tuple[Vocab, NativeEngine | None]:
    vocab = adopt_tokenizer(backend, bpe_engine="native").vocab
    assert isinstance(vocab, Vocab)
    return vocab, vocab.engines.engine_for([])


@pytest.mark.parametrize(
    ("normalizer", "tokens", "text"),
    [
        (None, [("  ", False, False), ("<a  b>", False, True)], "q <a  b>c"),
        (normalizers.NFC(), [("e\u0301x", True, False)], "ab\u00e9xcd"),
        (normalizers.NFC(), [("\n\n", False, False), ("\u00e9\n\nx", True, False)], "ae\u0301\n\nxb"),
    ],
)
def test_added_tokens_are_found_before_texts_are_cut_and_in_normalized_text(
    normalizer: normalizers.Normalizer | None, tokens: list[tuple[str, bool, bool]], text: str
) -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.add_tokens([AddedToken(token, normalized=normal, lstrip=strips) for token, normal, strips in tokens])
    _, engine = adopted(backend)
    assert engine is not None
    assert engine.encode([text]) == [None]


def test_random_added_tokens_never_change_ids() -> None:
    source = load_tokenizer(EMBEDDED).vocab.backend.to_str()
    chance = random.Random(0)
    parts = ["a", "b", " ", "  ", "\n", "\u00e9", "e\u0301", "<", ">", "x", "\u2581"]
    for _ in range(10):
        backend = Tokenizer.from_str(source)
        if chance.random() < 0.5:
            backend.normalizer = normalizers.NFC()
        for _ in range(chance.randrange(1, 6)):
            flags = {name: chance.random() < 0.3 for name in ("normalized", "lstrip", "rstrip", "single_word")}
            content = "".join(chance.choices(parts, k=chance.randrange(1, 4)))
            backend.add_tokens([AddedToken(content, **flags)])
        try:
            vocab, engine = adopted(backend)
        except TokenizerCheckError:
            # Its tokens lose spaces.
            continue
        if engine is None:
            # An added token has the id of another text.
            continue
        texts = pieces_of(vocab, ["".join(chance.choices(parts, k=12)) for _ in range(200)])
        for text, ids in zip(texts, unpacked(engine.encode(texts)), strict=True):
            assert ids in (None, backend.encode(text, add_special_tokens=False).ids), (text, vocab.facts.added)


def test_unknown_characters_are_left_out() -> None:
    engine = engine_of(load_tokenizer(EMBEDDED).vocab)
    found = engine.encode(["a\U0010ffff", "a", "\U00050000", "\ue000\U000f0001"])
    assert [ids is None for ids in found] == [True, False, True, False]


def test_a_lone_surrogate_is_the_error_of_tokenizers() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="native")
    with pytest.raises(UnencodableTextError, match="character 1 of the text is the lone surrogate"):
        tokenizer.vocab.encode_pieces(["fine", "a\ud800"])
    backend = Tokenizer.from_str(tokenizer.vocab.backend.to_str())
    backend.add_tokens([AddedToken("\n\n", normalized=False)])
    _, engine = adopted(backend)
    assert engine is not None
    with pytest.raises(UnencodableTextError, match="character 4 of the text"):
        engine.encode(["a\n\nb\ud800"])


def test_a_text_that_is_no_str_is_an_error() -> None:
    engine = engine_of(load_tokenizer(EMBEDDED).vocab)
    with pytest.raises(TypeError, match="must be a str"):
        engine.encode([b"a"])  # type: ignore[list-item]


def test_a_word_of_a_megabyte_is_encoded() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    engine = engine_of(vocab)
    for text in ("a" * 2**20, "abcde" * 2**18, "中" * 2**18):
        assert unpacked(engine.encode([text])) == encode_batch(vocab.backend, [text])


def test_a_mapped_file_serves_as_well_as_bytes(tmp_path: Path) -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    path = tmp_path / "vocabulary"
    path.write_bytes(compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        engine = NativeEngine(CompiledVocabulary(memoryview(mapped)), normalize=str, added=frozenset())
        assert unpacked(engine.encode(["Hello"])) == encode_batch(vocab.backend, ["Hello"])
        del engine


def test_words_share_a_small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_BYTES", 512)
    vocab = load_tokenizer(EMBEDDED).vocab
    engine = engine_of(vocab)
    texts = [f"word{number} zqxj{number} Ünïcödé{number}" for number in range(300)] * 2
    assert unpacked(engine.encode(texts)) == encode_batch(vocab.backend, texts)


def test_other_threads_run_while_a_long_text_is_encoded() -> None:
    engine = engine_of(load_tokenizer(str(EMBEDDED)).vocab)
    text = "Some words of a long text. " * 2**19
    begun, order = threading.Semaphore(0), []

    def encode() -> None:
        begun.release()
        engine.encode([text])
        order.append("encoded")

    interval = sys.getswitchinterval()
    # Only a call that releases the global lock lets the other thread run.
    sys.setswitchinterval(1_000)
    try:
        thread = threading.Thread(target=encode)
        thread.start()
        begun.acquire()
        order.append("other")
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert order == ["other", "encoded"]


def test_several_texts_are_cut_and_encoded_as_each_is() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="native")
    vocab, texts = tokenizer.vocab, ("ab", "<|end|>", "", "a longer<|end|> text", "a\ud800", "d<|end|>", "ef")
    marks = tuple(find_special_tokens(text, vocab.reserved_texts) for text in texts)
    # Compiles the vocabulary.
    vocab.encode_pieces(["a"])
    alone = [vocab.encode_parts((text,), (own,))[0] for text, own in zip(texts, marks, strict=True)]
    assert [ids for ids, text in zip(alone, texts, strict=True) if ids is None] == [None]
    assert list(vocab.encode_parts(texts, marks)) == alone
    assert list(vocab.encode_parts((), ())) == []


@pytest.mark.parametrize("text", ["a<|end|>cafe\u0301 " * 9, "<|end|>\u0301<|end|>", "e<|end|>\u0301", "b\u0301 é"])
def test_a_text_that_nfc_changes_is_encoded_in_one_call(text: str) -> None:
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.NFC()
    vocab, engine = adopted(backend)
    assert engine is not None
    for _ in range(3):
        (parts,) = vocab.encode_parts((text,), (find_special_tokens(text, vocab.reserved_texts),))
        assert parts is not None
        assert list(unpack_ids(parts[0])) == backend.encode(text, add_special_tokens=False).ids


def test_a_piece_is_cached_when_it_comes_again() -> None:
    vocab = load_tokenizer(EMBEDDED, bpe_engine="native").vocab
    vocab.encode_pieces(["compiles the vocabulary"])
    texts = tuple(f"a text that is long enough to be cached, {name}" for name in ("one", "two"))
    cache, engine = PieceCache[PackedIds](vocab.encode_pieces, size=len), vocab.engines.ready
    assert engine is not None

    def encode(*texts: str) -> list[Any]:
        marks: tuple[list[TokenMatch], ...] = ([],) * len(texts)
        return list(engine.encode_parts(texts, marks, vocab.added_tokens, cache))

    first = encode(*texts)
    assert cache.generations == ({}, {})
    assert encode(texts[0], texts[0]) == [first[0]] * 2
    assert cache.generations == ({texts[0]: first[0][0]}, {})
    cache.keep(cache.generations[0], {texts[0]: pack_ids([7])})
    assert encode(*texts)[0][0] == pack_ids([7])
    assert list(cache.generations[0]) == list(texts)


def test_a_long_text_is_encoded_as_its_pieces_are() -> None:
    vocab = load_tokenizer(EMBEDDED, bpe_engine="native").vocab
    pieces = [f"piece {number} of a long text, é{number % 7}" * (number % 9) for number in range(1_000)]
    text = "<|end|>".join(pieces)
    expected = vocab.encode_pieces(pieces)

    def encode() -> list[PackedIds]:
        (parts,) = vocab.encode_parts((text,), (find_special_tokens(text, vocab.reserved_texts),))
        assert parts is not None
        ids, ends = parts[0], [0, *memoryview(parts[2]).cast("q")]
        return [ids[4 * start : 4 * end] for start, end in itertools.pairwise(ends)][::2]

    assert encode() == expected
    # They let each other run.
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: encode(), range(32))) == [expected] * 32


def test_threads_share_it() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    engine = engine_of(vocab)
    # Long ones are encoded without the global lock.
    sizes = [(number % 5) * (1 if number % 11 else 300) for number in range(400)]
    texts = [f"some text {number} {number % 7} zqxj again é 中" * size for number, size in enumerate(sizes)]
    expected = encode_batch(vocab.backend, texts)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda text: unpacked(engine.encode([text]))[0], texts * 5)) == expected * 5


def test_it_needs_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = engine_of(load_tokenizer(EMBEDDED).vocab).vocabulary
    monkeypatch.setattr(module, "COMPILED", False)
    with pytest.raises(RuntimeError, match="not installed"):
        NativeEngine(compiled, normalize=str, added=frozenset())
