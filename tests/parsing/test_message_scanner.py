"""Messages of one turn for the same field are joined."""

from __future__ import annotations

import pytest

from renderers.parsing.grammar import Grammar
from tests.support.completions import read, reader_of_bytes


@pytest.mark.parametrize(
    ("tools", "text", "content"),
    [
        (
            "harmony",
            "<|channel|>final<|message|>One<|end|><|start|>assistant<|channel|>final<|message|>Two",
            "One\nTwo",
        ),
        ("harmony", "<|channel|>final<|message|><|end|><|start|>assistant<|channel|>final<|message|>Two", "Two"),
        ("atem", " to=user<|message|>One<|eom|><|start|>assistant to=user<|message|>Two<|eom|>", "One\nTwo"),
        ("inkling", "<|content_text|>One<|end_message|><|message_model|><|content_text|>Two<|end_message|>", "OneTwo"),
    ],
)
def test_the_separator_is_only_between_two_texts(tools: str, text: str, content: str) -> None:
    reader = reader_of_bytes(Grammar(tools=tools), marks=True)
    ids = reader.encode(text)
    assert read(reader, [ids]).response.content == content
    assert read(reader, [[token] for token in ids]).response.content == content
