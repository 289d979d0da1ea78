"""Tokens are found in rollouts that contain values which are no ids."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.bridging.prior import Prior, index_of
from renderers.core.completions import ParsedResponse
from tests.parsing.test_totality import NO_IDS


class _Incomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("ids", "place"),
    [([5, 7, 1], 2), ([5, 7], 2), ([True, 5, 1], 2), ([_Incomparable(), 1], 1), ([1.0, 1], 1), ([], 0)],
)
def test_a_token_is_found_among_objects_that_are_no_ids(ids: list[Any], place: int) -> None:
    assert index_of(ids, 1) == place


@pytest.mark.parametrize("kind", NO_IDS)
def test_a_value_that_is_not_an_id_does_not_hide_the_tokens_next_to_it(kind: str) -> None:
    prior = Prior([*NO_IDS[kind], 7], [*NO_IDS[kind], 8], ParsedResponse(""))
    # Only the prompt contains the history.
    assert [prior.has(token) for token in (7, 8, 9, None)] == [True, False, False, False]
