"""The texts of DSML: tools, calls and arguments."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.programs.encoders.dsml import (
    Dialect,
    call_pieces,
    format_pieces,
    is_thinking,
    read_arguments,
    tool_pieces,
)
from renderers.programs.pieces import Piece, trace_pieces

DIALECT = Dialect("calls", "Tools:\n{schemas}\nEnd.", " ")


def test_tools_own_their_schemas() -> None:
    pieces = list(tool_pieces([{"type": "function", "function": {"name": "é"}}, {"name": "b"}], DIALECT, 3))
    assert "".join(piece.text for piece in pieces) == 'Tools:\n{"name": "é"}\n{"name": "b"}\nEnd.'
    assert [piece.path for piece in pieces if piece.message < 0] == [("tools", 0), ("tools", 1)]


def test_a_call_owns_its_name_and_arguments() -> None:
    call = {"function": {"name": "get", "arguments": {"x": "a", "y": [1]}}}
    trace = trace_pieces([*call_pieces({"tool_calls": [call]}, 2, DIALECT)])
    path = ("tool_calls", 0, "function")
    owned = [(trace.text[span.start : span.end], span.path) for span in trace.spans if span.path]
    assert owned == [
        ("get", (*path, "name")),
        ("x", (*path, "arguments")),
        ("a", (*path, "arguments", "x")),
        ("y", (*path, "arguments")),
        ("[1]", (*path, "arguments", "y")),
    ]
    assert trace.text.startswith('\n\n<｜DSML｜calls>\n<｜DSML｜ invoke name="get">\n<｜DSML｜ parameter name="x"')
    assert list(call_pieces({}, 2, DIALECT)) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"x": 1}, {"x": 1}),
        ('{"x": 1}', {"x": 1}),
        ('"{\\"x\\": 1}"', {"x": 1}),
        ("[1]", {"arguments": "[1]"}),
        ([1], {"arguments": [1]}),
        (None, {}),
    ],
)
def test_arguments_become_an_object(arguments: Any, expected: Any) -> None:
    assert read_arguments(arguments) == expected


def test_a_response_format_is_written_if_there_is_one() -> None:
    assert list(format_pieces({}, 0)) == []
    assert list(format_pieces({"response_format": {"a": 1}}, 0))[1] == Piece('{"a": 1}', 0, ("response_format",))


def test_thinking_takes_precedence_over_its_alias() -> None:
    assert is_thinking({"enable_thinking": True})
    assert not is_thinking({"enable_thinking": True, "thinking": False})
    assert not is_thinking({})
