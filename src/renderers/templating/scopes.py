"""Attribute template-generated text to a message by the loop iteration or branch that emitted it.

A run of a template has a current scope: a loop iteration, a branch of an `if`, or the generation prompt. Text that no
field owns is owned by its scope until the run ends. Then `resolve_spans` finds the message of each scope.
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
    """A loop iteration or a branch, within the scope `parent`.

    `message` is the index of the message that the iteration is for, if known.
    `block` is set for a branch of an `if`.
    `prompt` is set for a branch that is only taken for the generation prompt; its text belongs to no message.
    `body_messages` are the messages with field text in this scope.
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
        """Yield this scope and all enclosing scopes, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def note_messages(self, text: str, *, since: int = 0) -> None:
        """Add the messages that own runs of a text to `body_messages`, from the run `since` on."""
        for run in itertools.islice(runs_of(text), since, None):
            # A message that is noted here is noted in all enclosing scopes.
            if isinstance(run.owner, Owner) and run.owner.message >= 0 and run.owner.message not in self.body_messages:
                for scope in self.outward():
                    scope.body_messages.add(run.owner.message)

    def owner_message(self) -> int | None:
        """Return the message that owns text of this scope: -1 for no message, None if undecided."""
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
    """The current scope of a run. The generated code calls these methods as the template enters and leaves scopes."""

    __slots__ = ("current",)

    def __init__(self) -> None:
        self.current = Scope(None)

    def iterate(self, outer: Scope, item: Any) -> None:
        """Enter a loop iteration within `outer`.

        Its message is the item, if that is a message. If no enclosing scope has a message, an item that is
        derived from one message counts too. Otherwise it does not: it may be looked up for another message.
        """
        message = message_index(item)
        if message is None and all(scope.message is None for scope in outer.outward()):
            message = common_message(item)
        self.current = Scope(outer, message=message)

    def branch(self, outer: Scope, *, prompt: bool) -> None:
        """Enter a branch of an `if` within `outer`."""
        self.current = Scope(outer, block=True, prompt=prompt)

    def leave(self, outer: Scope) -> None:
        """Return to `outer` from any depth."""
        self.current = outer

    def claim(self, value: Any) -> Any:
        """Return an assigned value, with the text that no field owns given to the current scope.

        The first message that is assigned in an iteration over anything else is the message of that iteration.
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
        """Return a text with the parts that have no owner given to the current scope."""
        return fill_gaps(text, self.current)


def resolve_spans(pieces: Iterable[tuple[str, Scope]], *, roles: Sequence[object], bos: str) -> tuple[Span, ...]:
    """Return the spans of the output: pieces of text and the scopes that emitted them.

    Text that no field owns belongs to the first of these that exists: the message of its iteration, the only message
    with field text in an enclosing branch of an `if`, the previous message. Text before the first message belongs to
    it if that is a system message and its iteration does not open the turn itself. A BOS token at the start of the
    output belongs to no message.
    """
    pieces = list(pieces)
    parts = _parts(pieces)
    scope_owner = functools.cache(_scope_owner)
    owners = [owner if type(owner) is Owner else scope_owner(owner) for _, owner in parts]
    attributed = ((at, owner.message) for at, owner in enumerate(owners) if owner is not None and owner.message >= 0)
    opening, first = next(attributed, (None, -1))
    leads = opening is not None and roles[first] in _LEADING_ROLES and not _opens_turn(opening, parts, pieces)
    previous = first if leads else -1
    spans: list[Span] = []
    span_start = start = 0
    last: Owner | None = None
    for (end, _), owner in zip(parts, owners, strict=True):
        owner = owner or Owner(previous, ())
        if owner.message >= 0:
            previous = owner.message
        if owner != last:
            if last is not None:
                spans.append(Span(span_start, start, *last))
            span_start, last = start, owner
        start = end
    if last is not None:
        spans.append(Span(span_start, start, *last))
    return tuple(_without_bos(spans, len(bos)))


def _scope_owner(scope: Any) -> Owner | None:
    """Return the owner of the text of a scope; None if undecided."""
    assert isinstance(scope, Scope)
    message = scope.owner_message()
    return None if message is None else Owner(message, ())


_Part = tuple[int, Owner | PendingOwner]
"""The end of a part of the output, and its owner. A part starts at the end of the previous one."""


def _opens_turn(index: int, parts: Sequence[_Part], pieces: Iterable[tuple[str, Scope]]) -> bool:
    """Return True if a part is template text, not blank, and emitted by an iteration over messages."""
    end, owner = parts[index]
    if not isinstance(owner, Scope) or all(scope.message is None for scope in owner.outward()):
        return False
    return not "".join(text for text, _ in pieces)[parts[index - 1][0] if index else 0 : end].isspace()


def _parts(pieces: Iterable[tuple[str, Scope]]) -> list[_Part]:
    """Return the parts of all pieces, and note in each scope the messages with text in it."""
    parts: list[_Part] = []
    offset = 0
    for piece, scope in pieces:
        end = 0
        runs = runs_of(piece)
        if runs:
            scope.note_messages(piece)
        for run in runs:
            if end < run.start:
                parts.append((offset + run.start, scope))
            parts.append((offset + run.end, run.owner))
            end = run.end
        if end < len(piece):
            parts.append((offset + len(piece), scope))
        offset += len(piece)
    return parts


def _without_bos(spans: list[Span], size: int) -> list[Span]:
    """Detach the first `size` characters from their message if they are template text."""
    if not size or not spans or spans[0].path or spans[0].end < size or spans[0].message < 0:
        return spans
    rest = Span(size, spans[0].end, spans[0].message, ())
    return [Span(0, size, *NO_MESSAGE), *([rest] if rest.start < rest.end else []), *spans[1:]]
