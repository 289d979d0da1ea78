"""Tool results without an id get the id of their call in the completion, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import Bridge, BridgeReason, BridgeRefusal, create_renderer, load_tokenizer
from renderers.bridging.call_ids import find_other_id, with_call_ids, with_call_names, with_some_ids
from renderers.core.completions import CalledTool
from renderers.core.spans import Span, Trace
from tests.support.models import HUB_AT_HAND, unpack_hub

needs_hub = pytest.mark.skipif(not HUB_AT_HAND, reason="no real models")

FIRST, SECOND = CalledTool("functions.search:0", "search"), CalledTool("functions.read:1", "read")
USER = {"role": "user", "content": "Hi"}


def result(**fields: Any) -> dict[str, Any]:
    return {"role": "tool", "content": "x", **fields}


def ids_of(new: list[dict[str, Any]], *calls: CalledTool) -> list[str | None]:
    return [message.get("tool_call_id") for message in with_call_ids(new, calls)]


def test_results_belong_to_the_calls_in_order() -> None:
    assert ids_of([result(), USER, result()], FIRST, SECOND) == [FIRST.id, None, SECOND.id]


def test_a_name_takes_precedence_over_the_order() -> None:
    assert ids_of([result(name="read"), result()], FIRST, SECOND) == [SECOND.id, FIRST.id]


def test_ids_of_the_caller_are_kept() -> None:
    assert ids_of([result(tool_call_id="c7"), result(tool_call_id=SECOND.id)], FIRST, SECOND) == ["c7", SECOND.id]
    assert ids_of([result(tool_call_id=SECOND.id), result()], FIRST, SECOND) == [SECOND.id, FIRST.id]


def test_no_id_is_made_up() -> None:
    assert ids_of([result()], FIRST, SECOND) == [None]
    assert ids_of([result(), result()], FIRST) == [None, None]
    assert ids_of([result()], CalledTool(None, "search")) == [None]
    assert ids_of([result()]) == [None]


def test_messages_of_the_caller_are_unchanged() -> None:
    new = [result()]
    with_call_ids(new, [FIRST])
    assert new == [result()]


def test_results_get_some_id_only_if_they_have_none_and_a_call_has_one() -> None:
    new = [result(), USER, result(tool_call_id="c7")]
    assert with_some_ids(new, [FIRST]) == [result(tool_call_id=FIRST.id), USER, result(tool_call_id="c7")]
    assert with_some_ids(new, [CalledTool(None, "search")]) == new


def names_of(new: list[dict[str, Any]], *calls: CalledTool) -> list[str | None]:
    return [message.get("name") for message in with_call_names(new, calls)]


def test_results_get_the_names_of_the_calls_in_order() -> None:
    search, read = CalledTool(None, "search"), CalledTool(None, "read")
    assert names_of([result(), USER, result()], search, read) == ["search", None, "read"]
    assert names_of([result(name="read"), result()], search, read) == ["read", "search"]


def test_no_name_is_made_up() -> None:
    search, read = CalledTool(None, "search"), CalledTool(None, "read")
    assert names_of([result()], search, read) == [None]
    assert names_of([result()], CalledTool(None, None)) == [None]
    assert names_of([result(tool_call_id="c7")], search) == [None]
    assert names_of([result(name="find")], search) == ["find"]


@needs_hub
def test_a_template_that_requires_names_gets_those_of_the_completion() -> None:
    unpack_hub()
    renderer = create_renderer(load_tokenizer("google/gemma-4-31B-it"))
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    call = "<|tool_call>call:search{}<tool_call|><|tool_response>"
    completion = renderer.tokenizer.encode(call, add_special_tokens=False)
    named = renderer.bridge(prompt, completion, [result(name="search")], tools=TOOLS)
    nameless = renderer.bridge(prompt, completion, [result()], tools=TOOLS)
    assert isinstance(named, Bridge)
    assert isinstance(nameless, Bridge)
    assert named.tokens.token_ids == nameless.tokens.token_ids


CALL = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
TOOLS = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object", "properties": {}}}}]


@needs_hub
@pytest.mark.parametrize(
    ("model", "thought"),
    [
        ("moonshotai/Kimi-K2-Instruct", ""),
        ("moonshotai/Kimi-K2-Thinking", "<think>Hm.</think>"),
        ("moonshotai/Kimi-K2.5", "Hm.</think>"),
    ],
)
def test_a_bridge_of_kimi_writes_the_ids_of_the_completion(model: str, thought: str) -> None:
    unpack_hub()
    tokenizer = load_tokenizer(model)
    renderer = create_renderer(tokenizer)
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    calls = "".join(map(CALL.format, ("functions.search:0", "functions.search:1")))
    completion = tokenizer.encode(
        f"{thought}<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|><|im_end|>", add_special_tokens=False
    )
    bridge = renderer.bridge(prompt, completion, [result(), result()], tools=TOOLS)
    assert isinstance(bridge, Bridge)
    added = tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
    assert "## Return of functions.search:0\nx<|im_end|>" in added
    assert "## Return of functions.search:1\nx<|im_end|>" in added
    turn = renderer.parse_response(completion, prompt_ids=prompt, tools=TOOLS)
    ids = [call.id for call in turn.tool_calls]
    parsed = {
        "role": "assistant",
        "content": turn.content,
        "reasoning_content": turn.reasoning_content,
        "tool_calls": [{"id": id_, "function": {"name": "search", "arguments": {}}} for id_ in ids],
    }
    results = [result(tool_call_id=id_) for id_ in ids]
    again = renderer.render_ids([USER, parsed, *results], tools=TOOLS, add_generation_prompt=True)
    assert again == bridge.tokens.token_ids


@needs_hub
@pytest.mark.parametrize(
    ("model", "call", "matches"),
    [
        ("moonshotai/Kimi-K2.5", "functions.search:0", False),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "abcdefgh1", False),
        ("moonshotai/Kimi-K2-Instruct", "functions.search:0", True),
    ],
)
def test_a_bridge_matches_a_render_only_if_the_template_writes_the_same_without_the_id(
    model: str, call: str, matches: bool
) -> None:
    """The template of Kimi K2 counts calls and reads no ids."""
    unpack_hub()
    renderer = create_renderer(load_tokenizer(model))
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    calls = [{"id": call, "type": "function", "function": {"name": "search", "arguments": {}}}]
    turn = {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": calls}
    completion = renderer.render_ids([USER, turn], tools=TOOLS)[len(prompt) :]
    for new, expected in (result(), matches), (result(tool_call_id=call), True):
        bridge = renderer.bridge(prompt, completion, [new], tools=TOOLS)
        assert isinstance(bridge, Bridge)
        assert bridge.matches_rerender is expected


def kimi_bridge(model: str, thought: str, new: list[dict[str, Any]]) -> tuple[Bridge | BridgeRefusal, str]:
    """Bridge over a turn that calls `search` and `read`, and return the result and the added text."""
    unpack_hub()
    renderer = create_renderer(load_tokenizer(model))
    prompt = renderer.render_ids([USER], tools=TOOLS, add_generation_prompt=True)
    calls = "".join(CALL.format(call.id) for call in (FIRST, SECOND))
    text = f"{thought}<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|><|im_end|>"
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    bridge = renderer.bridge(prompt, completion, new, tools=TOOLS)
    if isinstance(bridge, BridgeRefusal):
        return bridge, ""
    return bridge, renderer.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])


@needs_hub
@pytest.mark.parametrize("new", [[result()], [result(name="nope")], [result(), result(), result()]])
def test_a_result_of_an_unknown_call_is_refused_if_the_template_writes_ids(new: list[dict[str, Any]]) -> None:
    bridge, _ = kimi_bridge("moonshotai/Kimi-K2.5", "Hm.</think>", new)
    assert isinstance(bridge, BridgeRefusal)
    assert bridge.reason is BridgeReason.SUFFIX_VARIES
    assert "Set tool_call_id." in bridge.detail


@needs_hub
@pytest.mark.parametrize(
    ("model", "thought"), [("moonshotai/Kimi-K2-Instruct", ""), ("moonshotai/Kimi-K2-Thinking", "<think>Hm.</think>")]
)
@pytest.mark.parametrize(
    ("earlier", "written", "made_up"),
    [
        (0, "functions.search:0", None),
        (0, "functions.search:5", "functions.search:0"),
        (0, "search", "functions.search:0"),
        (1, "functions.search:1", None),
        (1, "functions.search:0", "functions.search:1"),
    ],
)
def test_a_bridge_refuses_a_call_with_another_id_than_that_of_the_template(
    model: str, thought: str, earlier: int, written: str, made_up: str | None
) -> None:
    unpack_hub()
    renderer = create_renderer(load_tokenizer(model))
    call = {"id": "functions.search:0", "type": "function", "function": {"name": "search", "arguments": {}}}
    turn = {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]}
    history = [USER, *[turn, result(tool_call_id="functions.search:0")] * earlier]
    prompt = renderer.render_ids(history, tools=TOOLS, add_generation_prompt=True)
    text = f"{thought}<|tool_calls_section_begin|>{CALL.format(written)}<|tool_calls_section_end|><|im_end|>"
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    bridge = renderer.bridge(prompt, completion, [result(tool_call_id=written)], tools=TOOLS)
    if made_up is None:
        assert isinstance(bridge, Bridge)
        added = renderer.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
        assert f"## Return of {written}\n" in added
    else:
        assert isinstance(bridge, BridgeRefusal)
        assert bridge.reason is BridgeReason.SUFFIX_VARIES
        assert f"it writes the id {made_up!r} for the call {written!r}" in bridge.detail


def test_the_name_of_a_call_in_quotes_is_not_an_id() -> None:
    name = "tool_calls", 0, "function", "name"
    text = '{"name": "get", "id": "c1"}\n{"name": "get", "result": 1}'
    first, second = (text.index("get", start) for start in (0, 20))
    spans = [Span(0, first, 1, ()), Span(first, first + 3, 1, name), Span(second, second + 3, 1, name)]
    assert find_other_id(Trace(text, tuple(spans)), turn=1, end=28, calls=[CalledTool("c1", "get")]) is None


@needs_hub
def test_a_template_that_numbers_results_gives_them_the_ids_of_the_calls_in_order() -> None:
    """The template of Kimi K2 reads neither names nor ids, so a render of the conversation has the same ids."""
    new = [result(name="read", tool_call_id=SECOND.id), result(name="search", tool_call_id=FIRST.id)]
    bridge, added = kimi_bridge("moonshotai/Kimi-K2-Instruct", "", new)
    assert isinstance(bridge, Bridge)
    assert bridge.matches_rerender
    assert added.index(f"read<|im_middle|>## Return of {FIRST.id}") < added.index(f"## Return of {SECOND.id}")
