"""Words give the ids of the text that they are in."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from tokenizers import Tokenizer, models, normalizers

from renderers import EMBEDDED, load_tokenizer
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.engines import words as module
from renderers.tokenizer.engines.words import word_encoder
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary
from tests.tokenizer.engines.test_ascii_regex import WITHOUT, WORDS

NOTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_give_the_same_ids(name: str, hub: object) -> None:
    backend = load_tokenizer(name).vocab.backend
    words = word_encoder(backend, unless=NOTHING)
    assert (words is None) == (name in WITHOUT)
    if words is None:
        return
    texts = [text.encode("ascii", "ignore").decode() for text in nasty_texts(code_files=2, random_texts=30)]
    added = [token.content for token in backend.get_added_tokens_decoder().values()]
    texts = [text for text in texts if not any(token in text for token in added)]
    assert len(texts) > 50
    for text, ids in zip(texts, words.encode(texts).split(), strict=True):
        assert list(unpack_ids(ids)) == backend.encode(text, add_special_tokens=False).ids


def test_the_embedded_one_does() -> None:
    backend = load_tokenizer(EMBEDDED).vocab.backend
    words = word_encoder(backend, unless=NOTHING)
    assert words is not None

    @settings(deadline=None)
    @given(WORDS)
    def check(text: str) -> None:
        assert words.encode([text]).ids.tolist() == backend.encode(
            text.replace("<|", "< |"), add_special_tokens=False
        ).ids or ("<|" in text)

    check()


def test_only_ascii_without_certain_texts_is_taken() -> None:
    words = word_encoder(load_tokenizer(EMBEDDED).vocab.backend, unless=frozenset({"||"}))
    assert words is not None
    assert [words.takes(text) for text in ("a|", "", "é", "a||b")] == [True, True, False, False]


def test_cached_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_BYTES", 4_000)
    backend = load_tokenizer(EMBEDDED).vocab.backend
    words = word_encoder(backend, unless=NOTHING)
    assert words is not None
    for number in range(300):
        text = f"word{number} of many"
        assert words.encode([text]).ids.tolist() == backend.encode(text, add_special_tokens=False).ids
        assert len([*words._words._young, *words._words._old]) < 100


def test_words_in_use_stay_cached_when_others_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    # One word after the other fills the cache many times over.
    monkeypatch.setattr(module, "_CACHED_BYTES", 4_000)
    words = word_encoder(load_tokenizer(EMBEDDED).vocab.backend, unless=NOTHING)
    assert words is not None
    encoded: Counter[str] = Counter()
    encode_batch = module.encode_batch  # type: ignore[attr-defined]

    def counting(backend: Tokenizer, texts: list[str]) -> list[list[int]]:
        encoded.update(texts)
        return encode_batch(backend, texts)

    monkeypatch.setattr(module, "encode_batch", counting)
    for number in range(300):
        words.encode([f"often w{number}"])
    assert encoded["often"] == 1


def test_threads_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_BYTES", 20_000)
    backend = load_tokenizer(EMBEDDED).vocab.backend
    words = word_encoder(backend, unless=NOTHING)
    assert words is not None
    texts = [f"some text {number} {number % 7} again" * (number % 5) for number in range(400)]
    expected = [backend.encode(text, add_special_tokens=False).ids for text in texts]
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda text: words.encode([text]).ids.tolist(), texts * 5))
    assert got == expected * 5


def test_what_is_not_for_itself_has_no_words() -> None:
    assert word_encoder(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), unless=NOTHING) is None
    assert word_encoder(Tokenizer(models.BPE({"a": 0}, [])), unless=NOTHING) is None
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.NFKC()])
    assert word_encoder(backend, unless=NOTHING) is not None
    backend.normalizer = normalizers.Lowercase()
    assert word_encoder(backend, unless=NOTHING) is None
    backend.normalizer = normalizers.NFC()
    backend.model.dropout = 0.5
    assert word_encoder(backend, unless=NOTHING) is None


def test_a_split_that_does_not_agree_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ascii_split", lambda _: str.split)
    assert word_encoder(load_tokenizer(EMBEDDED).vocab.backend, unless=NOTHING) is None
