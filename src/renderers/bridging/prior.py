"""`Prior`: the ids of a rollout, and its parsed completion."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from renderers.core.completions import CompletionState, ParsedResponse
from renderers.core.token_ids import find_ids
from renderers.tokenizer.encoding.byte_text import UNKNOWN, TokenTexts


class Prior(NamedTuple):
    """A rollout to extend."""

    prompt: array[int]
    """The packed ids of the prompt. They are long, so `join_tokens` does not copy them but appends to them."""
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

    def prompt_end(self, size: int) -> list[int]:
        """Return the last ids of the prompt."""
        return self.prompt[-size:].tolist() if size else []

    def has(self, *ids: int) -> bool:
        """Return True if ids follow each other in the prompt."""
        return find_ids(self.prompt, array("I", ids), 0) >= 0


def has_known_ids(ids: Iterable[int], texts: Mapping[int, str]) -> bool:
    """Return True if all ids are ids of the vocabulary. No text has any other id."""
    numbers = {*ids}
    if isinstance(texts, TokenTexts):
        # Only ids with a token are kept.
        numbers -= texts.keys()
    return all(texts[number] != UNKNOWN for number in numbers)


def count_sequence(ids: Sequence[int], sequence: Sequence[int]) -> int:
    """Return how often a sequence, which is not empty, occurs in ids.

    >>> count_sequence([7, 1, 2, 7, 1, 3, 1, 2], (1, 2))
    2
    """
    packed = ids if isinstance(ids, array) else array("I", ids)
    searched, count, place = array("I", sequence), 0, -1
    while (place := find_ids(packed, searched, place + 1)) >= 0:
        count += 1
    return count
