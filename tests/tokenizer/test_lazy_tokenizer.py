"""A tokenizer is built at its first use, once for all threads."""

from __future__ import annotations

import random
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tokenizers import Tokenizer, models, normalizers

from renderers.tokenizer.encoding.normalized import UNCOMMON
from renderers.tokenizer.facts import TokenizerFacts, facts_of
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer, normalizer_of


def test_threads_build_it_once() -> None:
    started = threading.Barrier(8)
    built = []

    def build() -> Tokenizer:
        built.append(1)
        return Tokenizer(models.BPE())

    lazy = LazyTokenizer("of a test", build)

    def use(_: int) -> Tokenizer:
        started.wait(60)
        return lazy.tokenizer

    with ThreadPoolExecutor(8) as threads:
        found = set(map(id, threads.map(use, range(8))))
    assert len(found) == 1
    assert len(built) < 8


def facts(tokenizer: Tokenizer) -> TokenizerFacts:
    tokenizer.add_tokens(["<a>"])
    return facts_of(tokenizer)


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        normalizers.NFC(),
        normalizers.Sequence([]),
        normalizers.Sequence([normalizers.NFC()]),
        normalizers.Lowercase(),
    ],
)
def test_the_normalizer_is_that_of_the_tokenizer(normalizer: normalizers.Normalizer | None) -> None:
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    normalize = normalizer_of(LazyTokenizer("of a test", lambda: tokenizer), facts(tokenizer))
    for text in ("e\u0301 A", "\u212a", ""):
        assert normalize(text) == (text if normalizer is None else normalizer.normalize_str(text))


def test_texts_in_normal_form_are_those_that_the_library_keeps() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    normalize = normalizer_of(LazyTokenizer("of a test", lambda: tokenizer), facts(tokenizer))
    marks = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    chance = random.Random(0)
    characters = ["a", "é", "\u0915", "\u094d", "\u093c", "\u1100", "\u1161", "\u11a8", "\u0378", "\U0001f468", *marks]
    for _ in range(20_000):
        text = "".join(chance.choices(characters, k=4))
        assert normalize(text) == normalizers.NFC().normalize_str(text)


def test_common_characters_are_assigned() -> None:
    characters = (chr(code) for code in range(0x110000) if not UNCOMMON.match(chr(code)))
    assert all(unicodedata.category(character) != "Cn" for character in characters)


def test_nfc_needs_no_tokenizer() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()

    def build() -> Tokenizer:
        raise AssertionError

    assert normalizer_of(LazyTokenizer("of a test", build), facts(tokenizer))("e\u0301") == "é"
    other = replace(facts(tokenizer), normalizes=False)
    assert normalizer_of(LazyTokenizer("of a test", build), other)("e\u0301") == "e\u0301"
