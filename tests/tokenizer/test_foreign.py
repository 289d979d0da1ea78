"""A wrapped tokenizer of a caller: its special tokens, offsets and errors."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import adopt_tokenizer
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
