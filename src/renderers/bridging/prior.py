"""`Prior`: the ids of a rollout, and its parsed completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.completions import CompletionState, ParsedResponse
from renderers.tokenizer.encoding.byte_text import UNKNOWN, TokenTexts


class Prior(NamedTuple):
    """A rollout to extend."""

    prompt: list[int]
    completion: list[int]
    parsed: ParsedResponse
    """The parsed completion."""

    @property
    def state(self) -> CompletionState:
        return self.parsed.state

    @property
    def around_stop(self) -> tuple[list[int], list[int]]:
        """The ids of the completion before its stop token, and those after it."""
        stop, ids = self.state.stop_token_id, self.completion
        place = ids.index(stop) if stop is not None and stop in ids else len(ids)
        return ids[:place], ids[place + 1 :]

    def has(self, token: int | None) -> bool:
        """Return True if a token is in the prompt."""
        return token is not None and token in self.prompt

    def has_sequence(self, ids: list[int]) -> bool:
        """Return True if ids follow each other in the prompt."""
        return count_sequence(self.prompt, tuple(ids)) > 0


def has_known_ids(ids: Sequence[int], texts: Mapping[int, str]) -> bool:
    """Return True if all ids are ids of the vocabulary. No text has any other id."""
    numbers = {*ids}
    if isinstance(texts, TokenTexts):
        # Only ids with a token are kept.
        numbers -= texts.keys()
    return all(texts[number] != UNKNOWN for number in numbers)


def count_sequence(ids: Sequence[Any], sequence: tuple[int, ...]) -> int:
    """Return how often a sequence occurs in ids.

    >>> count_sequence([7, 1, 2, 7, 1, 3, 1, 2], (1, 2))
    2
    """
    count, place = 0, -1
    for _ in range(ids.count(sequence[0])):
        place = ids.index(sequence[0], place + 1)
        count += tuple(ids[place : place + len(sequence)]) == sequence
    return count
