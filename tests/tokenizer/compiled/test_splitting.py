"""Words are those of the pre-tokenizer itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from renderers.tokenizer.compiled.block import UnfitVocabularyError
from renderers.tokenizer.compiled.pattern import parse_pattern
from renderers.tokenizer.compiled.splitting import Stage, byte_level_stages, compile_splitting
from renderers.tokenizer.compiled.twin import Tables, split_words
from renderers.tokenizer.engines.huggingface import component_json

TO_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'re)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+(?!\S)|\s+"
TEXTS = st.text("aAbzſ \n\t\r19.'/-éßǅ中〇ひ한عदि🙂\u0301\u200d\u3000\u2028\u0660", max_size=40)


def words_of(stages: list[Stage], text: str) -> list[str]:
    splitting = compile_splitting(stages, composes=False)
    return list(split_words(tables_of(splitting), text))


def tables_of(splitting: Any) -> Tables:
    nothing = memoryview(b"")
    return Tables(
        flags=0,
        longest=0,
        width=len(splitting.classes.flags) + 1,
        torn=0,
        starts=[],
        texts=nothing,
        words=nothing,
        pairs=[],
        results=[],
        byte_ids=[],
        joins=nothing,
        page_numbers=splitting.classes.page_numbers,
        pages=memoryview(splitting.classes.pages),
        class_flags=memoryview(splitting.classes.flags),
        orders=memoryview(splitting.classes.orders),
        stages=splitting.stages,
        transitions=splitting.transitions,
    )


@pytest.mark.parametrize(
    "parts",
    [
        [pre_tokenizers.Split(Regex(GPT), "isolated")],
        [pre_tokenizers.Split(Regex(GPT), "removed", invert=True)],
        [pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"), pre_tokenizers.Split(Regex(r"[一-龥]+"), "isolated")],
        [pre_tokenizers.Split(Regex(r"[\p{L}&&[^\p{Han}]]+"), "isolated"), pre_tokenizers.Split(" ", "isolated")],
        [pre_tokenizers.Split(Regex(r"\s+?a|a{2,3}|\p{L}++1|\w\d"), "isolated")],
        [pre_tokenizers.Split(Regex(r"(?:a|ab)(?:c|bcd)?|[^a](?=a)"), "isolated")],
        [pre_tokenizers.Digits(individual_digits=True)],
        [pre_tokenizers.Digits(individual_digits=False)],
    ],
    ids=str,
)
def test_any_text_has_the_same_words(parts: list[Any]) -> None:
    own = pre_tokenizers.Sequence(parts)
    stages = byte_level_stages(component_json(pre_tokenizers.Sequence([*parts, TO_BYTES])))
    tables = tables_of(compile_splitting(stages, composes=False))

    @settings(deadline=None, max_examples=150)
    @given(TEXTS)
    def check(text: str) -> None:
        assert list(split_words(tables, text)) == [word for word, _ in own.pre_tokenize_str(text)]

    check()


def test_the_pattern_of_bytes_themselves_is_known() -> None:
    stages = byte_level_stages({"type": "ByteLevel", "add_prefix_space": False})
    assert words_of(stages, "it's  12 x") == ["it", "'s", " ", " 12", " x"]


def test_the_first_alternative_that_leads_to_a_match_is_taken() -> None:
    assert words_of([Stage(parse_pattern("a|ab|b"))], "ab") == ["a", "b"]
    assert words_of([Stage(parse_pattern("(?:a|ab)c"), drops_gaps=True)], "abcxac") == ["abc", "ac"]


@pytest.mark.parametrize(
    ("component", "reason"),
    [
        (None, "does not end with ByteLevel"),
        (pre_tokenizers.Whitespace(), "does not end with ByteLevel"),
        (pre_tokenizers.ByteLevel(add_prefix_space=True), "not supported: ByteLevel"),
        (pre_tokenizers.Sequence([TO_BYTES, TO_BYTES]), "not supported: ByteLevel"),
        (pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), TO_BYTES]), "not supported: Metaspace"),
        (pre_tokenizers.Sequence([pre_tokenizers.Split("a", "merged_with_next"), TO_BYTES]), "not supported: Split"),
    ],
)
def test_others_are_refused(component: Any, reason: str) -> None:
    with pytest.raises(UnfitVocabularyError, match=reason):
        byte_level_stages(component_json(component))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("a?", "matches the empty text"),
        ("a|(?!b)", "matches the empty text"),
        (r"\p{NoSuchProperty}", "is not valid"),
        ("".join("(?:a|b){60}" for _ in range(30)), "too long"),
        ("a(?:(?:(?:(?:(?:(?:(?:){64}){64}){64}){64}){64}){64})", "too long"),
        ("|".join(f"{chr(0x4E00 + number)}b" for number in range(200)), "too many sets"),
    ],
)
def test_patterns_that_cannot_be_compiled_are_refused(source: str, reason: str) -> None:
    with pytest.raises(UnfitVocabularyError, match=reason):
        compile_splitting([Stage(parse_pattern(source))], composes=False)


def test_more_stages_than_the_engine_reads_are_refused() -> None:
    with pytest.raises(UnfitVocabularyError, match="more than 8 components"):
        compile_splitting([Stage(parse_pattern("a"))] * 9, composes=False)
