"""A vocabulary is compiled only if its ids are those of the tokenizer."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers import __version__ as tokenizers_version

from renderers import EMBEDDED, load_tokenizer
from renderers.core.native import COMPILED
from renderers.tokenizer.compiled import compile as module
from renderers.tokenizer.compiled.block import CompiledVocabulary, UnfitVocabularyError
from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.compiled.splitting import byte_level_stages

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
NONE: frozenset[str] = frozenset()


def backend_of_example() -> Tokenizer:
    return Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())


def test_the_same_vocabulary_gives_the_same_block() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    block = compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts)
    assert compile_vocabulary(backend_of_example(), isolated=vocab.isolated_texts) == block
    meta = CompiledVocabulary(block).meta
    assert meta["tokenizers"] == tokenizers_version
    assert meta["probes"] > 1_500


def test_tokens_are_found_by_their_bytes() -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    vocabulary = CompiledVocabulary(compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts))
    assert len(vocabulary) == vocab.backend.get_vocab_size()
    outside = set(vocab.added_tokens) - json.loads(vocab.backend.model.__getstate__())["vocab"].keys()
    for number in range(len(vocabulary)):
        text = vocabulary.text_of(number)
        assert text is not None
        assert vocabulary.id_of(text) == (None if text.decode(errors="replace") in outside else number)
    assert vocabulary.id_of(b"") is None
    assert vocabulary.id_of(b"no such token") is None


def test_tokens_of_gemma_are_found_by_their_bytes(hub: object) -> None:
    vocab = load_tokenizer("google/gemma-4-31B-it").vocab
    vocabulary = CompiledVocabulary(compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts))
    (number,) = vocab.backend.encode(" the", add_special_tokens=False).ids
    assert vocabulary.text_of(number) == b" the"
    assert vocabulary.id_of(b" the") == number


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": normalizers.Lowercase()}, "its normalizer is not supported: Lowercase"),
        ({"normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.NFKC()])}, "normalizer is not supported"),
        ({"pre_tokenizer": pre_tokenizers.Whitespace()}, "does not end with ByteLevel"),
        ({"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}, "not supported: ByteLevel"),
    ],
)
def test_what_is_not_supported_is_refused(changes: dict[str, Any], reason: str) -> None:
    backend = backend_of_example()
    for name, value in changes.items():
        setattr(backend, name, value)
    with pytest.raises(UnfitVocabularyError, match=reason):
        compile_vocabulary(backend, isolated=NONE)


def test_other_ids_are_a_reason_not_to_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = byte_level_stages({"type": "ByteLevel", "add_prefix_space": False, "use_regex": True})
    monkeypatch.setattr(module, "byte_level_stages", lambda _: wrong)
    with pytest.raises(UnfitVocabularyError, match=r"it gives other ids for \d+ of \d+ probe texts, such as "):
        compile_vocabulary(backend_of_example(), isolated=NONE)


def test_without_the_extension_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPILED", False)
    with pytest.raises(UnfitVocabularyError, match="not installed"):
        compile_vocabulary(backend_of_example(), isolated=NONE)


def test_another_order_of_bytes_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(UnfitVocabularyError, match="big-endian"):
        compile_vocabulary(backend_of_example(), isolated=NONE)
