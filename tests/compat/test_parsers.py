"""`renderers.parsers` of release 0.1 reads calls and reasoning by the name of a format."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, load_tokenizer

TOKENIZER = load_tokenizer(EXAMPLE_MODEL)
CALLS = {
    "qwen3": '<tool_call>\n{"name": "look", "arguments": {"q": "rain"}}\n</tool_call>',
    "qwen3.5": "<tool_call>\n<function=look>\n<parameter=q>\nrain\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>look\n<arg_key>q</arg_key>\n<arg_value>rain</arg_value>\n</tool_call>",
    "deepseek-v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n"
        '```json\n{"q": "rain"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
}


def parsers() -> Any:
    """Return the module, by the import path of release 0.1."""
    return importlib.import_module("renderers.parsers")


@pytest.mark.parametrize("name", CALLS)
def test_a_parser_returns_the_ids_before_the_calls_and_the_calls(name: str) -> None:
    before, calls = parsers().get_tool_parser(name, TOKENIZER).extract(TOKENIZER.encode("Hm.\n" + CALLS[name]))

    assert TOKENIZER.decode(before).startswith("Hm.\n")
    assert [(call.name, call.arguments, call.status) for call in calls] == [("look", {"q": "rain"}, "ok")]
    assert len(before) <= calls[0].token_span[0]


def test_without_calls_all_ids_are_content() -> None:
    ids = TOKENIZER.encode("Nothing to look up.")

    assert parsers().get_tool_parser("qwen3", TOKENIZER).extract(ids) == (ids, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>Add.</think>4", ("Add.", "4")),
        ("<think>Add.", ("Add.", "")),
        ("<think></think>4", (None, "4")),
        ("4<think>Add.</think>", (None, "4<think>Add.</think>")),
    ],
)
def test_reasoning_is_read_at_the_beginning_of_a_text(text: str, expected: tuple[str | None, str]) -> None:
    assert parsers().get_reasoning_parser("think", TOKENIZER).extract(text) == expected


def test_a_name_without_a_parser_is_an_error_with_all_names() -> None:
    with pytest.raises(ValueError, match=r"Unknown tool_parser 'nothing'\. Choose one of: qwen3, qwen3\.5, glm"):
        parsers().get_tool_parser("nothing", TOKENIZER)
    with pytest.raises(ValueError, match="Unknown reasoning_parser"):
        parsers().get_reasoning_parser("nothing", TOKENIZER)
