"""fastokens gives the ids of tokenizers, or is not used."""

from __future__ import annotations

import dataclasses
import sys
import weakref
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from renderers import EMBEDDED, UnencodableTextError, load_tokenizer
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.engines import fastokens as module
from renderers.tokenizer.engines.fastokens import FastokensEngine, UnfitEngineError, fastokens_engine
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary

pytest.importorskip("fastokens", reason="fastokens is an extra")


def engine_of(vocab: Vocab, **changes: Any) -> FastokensEngine:
    return fastokens_engine(
        **{"backend": vocab.backend, "digest": vocab.digest, "isolated": vocab.isolated_texts, **changes}
    )


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNFIT", {})


def pieces_of(vocab: Vocab, texts: list[str]) -> list[str]:
    """Return the texts that contain no isolating token."""
    return [text for text in texts if not any(token in text for token in vocab.isolated_texts)]


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_give_the_same_ids(name: str, hub: object) -> None:
    vocab = load_tokenizer(name).vocab
    engine = engine_of(vocab)
    texts = pieces_of(vocab, [*nasty_texts(code_files=4, random_texts=60), " " * 20_000, "a" * 20_000, "1" * 5_000])
    taken = [text for text in texts if engine.takes(text)]
    assert len(taken) > 0.9 * len(texts)
    due = [encoding.ids for encoding in vocab.backend.encode_batch_fast(taken, add_special_tokens=False)]
    assert list(map(list, engine.encode_each(taken))) == due


def test_a_mongolian_vowel_separator_of_seed_oss_goes_to_tokenizers(hub: object) -> None:
    # For fastokens 0.3.5 it is a space, as in Unicode before 6.3.
    tokenizer = load_tokenizer("ByteDance-Seed/Seed-OSS-36B-Instruct", bpe_engine="fastokens")
    text = "a  \u180e  b"
    (piece,) = tokenizer.vocab.encode_pieces([text])
    assert list(unpack_ids(piece)) == tokenizer.encode(text, add_special_tokens=False)
    if tokenizer.bpe_engine.version == "0.3.5":
        assert "U+180E" in tokenizer.bpe_engine.reason
    assert tokenizer.bpe_engine.name == "fastokens"


def test_any_text_has_the_same_ids() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    engine = engine_of(vocab)

    @settings(deadline=None, max_examples=300)
    @given(st.text() | st.text("aA '\n\t\r19.-é中🙂\u0301\u200d"))
    def check(text: str) -> None:
        if pieces_of(vocab, [text]) and engine.takes(text):
            assert list(engine.encode([text]).ids) == vocab.backend.encode(text, add_special_tokens=False).ids

    check()


def test_the_engine_is_shared_while_it_is_used_and_freed_after() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    first = engine_of(vocab, digest="shared")
    assert engine_of(vocab, digest="shared") is first
    reference = weakref.ref(first)
    del first
    assert reference() is None


class Wrong:
    """A fastokens tokenizer that gives other ids for some texts."""

    def __init__(self, native: Any, character: str) -> None:
        self._native = native
        self._character = character

    def encode_batch_flat(self, texts: list[str]) -> tuple[bytes, bytes]:
        wrong = self._character in texts[0]
        found: tuple[bytes, bytes] = self._native.encode_batch_flat(["?"] if wrong else texts)
        return found


def plant(monkeypatch: pytest.MonkeyPatch, character: str) -> None:
    import fastokens

    native = fastokens.Tokenizer

    class Planted:
        @staticmethod
        def from_json_str(serialized: str) -> Wrong:
            return Wrong(native.from_json_str(serialized), character)

    monkeypatch.setattr(fastokens, "Tokenizer", Planted)


def test_a_wrong_engine_is_not_used_and_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    plant(monkeypatch, "'VE")
    with pytest.raises(UnfitEngineError, match=r"other ids for \d+ of \d+ probe texts, such as "):
        engine_of(vocab, digest="wrong")
    monkeypatch.setattr(module, "_build", None)
    with pytest.raises(UnfitEngineError, match="other ids"):
        engine_of(vocab, digest="wrong")


def test_another_version_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    with monkeypatch.context() as patch:
        plant(patch, "'VE")
        with pytest.raises(UnfitEngineError):
            engine_of(vocab, digest="versions")
    monkeypatch.setattr(module, "_installed_version", lambda: "0.3.6")
    assert engine_of(vocab, digest="versions").version == "0.3.6"


def test_an_engine_that_is_wrong_for_a_character_is_used_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    plant(monkeypatch, "狐")
    engine = engine_of(vocab, digest="character")
    assert engine.refused == {"狐"}
    assert [engine.takes(text) for text in ("a狐", "狸", "é")] == [False, True, True]


def test_special_tokens_that_become_other_ids_as_text_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "<|end|>")
    with pytest.raises(UnfitEngineError, match="the text of special tokens"):
        engine_of(load_tokenizer(EMBEDDED).vocab, digest="special")


def test_a_vocabulary_that_cannot_be_loaded_is_left_to_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As the Rust library raises it."""

    def fail(*_: object, **__: object) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr(module, "_build", fail)
    with pytest.raises(UnfitEngineError, match=r"cannot load this vocabulary .PanicException: index out of bounds"):
        engine_of(load_tokenizer(EMBEDDED).vocab, digest="panic")


def test_an_interrupt_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_build", interrupt)
    with pytest.raises(KeyboardInterrupt):
        engine_of(load_tokenizer(EMBEDDED).vocab, digest="interrupt")
    assert not module._UNFIT


def test_a_text_on_which_it_fails_is_encoded_by_tokenizers() -> None:
    def fail(texts: list[str]) -> tuple[bytes, bytes]:
        raise RuntimeError("match limit exceeded")

    engine = FastokensEngine(fail, lambda texts: [[7, 8] for _ in texts], version="0")
    assert list(map(list, engine.encode_each(["a", "b"]))) == [[7, 8], [7, 8]]


def test_a_lone_surrogate_is_the_error_of_tokenizers() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="fastokens")
    with pytest.raises(UnencodableTextError):
        tokenizer.vocab.encode_pieces(["a\ud800"])


def test_it_finds_no_token_that_texts_are_cut_at_and_all_others() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    backend = Tokenizer.from_str(vocab.backend.to_str())
    backend.add_tokens(["[kept]"])
    engine = fastokens_engine(backend, digest="kept", isolated=frozenset(vocab.added_tokens))
    assert list(engine.encode(["[kept]"]).ids) == [backend.token_to_id("[kept]")]
    plain = dataclasses.replace(vocab, digest="kept").plain
    assert list(engine.encode(["<|end|>"]).ids) == list(unpack_ids(plain.encode(["<|end|>"], first=True)[0]))


def test_a_package_that_is_missing_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastokens", None)
    assert not module.is_installed()
    with pytest.raises(UnfitEngineError, match="not installed"):
        engine_of(load_tokenizer(EMBEDDED).vocab, digest="none")
