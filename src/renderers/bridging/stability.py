"""`PrefixStability`: whether what a template has written of a conversation stays as it is when messages are appended.

Like the proofs for a bridge, it is found with small conversations: histories with every kind of turn after them, and
what may follow such a turn. The template writes each of them without and with what follows, and the ids are compared.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.bridging.sample_histories import SAID, THOUGHT, Turn, skeletons, stand_in
from renderers.core.text import first_difference, quote_short
from renderers.parse.response import StateCall, Thought
from renderers.programs.input_formats import NOT_TAKEN, TOOL, Data

__all__ = ["PrefixStability", "RenderSmall", "prefix_stability"]

_NEAR = 60
"""How many characters are shown of what is before a border, and after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixStability:
    """Whether appending messages to a conversation that ends in an assistant's leaves its ids unchanged, and why not.

    Both are rendered without a generation prompt.
    """

    stable: bool
    before: list[Data] | None = None
    """The smallest conversation that changes; None where none does."""
    after: list[Data] | None = None
    """The same with the messages that change it."""
    tools: list[Data] | None = None
    """The tools that both are rendered with."""
    change: str = ""
    """What changes, in words."""
    tried: tuple[str, ...] = ()
    """The pairs of conversations that were compared, from the smallest on; the last one is that which changes."""
    refused: int = 0
    """How many more the template does not take."""


RenderSmall = Callable[[list[Data], list[Data] | None], tuple[str, list[int]]]
"""Gives the text and the ids of messages with tools, without a generation prompt; raises what `render` does."""


def prefix_stability(render: RenderSmall) -> PrefixStability:
    """Compares small conversations with the same ones when messages follow, up to the first that changes.

    A template that takes none of them is not stable: nothing speaks for it.

    Raises:
        TemplateLimitError: The template does not come to an end.

    >>> def render(messages, tools):
    ...     text = " ".join(message["content"] for message in messages)
    ...     return text, [ord(character) for character in text]
    >>> prefix_stability(render).stable
    True
    """
    written: dict[str, tuple[str, list[int]]] = {}
    tried: list[str] = []
    refusals: list[str] = []
    for pair in _PAIRS:
        try:
            if pair.name not in written:
                written[pair.name] = render(list(pair.before), pair.tools)
            text, ids = written[pair.name]
            longer, longer_ids = render([*pair.before, *pair.new], pair.tools)
        except NOT_TAKEN as error:
            refusals.append(str(error))
            continue
        tried.append(str(pair))
        if longer_ids[: len(ids)] != ids:
            # A copy: the caller may do with it what it likes.
            before, after, tools = copy.deepcopy((list(pair.before), [*pair.before, *pair.new], pair.tools))
            return PrefixStability(
                stable=False,
                before=before,
                after=after,
                tools=tools,
                change=_change(text, longer),
                tried=tuple(tried),
                refused=len(refusals),
            )
    if not tried:
        change = f"the template takes none of the conversations that were tried: {refusals[0]}"
        return PrefixStability(stable=False, change=change, refused=len(refusals))
    return PrefixStability(stable=True, tried=tuple(tried), refused=len(refusals))


class _Pair(NamedTuple):
    """A conversation that ends in an assistant's message, and what is appended."""

    name: str
    before: tuple[Data, ...]
    new: tuple[Data, ...]
    tools: list[Data] | None

    def __str__(self) -> str:
        return f"{self.name}, then {', '.join(message['role'] for message in self.new)}"

    @property
    def size(self) -> tuple[int, int]:
        return len(self.before) + len(self.new), _length([self.before, self.new, self.tools])


def _length(data: Any) -> int:
    """Returns how many characters the texts in data have."""
    if isinstance(data, dict):
        data = list(data.values())
    return sum(map(_length, data)) if isinstance(data, list | tuple) else len(data or "")


def _pairs() -> Iterator[_Pair]:
    words = {"user": "Ufer", "assistant": "Segel", "system": "Hafen"}
    ask, answer, late = ({"role": role, "content": text} for role, text in words.items())
    result = {"role": "tool", "tool_call_id": "call00000", "name": "f", "content": "Hagel"}
    turns = (ask,), (ask, answer), (ask, answer, ask), (answer,), (late,), (late, ask)
    results = (result,), (result, ask), (result, answer), (result, answer, ask), (ask,)
    for skeleton in skeletons():
        for kind, turn in _TURNS.items():
            said = stand_in(turn, (result,) if turn.calls else ())
            name, before = f"after {skeleton}: {kind}", (*skeleton.messages, said)
            for new in results if turn.calls else turns:
                yield _Pair(name, before, new, None)
                yield _Pair(f"{name}, with a tool", before, new, [TOOL])


_CALL = (StateCall(None, "f"),)
_TURNS = {
    "a turn": Turn(Thought.NONE, SAID, ()),
    "a turn with reasoning": Turn(Thought.SOME, SAID, ()),
    "a turn with reasoning in its text": Turn(Thought.NONE, f"<think>\n{THOUGHT}\n</think>\n\n{SAID}", ()),
    "a call": Turn(Thought.NONE, "", _CALL),
    "a call with text": Turn(Thought.NONE, SAID, _CALL),
    "a call with reasoning": Turn(Thought.SOME, "", _CALL),
}
_PAIRS = sorted(_pairs(), key=lambda pair: pair.size)


def _change(before: str, after: str) -> str:
    """Returns how the second text does not begin with the first, in words."""
    at = first_difference(before, after)
    lost, new = before[at:], after[at:]
    if not lost:
        return f"{quote_short(before[-_NEAR:])} ends with other tokens where {quote_short(new[:_NEAR])} follows"
    kept = next((size for size in range(len(lost)) if new.startswith(lost[size:])), None)
    if kept is not None:
        return f"{quote_short(lost[:kept])} is left out before {quote_short(lost[kept:])}"
    if lost in new:
        return f"{quote_short(new[: new.index(lost)])} is added before {quote_short(lost)}"
    return f"{quote_short(lost)} becomes {quote_short(new)}"
