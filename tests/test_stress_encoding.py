"""The short form of `tests.stress_encoding`; `make stress` runs the long one."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED
from tests.stress_encoding import run
from tests.support.sources import wrong_in

pytest.importorskip("fastokens", reason="fastokens is an extra")


@pytest.mark.parametrize("name", [str(EMBEDDED)])
def test_every_text_has_the_ids_of_tokenizers(name: str) -> None:
    counts = run((name, 0, 3_000))
    assert wrong_in(counts) == []
    assert counts["texts"] == 3_000
    assert counts["to tokenizers"] < 300


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "google/gemma-4-31B-it"])
def test_every_text_has_the_ids_of_a_real_tokenizer(name: str, hub: object) -> None:
    counts = run((name, 0, 2_000))
    assert wrong_in(counts) == []
    assert counts["to tokenizers"] < 200
