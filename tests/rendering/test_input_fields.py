"""The fields of a caller's message, and the names of written fields."""

from __future__ import annotations

import pytest

from renderers.core.spans import Path
from renderers.rendering.input_fields import fields_of, name_of


def test_the_fields_of_a_message_have_the_callers_paths() -> None:
    call = {"id": "1", "function": {"name": "search", "arguments": {"query": "sky"}}}
    message = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}, {"type": "image"}, "!"],
        "tool_calls": [call, {"name": "stop", "arguments": "{}"}],
        "name": "Bob",
        "id": "7",
    }
    assert [(field.kind, field.path, field.name) for field in fields_of(message)] == [
        ("reasoning", ("content", 0), ("reasoning",)),
        ("text_beside_calls", ("content", 1), ("content",)),
        ("media", ("content", 2), ("content", 2)),
        ("text_beside_calls", ("content", 3), ("content",)),
        ("name", ("tool_calls", 0, "function", "name"), ("tool_calls", 0, "name")),
        ("tool_calls", ("tool_calls", 0, "function", "arguments"), ("tool_calls", 0, "arguments")),
        ("name", ("tool_calls", 1, "name"), ("tool_calls", 1, "name")),
        ("name", ("name",), ("name",)),
    ]


def test_copies_of_reasoning_are_one_field() -> None:
    copies = {"thinking": "Hm.", "reasoning": "Hm.", "reasoning_content": "Hm."}
    assert [field.path for field in fields_of({"role": "assistant", "content": "", **copies})] == [("reasoning",)]
    copies["thinking"] = "Another."
    paths = [field.path for field in fields_of({"role": "assistant", "content": "", **copies})]
    assert paths == [("thinking",), ("reasoning",)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("content",), ("content",)),
        (("content", 0, "text"), ("content",)),
        (("content", 0, "thinking"), ("reasoning",)),
        (("reasoning_content",), ("reasoning",)),
        (("tool_calls", 1, "function", "arguments", "city"), ("tool_calls", 1, "arguments")),
        (("tool_calls", 1, "name"), ("tool_calls", 1, "name")),
        (("tool_calls", 1), ("tool_calls", 1)),
        (("tool_calls",), ("tool_calls",)),
        ((), ()),
        (("tools", 0, "function"), ("tools",)),
    ],
)
def test_a_path_has_the_name_of_its_field(path: Path, name: Path) -> None:
    assert name_of(path) == name
