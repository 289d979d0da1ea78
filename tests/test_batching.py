"""A batch runs a function over its items, and raises or returns their errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from renderers import ChatRenderer, MessageError, ParsedResponse, TemplateError
from renderers.batching import run_batch, tools_of_items
from renderers.errors import TemplateLimitError, TemplateRefusalError
from tests.support.responses import CALL, TOOLS, embedded

TEXTS = ["Hi<|end|>", f"<|think|>A<|/think|>{CALL}<|end|>", "", "cut"]


def completions_of(renderer: ChatRenderer) -> list[list[int]]:
    return [renderer.tokenizer.encode(text) for text in TEXTS]


def test_a_batch_is_parsed_as_each_completion_is() -> None:
    renderer = embedded()
    completions = completions_of(renderer)
    prompts = [None, [], renderer.tokenizer.encode("<|turn|>assistant\n<|think|>"), (1, 2)]
    expected = [
        renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt)
        for ids, prompt in zip(completions, prompts, strict=True)
    ]
    assert renderer.parse_batch(completions, tools=TOOLS, prompt_ids=prompts) == expected
    assert renderer.parse_batch(iter(completions), tools=iter(TOOLS), prompt_ids=iter(prompts)) == expected
    assert renderer.parse_batch(completions, tools=TOOLS, prompt_ids=prompts, errors="return") == expected
    assert renderer.parse_batch(completions) == [renderer.parse_response(ids) for ids in completions]
    assert renderer.parse_batch([]) == []


def test_rows_of_an_array_are_completions() -> None:
    renderer = embedded()
    rows = np.array([renderer.tokenizer.encode("Hi<|end|>")] * 3)
    assert renderer.parse_batch(rows, prompt_ids=rows) == [renderer.parse_response(rows[0], prompt_ids=rows[0])] * 3


def test_tools_are_for_all_items_or_for_each() -> None:
    tool = {"name": "f"}
    assert tools_of_items(None, 2) == [None, None]
    assert tools_of_items([], 2) == [[], []]
    assert tools_of_items((tool,), 2) == [[tool], [tool]]
    assert tools_of_items([(tool,), None], 2) == [(tool,), None]
    assert tools_of_items([[], []], 2) == [[], []]
    with pytest.raises(ValueError, match="tools has 1 entries for 2 items"):
        tools_of_items([[tool]], 2)


def test_the_prompts_have_an_entry_for_each_completion() -> None:
    with pytest.raises(ValueError, match="prompt_ids has 1 entries for 2 items"):
        embedded().parse_batch([[1], [2]], prompt_ids=[[1]])


def test_errors_stand_in_the_places_of_their_results() -> None:
    renderer = embedded()
    bad_tools: Any = [object()]
    results = renderer.parse_batch([[1], "text", [1], 5], tools=[None, None, bad_tools, None], errors="return")
    assert [type(result) for result in results] == [ParsedResponse, TypeError, MessageError, TypeError]
    assert results[0] == renderer.parse_response([1])
    with pytest.raises(TypeError) as raised:
        renderer.parse_response("text")
    assert str(results[1]) == str(raised.value)


def test_the_first_error_is_raised_and_names_the_index() -> None:
    with pytest.raises(TypeError, match="completion 1: token ids must be numbers"):
        embedded().parse_batch([[1], "text", 5])
    bad_tools: Any = [object()]
    with pytest.raises(MessageError, match=r"^completion 2: tools\.0 ") as raised:
        embedded().parse_batch([[1], [1], [1]], tools=[None, None, bad_tools])
    assert raised.value.path == ("tools", 0)


def test_there_are_two_ways_to_treat_errors() -> None:
    odd: Any = "ignore"
    with pytest.raises(ValueError, match="errors must be 'raise' or 'return', not 'ignore'"):
        embedded().parse_batch([], errors=odd)


@pytest.mark.parametrize(
    "error",
    [
        MessageError("is a set", message=1, path=("content",)),
        TemplateError("the template fails", 1),
        TemplateRefusalError("no system message", 1),
        TemplateLimitError("steps", 10),
        KeyError("x"),
        Exception(),
    ],
)
def test_an_error_keeps_its_index_in_another_process(error: Exception) -> None:
    def fail(_: int) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert "item 0: " in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
