"""`Piece`: a text with its owner. Programs in Python write their output as pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Path, Span, Trace
from renderers.core.text import describe_type
from renderers.errors import MessageError
from renderers.programs.base import ProgramRun


class Piece(NamedTuple):
    """A text of one field of one message.

    >>> Piece("Hi", 0, ("content",))
    Piece(text='Hi', message=0, path=('content',))
    """

    text: str
    message: int = -1
    """The index of the message, -1 for text of no message."""
    path: Path = ()
    """The path of the field, empty for text of the format itself."""


def trace_pieces(pieces: Sequence[Piece]) -> Trace:
    """Join pieces into a trace. An empty piece of a field becomes an empty span.

    >>> trace_pieces([Piece("<", 0), Piece("Hi", 0, ("content",)), Piece(">", 0), Piece("<", 0)]).spans[1:]
    (Span(start=1, end=3, message=0, path=('content',)), Span(start=3, end=5, message=0, path=()))
    """
    spans: list[Span] = []
    end = 0
    for text, message, path in pieces:
        start, end = end, end + len(text)
        if spans and spans[-1][2:] == (message, path):
            spans[-1] = spans[-1]._replace(end=end)
        elif text or path:
            spans.append(Span(start, end, message, path))
    return Trace("".join(piece.text for piece in pieces), tuple(spans))


def called_function(call: JsonObject, number: int) -> tuple[JsonObject, Path]:
    """Return the object with the name and the arguments of a message's call `number`, and its path.

    >>> called_function({"function": {"name": "f"}}, 0), called_function({"name": "f"}, 1)
    (({'name': 'f'}, ('tool_calls', 0, 'function')), ({'name': 'f'}, ('tool_calls', 1)))
    """
    function = call.get("function")
    return (
        (function, ("tool_calls", number, "function")) if isinstance(function, dict) else (call, ("tool_calls", number))
    )


def run_pieces(
    pieces: Sequence[Piece],
    messages: Sequence[JsonObject],
    *,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
) -> ProgramRun:
    """Return the result of a run that wrote some pieces.

    With `continue_final_message`, it ends after the last message's content, or after the field that it names.

    Raises:
        MessageError: The last message cannot be continued.
    """
    if continue_final_message:
        if add_generation_prompt:
            raise MessageError("add_generation_prompt and continue_final_message exclude each other")
        pieces = pieces[: _end_of_field(pieces, messages, continue_final_message)]
    return ProgramRun("".join(piece.text for piece in pieces), messages, lambda: trace_pieces(pieces))


def _end_of_field(pieces: Sequence[Piece], messages: Sequence[JsonObject], continued: bool | str) -> int:
    """Return the number of pieces up to the end of the field to continue."""
    if type(continued) not in (bool, str):
        fault = f"must be a bool or the name of a field, not {describe_type(continued)}"
        raise MessageError(fault, path=("continue_final_message",))
    field, last = "content" if continued is True else continued, len(messages) - 1
    names = REASONING_NAMES if field in REASONING_NAMES else (field,)
    ends = [
        number
        for number, piece in enumerate(pieces, start=1)
        if piece.message == last and piece.path and piece.path[0] in names
    ]
    if not ends:
        raise MessageError(f"cannot be continued: it has no {field}, or the format does not write it", message=last)
    return ends[-1]
