"""Attribute template text to messages: scopes mark the output, and `settle_spans` finds the owner of each character.

A run has a current scope: a loop iteration, a branch of an `if`, or the generation prompt. A scope is an empty text,
so that it can stand in the output itself: it marks where its text begins. Nothing is computed during the run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from renderers.core.native import COMPILED, native
from renderers.core.spans import Span
from renderers.templating.texts import common_message, cut, fill_gaps, mixed_text, runs_of
from renderers.templating.values import NO_MESSAGE, DataDict, FieldText, MixedText, Owner, Run, SafeText
from renderers.templating.wrapping import message_index

_LEADING_ROLES = frozenset({"system", "developer"})
_new_text = str.__new__
_new_span = tuple.__new__


class Scope(str):
    """A loop iteration within the scope `parent`.

    `message` is the index of the message of the iteration, and `owner` the owner of its template text. Both are None
    if they are not known yet.
    """

    __slots__ = ("message", "owner", "parent")
    parent: Scope | None
    message: int | None
    owner: Owner | None


class Branch(Scope):
    """A branch of an `if`. `body_messages` are the messages with field text in it."""

    __slots__ = ("body_messages",)
    body_messages: set[int]


def root_scope() -> Scope:
    """Return the scope of a whole run."""
    root = _new_text(Scope)
    root.parent = root.message = root.owner = None
    return root


def _enter_message(outer: Scope, message: DataDict, output: list[str]) -> Scope:
    """Begin an iteration over messages."""
    scope = _new_text(Scope)
    scope.parent = outer
    scope.owner = owner = message._owner
    scope.message = owner[0]
    output.append(scope)
    return scope


_SCOPE = (Scope, "parent", "owner", "message", "_owner")
enter_message: Callable[[Scope, DataDict, list[str]], Scope] = (
    functools.partial(native.enter_message, _SCOPE) if COMPILED else _enter_message
)


def enter_iteration(outer: Scope, item: Any, output: list[str], current: Scope, is_assigned: bool) -> Scope:
    """Begin an iteration over anything. `is_assigned` is True if its body may assign a message.

    Its message is the item, if that is a message. If no enclosing scope has a message, an item that is derived from
    one message counts too. Otherwise it does not: it may be looked up for another message.
    """
    message = message_index(item) if item.__class__ is DataDict else None
    if message is None and outer.owner is None and _message_around(outer) is None:
        message = common_message(item)
    if message is None and not is_assigned:
        if current is not outer:
            output.append(outer)
        return outer
    scope = _new_text(Scope)
    scope.parent = outer
    scope.message = message
    scope.owner = outer.owner if message is None else (message, ())
    output.append(scope)
    return scope


def enter_branch(outer: Scope, output: list[str], is_prompt: bool) -> Branch:
    """Begin a branch of an `if`. The text of a branch for the generation prompt belongs to no message."""
    scope = _new_text(Branch)
    scope.parent = outer
    scope.message = None
    scope.owner = NO_MESSAGE if is_prompt else outer.owner
    scope.body_messages = set()
    output.append(scope)
    return scope


def claim(scope: Scope, value: Any) -> Any:
    """Return an assigned value, with its template text given to the current scope.

    The first message that is assigned in an iteration over anything else is the message of that iteration.
    """
    if scope.parent is None:
        return value
    kind = value.__class__
    if kind is FieldText:
        _note_message(_branch_around(scope), value._owner[0])
        return value
    if kind is str:
        return mixed_text(value, ((len(value), scope),)) if value else value
    if isinstance(value, str):
        _note_messages(_branch_around(scope), runs_of(value))
        return fill_gaps(value, scope)
    if scope.__class__ is Scope and scope.message is None:
        message = message_index(value)
        if message is not None:
            scope.message = message
            scope.owner = (message, ())
    return value


def collect(pieces: Iterable[str], scope: Scope | None) -> str:
    """Return the text of a block that was entered in a scope: a macro, a block `set` or a block filter."""
    texts = []
    runs: list[Run] = []
    offset = 0
    for piece in pieces:
        kind = piece.__class__
        if kind is Scope or kind is Branch:
            scope = piece  # type: ignore[assignment]
            continue
        texts.append(piece)
        if kind is str:
            if piece:
                runs.append((offset + len(piece), scope))
        else:
            runs.extend([(offset + end, scope if owner is None else owner) for end, owner in runs_of(piece)])
        offset += len(piece)
    if len(texts) == 1 and texts[0].__class__ is FieldText:
        return texts[0]
    return mixed_text("".join(texts), tuple(runs))


def _note_messages(branch: Branch | None, runs: Iterable[Run]) -> None:
    """Note the messages with field text in a branch, and in all branches around it."""
    for _, owner in runs:
        if owner.__class__ is tuple:
            _note_message(branch, owner[0])


def _note_message(branch: Branch | None, message: int) -> None:
    if message < 0:
        return
    # Messages in a branch are also noted in those around it.
    while branch is not None and message not in branch.body_messages:
        branch.body_messages.add(message)
        branch = _branch_around(branch.parent)


def _branch_around(scope: Scope | None) -> Branch | None:
    """Return the innermost branch around a scope, or the scope itself if it is one; None if there is no branch."""
    while scope is not None and scope.__class__ is not Branch:
        scope = scope.parent
    return scope


def _message_around(scope: Scope | None) -> int | None:
    """Return the message of the innermost iteration that has one."""
    while scope is not None:
        if scope.message is not None:
            return scope.message
        scope = scope.parent
    return None


# ==================
# The end of a run
# ==================


def written_fields(pieces: list[str]) -> set[Owner]:
    """Return the fields with text in the output. Scopes do not matter for it.

    The path is empty for text that belongs to a message as a whole, such as its JSON.
    """
    return collect_fields(pieces, TEXT_TYPES)


def _collect_fields(pieces: list[str], _: tuple[type, type, type]) -> set[Owner]:
    return {owner for owner, _ in field_texts(pieces)}


def field_texts(pieces: Iterable[str]) -> Iterator[tuple[Owner, str]]:
    """Yield each text of a field in the output, with its owner."""
    for piece in pieces:
        if piece.__class__ is FieldText or piece.__class__ is MixedText or piece.__class__ is SafeText:
            start = 0
            for end, owner in runs_of(piece):
                if owner.__class__ is tuple and start < end:
                    yield owner, str(piece)[start:end]
                start = end


TEXT_TYPES = (FieldText, MixedText, SafeText)
"""The types of texts with owners."""
collect_fields = native.written_fields if COMPILED else _collect_fields


def pieces_before(pieces: Iterable[str], end: int) -> list[str]:
    """Return the pieces of an output up to an offset. The last one is cut there."""
    before = []
    for piece in pieces:
        if len(piece) >= end:
            before.append(piece if isinstance(piece, Scope) else cut(piece, 0, end))
            break
        before.append(piece)
        end -= len(piece)
    return before


def settle_spans(text: str, pieces: list[str], root: Scope, *, roles: list[Any], bos: str) -> tuple[Span, ...]:
    """Return the spans of the output, a text and its pieces. `roles` are those of the messages.

    Template text belongs to the first of these that exists: the message of its iteration, the only message with field
    text in an enclosing branch of an `if`, the previous message. Text before the first message belongs to it if that
    is a system message and its iteration does not open the turn itself. A BOS token at the start of the output
    belongs to no message.
    """
    return tuple(_without_bos(settle(text, pieces, root, roles, _LEADING_ROLES, _TYPES), len(bos)))


def settle_in_python(
    text: str,
    pieces: list[str],
    root: Scope,
    roles: Sequence[Any],
    leading: frozenset[str],
    _types: tuple[type, type, type, type[Span]],
    /,
) -> list[Span]:
    """Return the same as `settle` of the C extension: the spans of the output, including a BOS token."""
    ends, owners, pending, opening = _output_parts(pieces, root)
    # Many parts have the same scope, such as those of tools.
    scopes = {id(owners[at]): owners[at] for at in pending}
    settled = {key: _scope_owner(scope) for key, scope in scopes.items()}
    for at in pending:
        owners[at] = settled[id(owners[at])]
    first = next((at for at, owner in enumerate(owners) if owner is not None and owner[0] >= 0), None)
    previous = -1
    if first is not None:
        message = owners[first][0]
        opens = first == opening and _is_text(first, ends, owners, text)
        role = roles[message]
        if isinstance(role, str) and role in leading and not opens:
            previous = message
    return _merge_parts(ends, owners, previous)


def _output_parts(pieces: list[str], root: Scope) -> tuple[list[int], list[Any], list[int], int]:
    """Return the ends of the parts of the output, their owners, and the indices of two kinds of parts.

    The owner of template text is that of its scope if it is known, else the scope: the indices of these parts are
    returned in a list. The last result is the index of the part that opens the first turn. It is -1 unless the first
    part of a message is template text of its iteration. Also note in each branch the messages with text in it.
    """
    ends: list[int] = []
    owners: list[Any] = []
    pending: list[int] = []
    branch = _branch_around(root)
    current: Any = root
    last: Any = None
    opening = -1
    is_open = False
    offset = 0
    for piece in pieces:
        kind = piece.__class__
        if kind is Scope or kind is Branch:
            branch = _branch_around(piece)  # type: ignore[arg-type]
            current = _known_owner(piece)
            continue
        if kind is str:
            offset += len(piece)
            if current is last:
                ends[-1] = offset
            elif piece:
                if current.__class__ is not tuple:
                    pending.append(len(ends))
                elif not is_open and current[0] >= 0:
                    is_open, opening = True, len(ends)
                ends.append(offset)
                owners.append(current)
                last = current
            continue
        runs: tuple[Run, ...] = runs_of(piece)
        if branch is not None:
            _note_messages(branch, runs)
        for end, owner in runs:
            own = owner if owner.__class__ is tuple else current if owner is None else _known_owner(owner)
            if own is last:
                ends[-1] = offset + end
                continue
            if own.__class__ is not tuple:
                pending.append(len(ends))
            elif not is_open and own[0] >= 0:
                is_open, opening = True, len(ends) if owner is not own else -1
            ends.append(offset + end)
            owners.append(own)
            last = own
        offset += len(piece)
    return ends, owners, pending, opening


def _merge_parts(ends: list[int], owners: list[Owner | None], message: int) -> list[Span]:
    """Return the spans of parts. Those without an owner belong to the message before them, at first to `message`."""
    spans: list[Span] = []
    start = begin = 0
    last: Owner | None = None
    for end, own in zip(ends, owners, strict=True):
        if own is None:
            own = (message, ())
        elif own[0] >= 0:
            message = own[0]
        if own != last:
            if last is not None:
                spans.append(_new_span(Span, (begin, start, last[0], last[1])))
            begin, last = start, own
        start = end
    if last is not None:
        spans.append(_new_span(Span, (begin, start, last[0], last[1])))
    return spans


_TYPES = (Scope, Branch, FieldText, Span)
settle = native.settle if COMPILED else settle_in_python


def _known_owner(scope: Any) -> Any:
    """Return the owner of a scope that belongs to a message or to the prompt, else the scope."""
    inner: Scope | None = scope
    while inner is not None:
        if inner.owner is not None:
            return inner.owner
        inner = inner.parent
    return scope


def _scope_owner(scope: Scope) -> Owner | None:
    """Return the only message with field text in a branch around a scope, as an owner; None if there is none."""
    branch = _branch_around(scope)
    while branch is not None:
        if len(branch.body_messages) == 1:
            return next(iter(branch.body_messages)), ()
        branch = _branch_around(branch.parent)
    return None


def _is_text(first: int, ends: list[int], owners: list[Owner | None], text: str) -> bool:
    """Return True if the template text of a message that begins at a part is not blank.

    All adjacent template text of the message counts, so that it does not matter how the output is cut into pieces.
    """
    last = first
    while last + 1 < len(ends) and owners[last + 1] == owners[first]:
        last += 1
    return not text[ends[first - 1] if first else 0 : ends[last]].isspace()


def _without_bos(spans: list[Span], size: int) -> list[Span]:
    """Detach the first `size` characters from their message if they are template text."""
    if not size or not spans or spans[0].path or spans[0].end < size or spans[0].message < 0:
        return spans
    rest = Span(size, spans[0].end, spans[0].message, ())
    return [Span(0, size, *NO_MESSAGE), *([rest] if rest.start < rest.end else []), *spans[1:]]
