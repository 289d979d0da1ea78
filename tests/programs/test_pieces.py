"""Pieces of text with owners are joined to the trace of a run."""

from __future__ import annotations

import pytest

from renderers.core.spans import Span
from renderers.errors import MessageError
from renderers.programs.pieces import Piece, run_pieces, trace_pieces

MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}]
PIECES = [
    Piece("<", 0),
    Piece("Hi", 0, ("content",)),
    Piece(">", 0),
    Piece("<", 1),
    Piece("Hm", 1, ("reasoning_content",)),
    Piece("|", 1),
    Piece("Yes", 1, ("content",)),
    Piece(">", 1),
    Piece("<"),
]


def test_adjacent_pieces_of_one_owner_are_one_span() -> None:
    trace = trace_pieces([Piece("a", 0), Piece("b", 0), Piece("", 0, ("content",)), Piece(""), Piece("c", 0)])
    assert trace.text == "abc"
    assert trace.spans == (Span(0, 2, 0, ()), Span(2, 2, 0, ("content",)), Span(2, 3, 0, ()))


def test_spans_are_contiguous() -> None:
    run = run_pieces(PIECES, MESSAGES)
    assert run.text == run.trace.text == "<Hi><Hm|Yes><"
    assert [span.start for span in run.trace.spans[1:]] == [span.end for span in run.trace.spans[:-1]]
    assert run.written() == {(0, ("content",)), (1, ("content",)), (1, ("reasoning_content",))}


@pytest.mark.parametrize(
    ("field", "text"),
    [(True, "<Hi><Hm|Yes"), ("content", "<Hi><Hm|Yes"), ("reasoning", "<Hi><Hm"), (False, "<Hi><Hm|Yes><")],
)
def test_a_run_ends_after_the_field_to_continue(field: bool | str, text: str) -> None:
    assert run_pieces(PIECES, MESSAGES, continue_final_message=field).text == text


@pytest.mark.parametrize(
    ("field", "prompt", "fault"),
    [
        ("refusal", False, "cannot be continued: it has no refusal, or the format does not write it"),
        (True, True, "exclude each other"),
        (1, False, "must be a bool or the name of a field, not an int"),
    ],
)
def test_a_message_that_cannot_be_continued_is_an_error(field: bool | str, prompt: bool, fault: str) -> None:
    with pytest.raises(MessageError, match=fault):
        run_pieces(PIECES, MESSAGES, add_generation_prompt=prompt, continue_final_message=field)
