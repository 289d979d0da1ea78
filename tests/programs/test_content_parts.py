"""Content is read as text, with the path of each part."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.errors import MessageError
from renderers.programs.content_parts import content_pieces, reasoning_pieces


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        ("Hi", [("Hi", ("content",))]),
        (None, []),
        ([], []),
        (["Hi", {"type": "text", "text": "!"}], [("Hi", ("content", 0)), ("!", ("content", 1, "text"))]),
        ([{"type": "thinking", "thinking": "Hm"}, {"text": "Hi"}], [("Hi", ("content", 1, "text"))]),
        ({"a": "é"}, [('{"a": "é"}', ("content",))]),
        ([1, 2], [("[1, 2]", ("content",))]),
        (5, [("5", ("content",))]),
    ],
)
def test_content_is_text(content: Any, pieces: list[Any]) -> None:
    found = content_pieces({"role": "tool", "content": content}, 3)
    assert [(piece.text, piece.path) for piece in found] == pieces
    assert {piece.message for piece in found} <= {3}


def test_a_part_that_is_no_text_is_an_error() -> None:
    with pytest.raises(MessageError, match=r"message 0: content\.1 is a part of type 'image'"):
        content_pieces({"role": "user", "content": ["Hi", {"type": "image"}]}, 0)


def test_reasoning_is_a_field_or_a_thinking_part() -> None:
    parts = [{"type": "thinking", "thinking": ["a", {"type": "text", "text": "b"}]}]
    assert reasoning_pieces({"content": parts}, 0) == [("ab", 0, ("content", 0, "thinking"))]
    assert reasoning_pieces({"content": parts, "reasoning_content": "c"}, 0) == [("c", 0, ("reasoning_content",))]
    with pytest.raises(MessageError, match="must be a string or a list of text parts"):
        reasoning_pieces({"content": [{"type": "thinking", "thinking": [5]}]}, 0)
