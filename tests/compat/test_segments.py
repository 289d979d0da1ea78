"""Text segments with content flags become tokens with content flags."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EMBEDDED, LoadedTokenizer, load_tokenizer
from renderers.compat.segments import AttributedTextSegments, attribute_text_segments


@functools.cache
def embedded() -> LoadedTokenizer:
    return load_tokenizer(EMBEDDED)


class Bare:
    """A tokenizer with one token for each character and without offsets."""

    name_or_path = "bare"
    eos_token_id = None
    unk_token_id = None

    def encode(self, text: str, *_: Any, **kwargs: Any) -> list[int]:
        assert kwargs == {"add_special_tokens": False}
        return list(map(ord, text))

    def decode(self, token_ids: Any, *_: Any, **__: Any) -> str:
        return "".join(map(chr, token_ids))

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        return tokens


class FixedOffsets(Bare):
    """The same, with fixed offsets or a fixed error."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, _: str, *, add_special_tokens: bool, return_offsets_mapping: bool) -> Any:
        assert (add_special_tokens, return_offsets_mapping) == (False, True)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def with_offsets(*offsets: tuple[int, int]) -> FixedOffsets:
    return FixedOffsets({"input_ids": list(range(len(offsets))), "offset_mapping": list(offsets)})


def flags(tokenizer: Any, segments: list[tuple[str, bool]], *, overlap: bool = False) -> list[bool]:
    return [content for _, content in attribute_text_segments(tokenizer, segments, overlap_is_content=overlap)]


def test_texts_are_encoded_together() -> None:
    segments = [("<|turn|>us", False), ("er\nHel", True), ("lo", False)]
    attributed = attribute_text_segments(embedded(), segments)
    assert [token for token, _ in attributed] == embedded().encode("<|turn|>user\nHello", add_special_tokens=False)
    assert attributed.has_content_attribution


def test_a_token_belongs_to_the_text_that_it_begins_in() -> None:
    assert flags(with_offsets((0, 5)), [("Hel", True), ("lo", False)]) == [True]
    assert flags(with_offsets((0, 5)), [("Hel", False), ("lo", True)]) == [False]
    assert flags(with_offsets((0, 2), (2, 5)), [("He", False), ("llo", True)]) == [False, True]


def test_a_token_with_any_content_can_count_as_content() -> None:
    assert flags(with_offsets((0, 5)), [("Hel", False), ("lo", True)], overlap=True) == [True]
    assert flags(with_offsets((0, 5)), [("H", False), ("el", True), ("lo", False)], overlap=True) == [True]
    assert flags(with_offsets((0, 3), (3, 5)), [("Hel", False), ("lo", True)], overlap=True) == [False, True]


def test_a_token_without_characters_belongs_to_the_text_at_its_position() -> None:
    for overlap in (False, True):
        assert flags(with_offsets((0, 0), (2, 2), (4, 4)), [("He", False), ("yo", True)], overlap=overlap) == [
            False,
            True,
            True,
        ]


def test_tokens_of_a_split_character_belong_to_its_text() -> None:
    text = "\N{ROCKET}"
    assert len(embedded().encode(text, add_special_tokens=False)) > 1
    assert set(flags(embedded(), [("a", False), (text, True)])[1:]) == {True}


@pytest.mark.parametrize("segments", [[], [("", True)], [("", False), ("", True)]])
def test_no_text_has_no_tokens(segments: list[tuple[str, bool]]) -> None:
    attributed = attribute_text_segments(Bare(), segments)
    assert (list(attributed), attributed.has_content_attribution) == ([], True)


@pytest.mark.parametrize(
    "tokenizer",
    [
        Bare(),
        FixedOffsets(NotImplementedError()),
        FixedOffsets(TypeError()),
        FixedOffsets(ValueError()),
        FixedOffsets({"input_ids": [1, 2]}),
        FixedOffsets({"input_ids": [1, 2], "offset_mapping": None}),
        FixedOffsets({"input_ids": [1, 2], "offset_mapping": [(0, 1)]}),
    ],
    ids=["no call", "not implemented", "type", "value", "no offsets", "none", "too few"],
)
def test_a_tokenizer_without_offsets_gives_only_ids(tokenizer: Any) -> None:
    attributed = attribute_text_segments(tokenizer, [("a", True), ("b", False)])
    assert (list(attributed), attributed.has_content_attribution) == ([(97, False), (98, False)], False)


def test_other_errors_are_raised_to_the_caller() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        attribute_text_segments(FixedOffsets(RuntimeError("broken")), [("a", True)])


def test_attributed_tokens_are_a_list_that_can_be_pickled_and_copied() -> None:
    attributed = AttributedTextSegments([(1, True)], has_content_attribution=False)
    assert attributed == [(1, True)]
    for copied in (pickle.loads(pickle.dumps(attributed)), copy.deepcopy(attributed)):
        assert (copied, copied.has_content_attribution) == (attributed, False)


@given(st.lists(st.tuples(st.text("ab\N{ROCKET}", max_size=3), st.booleans()), max_size=6), st.booleans())
def test_tokens_are_content_if_their_characters_are(segments: list[tuple[str, bool]], overlap: bool) -> None:
    text = "".join(part for part, _ in segments)
    owners = list(itertools.chain.from_iterable([content] * len(part) for part, content in segments))
    encoded = embedded()(text, add_special_tokens=False, return_offsets_mapping=True)
    expected = [
        any(owners[start:end]) if overlap else owners[start] for start, end in encoded["offset_mapping"] if text
    ]
    spoken = [(part, content) for part, content in segments if part]
    assert flags(embedded(), spoken, overlap=overlap) == expected
