"""All scanners treat stop tokens and ids without a token alike."""

from __future__ import annotations

import pytest

from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.completions import grammar_of, read, reader_of_bytes


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_text_after_a_stop_token_is_skipped(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    response = read(reader, [reader.encode("Hi<|stop|>there")]).response
    assert response.content == "Hi"
    assert [(part.text, part.reason) for part in response.skipped] == [("there", "after the stop token")]
    assert response.state.stop_token_id == reader.encode("<|stop|>")[0]


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_an_id_without_a_token_is_skipped(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), marks=True)
    unknown = reader.size + 7
    response = read(reader, [[*reader.encode("Hi"), unknown, *reader.encode(" there<|stop|>")]]).response
    assert response.content == "Hi there"
    assert [(part.reason, part.start, part.end) for part in response.skipped] == [
        ("not a token of the vocabulary", 2, 3)
    ]
