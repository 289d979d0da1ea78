"""The ids of a rollout are split at its stop token, and searched for tokens."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.bridging.prior import Prior, count_sequence, has_known_ids
from renderers.core.completions import CompletionState, ParsedResponse, Region
from renderers.tokenizer.encoding.byte_text import UNKNOWN


@pytest.mark.parametrize(
    ("completion", "stop", "parts"),
    [
        ([5, 7], None, ([5, 7], [])),
        ([5, 7], 7, ([5], [])),
        ([5, 7, 1, 7], 7, ([5], [1, 7])),
        ([5], 7, ([5], [])),
        ([], None, ([], [])),
    ],
)
def test_a_completion_is_split_at_its_first_stop_token(
    completion: list[int], stop: int | None, parts: tuple[list[int], list[int]]
) -> None:
    parsed = ParsedResponse("", state=CompletionState(Region.CONTENT, stop_token_id=stop))
    assert Prior(array("I", [1]), completion, parsed).around_stop == parts


def test_only_the_prompt_contains_the_history() -> None:
    prior = Prior(array("I", [7, 5]), [8], ParsedResponse(""))
    assert [prior.has(token) for token in (7, 5, 8, 9)] == [True, True, False, False]
    assert [prior.has(*ids) for ids in ((7, 5), (5, 7), (5, 8))] == [True, False, False]
    assert [prior.prompt_end(size) for size in (0, 1, 3)] == [[], [5], [7, 5]]


def test_ids_without_a_token_are_not_known() -> None:
    texts = {1: "a", 2: "b", 3: UNKNOWN}
    assert has_known_ids([1, 2, 1], texts)
    assert has_known_ids([], texts)
    assert not has_known_ids([1, 3], texts)


@given(st.lists(st.integers(0, 3), max_size=60), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_sequences_are_counted_at_every_place(ids: list[int], sequence: list[int]) -> None:
    places = range(len(ids) - len(sequence) + 1)
    assert count_sequence(ids, tuple(sequence)) == sum(ids[at : at + len(sequence)] == sequence for at in places)
