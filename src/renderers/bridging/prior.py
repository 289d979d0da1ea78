"""`Prior`: the ids of a rollout. They may contain values that are no ids, which are kept."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.completions import CompletionState, ParsedResponse
from renderers.tokenizer.encoding.byte_text import UNKNOWN, TokenTexts


class Prior(NamedTuple):
    """A rollout to extend."""

    prompt: list[Any]
    completion: list[Any]
    parsed: ParsedResponse
    """The parsed completion."""

    @property
    def state(self) -> CompletionState:
        return self.parsed.state

    @property
    def around_stop(self) -> tuple[list[Any], list[Any]]:
        """The ids of the completion before its stop token, and those after it."""
        stop, ids = self.state.stop_token_id, self.completion
        place = len(ids) if stop is None else index_of(ids, stop)
        return ids[:place], ids[place + 1 :]

    def has(self, token: int | None) -> bool:
        """Return True if a token is in the prompt."""
        return token is not None and contains(self.prompt, token)


def index_of(ids: list[Any], token: int) -> int:
    """Return the index of a token; the number of ids if it is not there."""
    try:
        place = ids.index(token)
        if type(ids[place]) is int:
            return place
    except ValueError:
        return len(ids)
    except Exception:
        # An object that is not an id may raise anything when it is compared.
        pass
    return next((index for index, other in enumerate(ids) if type(other) is int and other == token), len(ids))


def contains(ids: Sequence[Any], token: int) -> bool:
    """Return True if a token is among some ids."""
    try:
        return token in ids
    except Exception:
        # An object that is not an id may raise anything when it is compared.
        return any(type(other) is int and other == token for other in ids)


def has_known_ids(ids: list[Any], texts: Mapping[int, str]) -> bool:
    """Return True if all ids are ids of the vocabulary. No text has any other id."""
    try:
        numbers = {*array("I", ids)}
    except Exception:
        # An object that is not an id may raise anything when it is converted.
        return False
    if isinstance(texts, TokenTexts):
        # Only ids with a token are kept.
        numbers -= texts.keys()
    return all(texts[number] != UNKNOWN for number in numbers)
