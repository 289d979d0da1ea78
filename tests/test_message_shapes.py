"""Messages and tools of a wrong shape raise a `MessageError` that names the message and the field, in every method."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from renderers import EMBEDDED, ChatRenderer, build_training_sample, create_renderer, load_tokenizer
from renderers.core.messages import extract_message_tool_names
from renderers.errors import MessageError
from renderers.training import build_trajectory_step

ASK = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def calling(calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": calls}


def call(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}, **fields}


MESSAGES: dict[str, tuple[Any, str]] = {
    "calls are a string": (calling("abc"), "tool_calls must be a list of tool calls, not a str"),
    "calls are an empty string": (calling(""), "tool_calls must be a list of tool calls, not a str"),
    "calls are one call": (calling(call()), "tool_calls must be a list of tool calls, not a dict"),
    "calls are a number": (calling(5), "tool_calls must be a list of tool calls, not an int"),
    "calls are a flag": (calling(True), "tool_calls must be a list of tool calls, not a bool"),
    "a call is a string": (calling([call(), "f"]), "tool_calls.1 must be a dict with a function, not a str"),
    "a call is None": (calling([None]), "tool_calls.0 must be a dict with a function, not None"),
    "a call is a list": (calling([[call()]]), "tool_calls.0 must be a dict with a function, not a list"),
    "a call is empty": (calling([{}]), "tool_calls.0 has neither a function nor a name: add a name"),
    "a call is an id": (calling([{"id": "1"}]), "tool_calls.0 has neither a function nor a name: add a name"),
    "a function is None": (
        calling([call(function=None)]),
        "tool_calls.0 has neither a function nor a name: add a name",
    ),
    "arguments are a number": (
        calling([call(function={"name": "f", "arguments": 5})]),
        "tool_calls.0.function.arguments must be an object or JSON text, not an int",
    ),
    "arguments are a list": (
        calling([call(function={"name": "f", "arguments": ["x"]})]),
        "tool_calls.0.function.arguments must be an object or JSON text, not a list",
    ),
    "arguments are a flag": (
        calling([{"name": "f", "arguments": True}]),
        "tool_calls.0.arguments must be an object or JSON text, not a bool",
    ),
    "arguments are None": (
        calling([{"name": "f", "arguments": None}]),
        "tool_calls.0.arguments must be an object or JSON text, not None: pass {} for a call without arguments",
    ),
    "content is a number": (
        {"role": "user", "content": 5},
        "content must be a string, a list of parts or None, not an int",
    ),
    "content is a part": (
        {"role": "system", "content": {"type": "text", "text": "R"}},
        "content must be a string, a list of parts or None, not a dict: put a part into a list",
    ),
    "a part is a number": (
        {"role": "user", "content": [{"type": "text", "text": "R"}, 5]},
        "content.1 must be a part such as {'type': 'text', 'text': 'Hello!'}, not an int",
    ),
    "a part is None": (
        {"role": "assistant", "content": [None]},
        "content.0 must be a part such as {'type': 'text', 'text': 'Hello!'}, not None",
    ),
    "a part is a list": (
        {"role": "developer", "content": [["R"]]},
        "content.0 must be a part such as {'type': 'text', 'text': 'Hello!'}, not a list",
    ),
    "reasoning is a number": (
        {"role": "assistant", "content": "", "reasoning_content": 5},
        "reasoning_content must be a string, not an int",
    ),
    "reasoning is a dict": (
        {"role": "assistant", "content": "", "reasoning": {"text": "R"}},
        "reasoning must be a string, not a dict",
    ),
    "the message is a conversation": (
        [ASK],
        "must be a dict with a role and a content, not a list. Pass one conversation, or use render_batch.",
    ),
    "a function is a string": (calling([call(function="f")]), "tool_calls.0.function must be a dict, not a str"),
    "a function is a list": (calling([call(function=[])]), "tool_calls.0.function must be a dict, not a list"),
    "a name is missing": (calling([call(function={"arguments": {}})]), "tool_calls.0.function has no name: add a name"),
    "a name is None": (
        calling([call(function={"name": None})]),
        "tool_calls.0.function.name must be a string, not None",
    ),
    "a name is a number": (
        calling([call(function={"name": 5})]),
        "tool_calls.0.function.name must be a string, not an int",
    ),
    "a bare name is a list": (calling([{"name": ["f"]}]), "tool_calls.0.name must be a string, not a list"),
    "an id is a list": (calling([call(id=["1"])]), "tool_calls.0.id must be a string, not a list"),
    "an id is a dict": (calling([call(id={"a": 1})]), "tool_calls.0.id must be a string, not a dict"),
    "a result's id is a list": (
        {"role": "tool", "content": "R", "tool_call_id": ["1"]},
        "tool_call_id must be a string, not a list",
    ),
    "a result's id is a dict": (
        {"role": "tool", "content": "R", "tool_call_id": {}},
        "tool_call_id must be a string, not a dict",
    ),
    "a result's name is a list": (
        {"role": "tool", "content": "R", "name": ["f"]},
        "name must be a string, not a list",
    ),
    "content is a flag": (
        {"role": "user", "content": True},
        "content must be a string, a list of parts, None, or JSON data of a tool, not a bool",
    ),
    "the role is missing": ({"content": "R"}, "role must be a string such as 'user', and is missing"),
    "the role is a list": ({"role": ["user"]}, "role must be a string such as 'user', not ['user']"),
    "the message is None": (None, "must be a dict with a role and a content, not None"),
}
TOOLS: dict[str, tuple[Any, str]] = {
    "a string": ("f", "tools.1 must be a dict with the tool's name and schema"),
    "None": (None, "tools.1 must be a dict with the tool's name and schema"),
    "without a name": ({"description": "d"}, "tools.1 has neither a function nor a name: add a name"),
    "a type alone": ({"type": "function"}, "tools.1 has neither a function nor a name: add a name"),
    "a function that is a string": ({"function": "f"}, "tools.1.function must be a dict, not a str"),
    "a function that is None": ({"function": None}, "tools.1 has neither a function nor a name: add a name"),
    "a function without a name": ({"function": {"parameters": {}}}, "tools.1.function has no name: add a name"),
    "a name that is a number": ({"function": {"name": 5}}, "tools.1.function.name must be a string, not an int"),
    "a bare name that is None": ({"name": None}, "tools.1.name must be a string, not None"),
}


@functools.cache
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def bridge(method: str, messages: list[Any], tools: Any = None) -> object:
    target = renderer()
    prompt = target.render_ids([ASK], add_generation_prompt=True)
    completion = target.tokenizer.encode("Hello!<|end|>")
    return getattr(target, method)(prompt, completion, messages, tools=tools)


METHODS: dict[str, Callable[..., object]] = {
    "render": lambda messages, tools=None: renderer().render(messages, tools=tools),
    "render_ids": lambda messages, tools=None: renderer().render_ids(messages, tools=tools),
    "trace": lambda messages, tools=None: renderer().trace(messages, tools=tools),
    "bridge": functools.partial(bridge, "bridge"),
    "bridge_to_next_turn": functools.partial(bridge, "bridge_to_next_turn"),
    "build_training_sample": lambda messages, tools=None: build_training_sample(renderer(), messages, tools=tools),
    "build_trajectory_step": lambda messages, tools=None: build_trajectory_step(renderer(), messages, [], tools=tools),
    "apply_chat_template": lambda messages, tools=None: load_tokenizer(EMBEDDED).apply_chat_template(
        messages, tools=tools
    ),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("message", "error"), MESSAGES.values(), ids=MESSAGES)
def test_a_message_of_a_wrong_shape_is_rejected_with_its_path(name: str, message: Any, error: str) -> None:
    with pytest.raises(MessageError) as caught:
        METHODS[name]([ASK, message])
    # The caller of a bridge passes new messages only.
    new = "new " if name.startswith("bridge") else ""
    assert str(caught.value) == f"{new}message 1: {error}"
    assert caught.value.message == 1


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(("tool", "error"), TOOLS.values(), ids=TOOLS)
def test_a_tool_of_a_wrong_shape_is_rejected_with_its_path(
    method: Callable[..., object], tool: Any, error: str
) -> None:
    with pytest.raises(MessageError) as caught:
        method([ASK], tools=[TOOL, tool])
    assert str(caught.value) == error


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("messages", [5, "hello", ASK], ids=["a number", "a string", "a message"])
def test_messages_that_are_not_a_list_are_rejected(method: Callable[..., object], messages: Any) -> None:
    with pytest.raises(MessageError, match=r"messages must be a list of messages, not an? "):
        method(messages)


@pytest.mark.parametrize(
    ("message", "error"),
    [MESSAGES[key] for key in MESSAGES if MESSAGES[key][1].startswith("tool_call") or key == "the message is None"],
)
def test_tool_names_are_not_read_from_a_message_of_a_wrong_shape(message: Any, error: str) -> None:
    with pytest.raises(MessageError) as caught:
        extract_message_tool_names([ASK, message])
    assert str(caught.value) == f"message 1: {error}"


@pytest.mark.parametrize(
    "message",
    [
        calling(None),
        calling([]),
        {**calling(None), "reasoning_content": []},
        calling((call(),)),
        calling([call(id=5)]),
        calling([call(id=None)]),
        calling([{"name": "f", "arguments": {}}]),
        calling([{"name": "f", "arguments": {}, "function": None}]),
        {"role": "tool", "content": {"degrees": 21}, "tool_call_id": 5},
        {"role": "tool", "content": 21, "tool_call_id": None, "name": None},
    ],
)
def test_other_shapes_that_templates_accept_are_rendered(message: Any) -> None:
    assert renderer().render([ASK, message]).token_ids


def test_a_tool_that_is_not_a_function_needs_no_name() -> None:
    assert renderer().render([ASK], tools=[{"type": "web_search"}]).token_ids
