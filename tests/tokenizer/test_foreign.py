"""A wrapped tokenizer of a caller: its special tokens, offsets and errors."""

from __future__ import annotations

import gc
import re
from typing import Any, ClassVar

import pytest

from renderers import adopt_tokenizer
from renderers.tokenizer.foreign import ForeignVocab
from tests.tokenizer.loading.test_adopt import Letters


class Raising(Letters):
    """A tokenizer with a tag in its template, a lookup that fails, and no offsets."""

    chat_template = "<tag>"

    def convert_tokens_to_ids(self, token: str) -> int:
        raise LookupError(token)

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        raise NotImplementedError("no offsets")


def test_what_a_callers_class_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "renderers")
    vocab = adopt_tokenizer(Raising()).vocab
    assert isinstance(vocab, ForeignVocab)
    assert vocab.reserved_texts == frozenset()
    assert vocab.offsets("ab") == [(0, 1), (1, 2)]
    assert "Raising: the lookup of '<tag>' raised LookupError: <tag>" in caplog.text
    assert "Raising: __call__ with return_offsets_mapping raised NotImplementedError: no offsets" in caplog.text


class OutOfMemory(Letters):
    chat_template = "<tag>"

    def convert_tokens_to_ids(self, token: str) -> int:
        raise MemoryError(token)


def test_running_out_of_memory_is_not_taken_for_an_unknown_token() -> None:
    with pytest.raises(MemoryError):
        _ = adopt_tokenizer(OutOfMemory()).vocab.reserved_texts


class Words(Letters):
    """A tokenizer with one special token, which it lists, and offsets."""

    special_tokens_map: ClassVar = {"eos_token": "<end>"}

    def encode(self, text: str) -> list[int]:
        return [0 if part == "<end>" else ord(part) for part in re.findall("<end>|.", text, re.DOTALL)]

    def convert_tokens_to_ids(self, token: str) -> int:
        return 0 if token == "<end>" else ord(token[0])


class ListingWords(Words):
    def get_added_vocab(self) -> dict[str, int]:
        return {"<end>": 0, "<tool>": 60, "\n\n": 5}


def test_reserved_texts_are_the_special_tokens_and_the_tags_of_templates_that_are_tokens() -> None:
    tokenizer = Words()
    tokenizer.chat_template = "<end><tool>"
    vocab = adopt_tokenizer(tokenizer).vocab
    assert vocab.reserved_texts == vocab.control_texts == {"<end>"}
    assert dict(vocab.added_tokens) == {"<end>": 0}


def test_only_the_same_object_has_the_same_digest() -> None:
    tokenizer = Words()
    digest = adopt_tokenizer(tokenizer).vocab.digest
    assert digest == adopt_tokenizer(tokenizer).vocab.digest
    assert digest != adopt_tokenizer(Words()).vocab.digest
    assert digest != "another value"
    del tokenizer
    gc.collect()
    assert digest != adopt_tokenizer(Words()).vocab.digest


def test_reserved_texts_are_the_added_tokens_that_a_class_lists_but_not_layout() -> None:
    adopted = adopt_tokenizer(ListingWords())
    assert adopted.vocab.reserved_texts == {"<end>", "<tool>"}
    assert dict(adopted.added_tokens) == {"<end>": 0}


def test_offsets_of_the_class_are_used_if_there_is_one_for_each_token() -> None:
    class WithOffsets(Letters):
        def __call__(self, _: str, **__: Any) -> dict[str, Any]:
            return {"offset_mapping": [(0, 1)] * 2}

    vocab = adopt_tokenizer(WithOffsets()).vocab
    assert isinstance(vocab, ForeignVocab)
    assert vocab.offsets("ab") == [(0, 1), (0, 1)]
    assert vocab.offsets("abc") == [(0, 1), (1, 2), (2, 3)]


def test_an_unknown_token_has_no_id() -> None:
    class Unknown(Letters):
        unk_token_id: int | None = 97  # type: ignore[assignment]

    vocab = adopt_tokenizer(Unknown()).vocab
    assert isinstance(vocab, ForeignVocab)
    assert (vocab.token_id("a"), vocab.token_id("b"), vocab.token_id("bc")) == (None, 98, None)
