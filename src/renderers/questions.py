"""What is found out once: questions, asked by what their answer depends on, and the answers to the last of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

__all__ = ["ask", "forget_answers"]

_REMEMBERED = 1024
"""How many answers are remembered."""

Answer = TypeVar("Answer")


def ask(key: Hashable, find: Callable[[], Answer]) -> Answer:
    """Returns what `find` returns, which is called once as long as the answer is remembered.

    `key` is all that the answer depends on, and what is asked for. An error is no answer.

    >>> ask("six times seven", lambda: 6 * 7), ask("six times seven", lambda: 0)
    (42, 42)
    """
    return cast(Answer, _answer(_Question(key, find)))


def forget_answers() -> None:
    """Lets all questions be answered anew."""
    _answer.cache_clear()


class _Question:
    """A question; how it is answered does not count, and is then forgotten."""

    __slots__ = ("find", "key")

    def __init__(self, key: Hashable, find: Callable[[], Any]) -> None:
        self.key = key
        self.find: Callable[[], Any] | None = find

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Question) and self.key == other.key


@functools.lru_cache(maxsize=_REMEMBERED)
def _answer(question: _Question) -> Any:
    assert question.find is not None
    answer = question.find()
    # It holds on to all that it was made with, such as long messages, while its key is remembered.
    question.find = None
    return answer
