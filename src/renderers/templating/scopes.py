"""Whose is the text between the bodies? What a template was doing when it wrote it.

A run of a template has a current scope: the iteration of a loop, a branch of an `if`, the generation prompt. Text that
no body owns is owned by its scope until the run is over; then `resolve_spans` finds the message that each scope speaks for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from renderers.core.spans import Span
from renderers.templating.runs import NO_MESSAGE, Owner, PendingOwner, common_message, gap_free_prefix, runs_of
from renderers.templating.traced_str import fill_gaps
from renderers.templating.traced_values import message_index

_LEADING_ROLES = frozenset({"system", "developer"})


class Scope(PendingOwner):
    """A stretch of a run: within `parent`, and for `message` where that is known.

    `prompt` is set for a branch that is taken for the generation prompt: what it writes is nobody's.
    `speakers` are the messages whose bodies were written in it.
    """

    __slots__ = ("block", "body_messages", "message", "parent", "prompt")

    def __init__(
        self, parent: Scope | None, *, message: int | None = None, block: bool = False, prompt: bool = False
    ) -> None:
        self.parent = parent
        self.message = message
        self.block = block
        self.prompt = prompt
        self.body_messages: set[int] = set()

    def outward(self) -> Iterator[Scope]:
        """Yields this scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def note_messages(self, text: str, *, since: int = 0) -> None:
        """Remembers the messages that have a part in a text, from a run of it on."""
        for run in itertools.islice(runs_of(text), since, None):
            # Who was heard here was heard all around.
            if isinstance(run.owner, Owner) and run.owner.message >= 0 and run.owner.message not in self.body_messages:
                for scope in self.outward():
                    scope.body_messages.add(run.owner.message)

    def owner_message(self) -> int | None:
        """Returns the message that text of this scope belongs to, -1 for nobody's; None where it cannot be told."""
        for scope in self.outward():
            if scope.prompt:
                return NO_MESSAGE.message
            if scope.message is not None:
                return scope.message
        for scope in self.outward():
            if scope.block and len(scope.body_messages) == 1:
                return next(iter(scope.body_messages))
        return None


class Scopes:
    """The current scope of one run. Generated code calls these methods as the template enters and leaves things."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = Scope(None)

    def iterate(self, outer: Scope, item: Any) -> None:
        """Begins an iteration of a loop within `outer`.

        It is about its item where that is a message. A part of one, which may be looked up on behalf of
        another message, counts where nothing around is about a message.
        """
        message = message_index(item)
        if message is None and all(scope.message is None for scope in outer.outward()):
            message = common_message(item)
        self.current = Scope(outer, message=message)

    def branch(self, outer: Scope, *, prompt: bool) -> None:
        """Begins a branch of an `if` within `outer`."""
        self.current = Scope(outer, block=True, prompt=prompt)

    def leave(self, outer: Scope) -> None:
        """Goes back to `outer`, from however deep inside."""
        self.current = outer

    def claim(self, value: Any) -> Any:
        """Returns a value that is given a name: text of the template's own belongs to where it is put together.

        The first message that an iteration over something else gives a name to is what it is about.
        """
        current = self.current
        if current.parent is None:
            return value
        if isinstance(value, str):
            current.note_messages(value, since=gap_free_prefix(value))
            return fill_gaps(value, current)
        if not current.block and current.message is None:
            current.message = message_index(value)
        return value

    def claim_gaps(self, text: str) -> str:
        """Gives what nobody owns of a text to the current scope."""
        return fill_gaps(text, self.current)


def resolve_spans(pieces: Iterable[tuple[str, Scope]], *, roles: Sequence[object], bos: str) -> tuple[Span, ...]:
    """Returns the spans of what a run wrote: pieces of text and the scopes that they were written in.

    What no body owns belongs to the message whose iteration wrote it; else to the only message that
    speaks in the branch of an `if` around it; else to the message before it; and a head before a system
    message that speaks first, to that one, unless its iteration opens the turn itself. A BOS token at the
    very beginning is nobody's.
    """
    pieces = list(pieces)
    parts = _parts(pieces)
    spoken = functools.cache(_scope_owner)
    owners = [owner if type(owner) is Owner else spoken(owner) for _, owner in parts]
    said = ((at, owner.message) for at, owner in enumerate(owners) if owner is not None and owner.message >= 0)
    opening, first = next(said, (None, -1))
    leads = opening is not None and roles[first] in _LEADING_ROLES and not _opens_turn(opening, parts, pieces)
    before = first if leads else -1
    spans: list[Span] = []
    begun = start = 0
    last: Owner | None = None
    for (end, _), owner in zip(parts, owners, strict=True):
        owner = owner or Owner(before, ())
        if owner.message >= 0:
            before = owner.message
        if owner != last:
            if last is not None:
                spans.append(Span(begun, start, *last))
            begun, last = start, owner
        start = end
    if last is not None:
        spans.append(Span(begun, start, *last))
    return tuple(_without_bos(spans, len(bos)))


def _scope_owner(scope: Any) -> Owner | None:
    """Returns the owner of a scope's text; None where it cannot be told."""
    assert isinstance(scope, Scope)
    message = scope.owner_message()
    return None if message is None else Owner(message, ())


_Part = tuple[int, Owner | PendingOwner]
"""Where a part of a text ends that begins where the one before it ends, and its owner."""


def _opens_turn(at: int, parts: Sequence[_Part], pieces: Iterable[tuple[str, Scope]]) -> bool:
    """Says whether a part is text of the template's own, and not blank, that an iteration over messages wrote."""
    end, owner = parts[at]
    if not isinstance(owner, Scope) or all(scope.message is None for scope in owner.outward()):
        return False
    return not "".join(text for text, _ in pieces)[parts[at - 1][0] if at else 0 : end].isspace()


def _parts(pieces: Iterable[tuple[str, Scope]]) -> list[_Part]:
    """Returns the parts of all pieces, and lets every scope know who spoke in it."""
    parts: list[_Part] = []
    at = 0
    for piece, scope in pieces:
        end = 0
        runs = runs_of(piece)
        if runs:
            scope.note_messages(piece)
        for run in runs:
            if end < run.start:
                parts.append((at + run.start, scope))
            parts.append((at + run.end, run.owner))
            end = run.end
        if end < len(piece):
            parts.append((at + len(piece), scope))
        at += len(piece)
    return parts


def _without_bos(spans: list[Span], size: int) -> list[Span]:
    """Takes the first `size` characters from their owner where they are text of the template's own."""
    if not size or not spans or spans[0].path or spans[0].end < size or spans[0].message < 0:
        return spans
    rest = Span(size, spans[0].end, spans[0].message, ())
    return [Span(0, size, *NO_MESSAGE), *([rest] if rest.start < rest.end else []), *spans[1:]]
