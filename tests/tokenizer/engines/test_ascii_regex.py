"""A pattern of Python's own splits ASCII text as the tokenizer itself does, or is not used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from renderers import EMBEDDED, load_tokenizer
from renderers.tokenizer.engines.ascii_regex import ascii_pattern, ascii_split
from tests.support.models import one_model_per_vocabulary

ASCII = st.text(st.characters(max_codepoint=127), max_size=40)
WORDS = st.lists(
    ASCII | st.sampled_from(["don't", "I'LL", "  ", "\n\n", " \r\n ", "12345", "a1B2", "__init__", "\x1c", "'s"])
).map("".join)
WITHOUT = {"google/gemma-3-4b-it", "google/gemma-4-31B-it", "CohereLabs/c4ai-command-a-03-2025"}
"""Those whose words cannot be told by such patterns."""


def own_split(pre_tokenizer: Any, text: str) -> list[str]:
    return [text[start:end] for _, (start, end) in pre_tokenizer.pre_tokenize_str(text)]


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_split_alike(name: str, hub: object) -> None:
    pre_tokenizer = load_tokenizer(name).vocab.backend.pre_tokenizer
    split = ascii_split(json.loads(pre_tokenizer.__getstate__()))
    assert (split is None) == (name in WITHOUT)
    if split is None:
        return

    @settings(max_examples=100, deadline=None)
    @given(WORDS)
    def check(text: str) -> None:
        assert split(text) == own_split(pre_tokenizer, text)

    check()


def test_the_embedded_one_does() -> None:
    pre_tokenizer = load_tokenizer(EMBEDDED).vocab.backend.pre_tokenizer
    split = ascii_split(json.loads(pre_tokenizer.__getstate__()))
    assert split is not None

    @settings(deadline=None)
    @given(WORDS)
    def check(text: str) -> None:
        assert split(text) == own_split(pre_tokenizer, text)

    check()


@pytest.mark.parametrize(
    "source",
    [
        r"\p{L}+|[^\p{L}]",
        r"[a-c\-z]+",
        r"[\p{Lu}&&[^A-F]]+",
        r"[^\s\p{N}]{2,3}|\d\D?",
        r"(?i:'s|AB)|(a|b)+c",
        r"\s+(?!\S)|\s+|(?=[A-Z])[^a]b?",
        r"\p{P}+\p{S}*|[[a-f][0-9]]++",
        "[\u4e00-\u9fa5]+|x",
    ],
)
def test_patterns_that_are_understood_match_alike(source: str) -> None:
    splits = [pre_tokenizers.Split(Regex(source), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    pre_tokenizer = pre_tokenizers.Sequence(splits)
    split = ascii_split(json.loads(pre_tokenizer.__getstate__()))
    assert split is not None

    @settings(max_examples=100, deadline=None)
    @given(WORDS)
    def check(text: str) -> None:
        assert split(text) == own_split(pre_tokenizer, text)

    check()


@pytest.mark.parametrize(
    "source",
    [
        *(r"\w+", r"a.b", r"^a", r"a$", r"\p{Latin}", r"\p{^L}", r"\P{L}", r"(?<=a)b", r"\x41", r"[\x41-\x5a]"),
        *(r"[a", "a\\", r"a{1,2}+", r"\bx", r"[\d-z]"),
    ],
)
def test_what_is_not_understood_is_not_translated(source: str) -> None:
    assert ascii_pattern(source) is None


@pytest.mark.parametrize(
    "json_text",
    [
        "null",
        '{"type": "Whitespace"}',
        '{"type": "Sequence", "pretokenizers": []}',
        '{"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"}]}',
    ],
)
def test_other_pre_tokenizers_are_not_understood(json_text: str) -> None:
    assert ascii_split(json.loads(json_text)) is None


def part(source: str, behavior: str = "Isolated", *, invert: bool = False) -> Any:
    split = {"type": "Split", "pattern": {"Regex": source}, "behavior": behavior, "invert": invert}
    last = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [split, last]}


def test_patterns_that_can_match_nothing_or_lose_text_are_not_used() -> None:
    assert ascii_split(part("a*")) is None
    assert ascii_split(part("a+", "Removed", invert=True)) is None
    assert ascii_split(part("a+", "Removed")) is None
    assert ascii_split(part("a+", "MergedWithNext")) is None
    kept = ascii_split(part("a+"))
    assert kept is not None
    assert kept("xaay") == ["x", "aa", "y"]
