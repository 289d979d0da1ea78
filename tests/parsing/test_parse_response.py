"""Completions in real formats: reasoning, content, calls, prompts, stop tokens, skipped text."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from typing import Any

import numpy as np
import pytest

from renderers import (
    EMBEDDED,
    ChatRenderer,
    DefaultRendererConfig,
    ParsedResponse,
    Region,
    ToolCallParseStatus,
    create_renderer,
    load_tokenizer,
)
from renderers.core.completions import ToolCallEnd
from tests.support.models import hub_models

OK = ToolCallParseStatus.OK
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get",
            "description": "Gets.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]
CALL = '<|call|>{"name": "get", "arguments": {"city": "Rome"}}<|/call|>'


def embedded() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def read(text: str, *, prompt: str | None = None, renderer: ChatRenderer | None = None) -> ParsedResponse:
    renderer = renderer or embedded()
    encode = renderer.tokenizer.encode
    ids = encode(text, add_special_tokens=False)
    given = None if prompt is None else encode(prompt, add_special_tokens=False)
    return renderer.parse_response(ids, tools=TOOLS, prompt_ids=given)


def said(parsed: ParsedResponse) -> tuple[str, str | None, list[Any]]:
    return parsed.content, parsed.reasoning_content, [(call.name, call.arguments) for call in parsed.tool_calls]


ROME = ("get", {"city": "Rome"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi<|end|>", ("Hi", None, [])),
        ("", ("", None, [])),
        ("<|end|>", ("", None, [])),
        ("<|think|>A<|/think|>B<|end|>", ("B", "A", [])),
        ("<|turn|>assistant\n<|think|>A<|/think|>B", ("B", "A", [])),
        (" \n<|think|>A<|/think|>B", ("B", "A", [])),
        ("<|think|><|/think|>B", ("B", None, [])),
        ("<|think|>A<|think|>B<|/think|>C<|/think|>D", ("C<|/think|>D", "AB", [])),
        ("x<|think|>A<|/think|>B", ("x<|think|>A<|/think|>B", None, [])),
        ("A<|/think|>B", ("A<|/think|>B", None, [])),
        ("<|/think|>B<|/think|>", ("B<|/think|>", None, [])),
        (f"Hi{CALL}{CALL}<|end|>", ("Hi", None, [ROME, ROME])),
        (f"<|think|>A{CALL}<|end|>", ("", "A", [ROME])),
        (f"<|think|>A{CALL}<|/think|>B", ("B", f"A{CALL}", [])),
        (f"<|think|>A{CALL}<|/think|>B{CALL}", ("B", f"A{CALL}", [ROME])),
        ("<|/call|>Hi", ("<|/call|>Hi", None, [])),
        ("  spaces stay \n<|end|>", ("  spaces stay \n", None, [])),
        ("☀️ naïve <|end|>", ("☀️ naïve ", None, [])),
    ],
)
def test_a_completion_is_read(text: str, expected: Any) -> None:
    assert said(read(text)) == expected


def test_reasoning_that_is_not_finished_stays_reasoning() -> None:
    parsed = read("<|think|>A and B")
    assert said(parsed) == ("", "A and B", [])
    assert not parsed.reasoning_complete
    assert parsed.state.region is Region.REASONING
    assert parsed.state.stop_token_id is None


def test_a_stop_within_reasoning_leaves_it_open() -> None:
    parsed = read("<|think|>A<|end|>")
    assert not parsed.reasoning_complete
    assert (parsed.state.region, parsed.state.stop_token_id) == (Region.REASONING, 870)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("<|turn|>user\nHi<|end|>\n<|turn|>assistant\n", ("A<|/think|>B", None, [])),
        ("<|turn|>user\nHi<|end|>\n<|turn|>assistant\n<|think|>", ("B", "A", [])),
        ("<|turn|>user\nHi<|end|>\n<|turn|>assistant\n<|think|>Well, ", ("B", "A", [])),
        ("<|turn|>user\nHi<|end|>\n<|turn|>assistant\n<|think|><|/think|>", ("A<|/think|>B", None, [])),
        ("<|turn|>user\n<|think|>", ("A<|/think|>B", None, [])),
        (
            "<|turn|>assistant\n<|think|>A<|end|>\n<|turn|>tool\n<|result|>x<|/result|><|end|>\n",
            ("A<|/think|>B", None, []),
        ),
        ("", ("A<|/think|>B", None, [])),
    ],
)
def test_the_prompt_determines_the_first_field(prompt: str, expected: Any) -> None:
    assert said(read("A<|/think|>B", prompt=prompt)) == expected


def test_a_call_that_begins_in_the_prompt_is_parsed() -> None:
    prompt = '<|turn|>assistant\n<|call|>{"name": "get", "arguments'
    (call,) = read('": {"city": "Rome"}}<|/call|><|end|>', prompt=prompt).tool_calls
    assert (call.name, call.arguments, call.status) == ("get", {"city": "Rome"}, OK)
    assert call.token_span is not None
    assert call.token_span[0] == 0


def test_text_of_the_prompt_is_not_in_the_response() -> None:
    head = "<|turn|>user\nHi<|end|>\n<|turn|>assistant\n"
    assert said(read(" world", prompt=head + "Hello")) == (" world", None, [])
    # Held back until it is known what it is, and still the prompt's.
    assert said(read(f"B{CALL}<|/think|>C", prompt=f"{head}<|think|>A{CALL}")) == ("C", f"B{CALL}", [])
    assert said(read("B<|/think|>C", prompt=head + "<|think|>A <|call|>{")) == ("C", "B", [])


def test_a_header_is_found_whatever_follows_it() -> None:
    prompt = "<|turn|>assistant\n<|think|>I saw <|result|> and " + "much more " * 100
    assert said(read("so.<|/think|>B", prompt=prompt)) == ("B", "so.", [])


@pytest.mark.parametrize("odd", [[[1, 2]], [None, {}], np.zeros((2, 2)), [2**70, -1, True, "x"]])
def test_any_prompt_is_accepted(odd: Any) -> None:
    assert embedded().parse_response(embedded().tokenizer.encode("Hi"), prompt_ids=odd).content == "Hi"


def test_closing_emits_text_that_was_kept_back() -> None:
    renderer = embedded()
    parser = renderer.stream()
    events = parser.feed(renderer.tokenizer.encode(f"<|think|>A{CALL}"))
    assert not any(isinstance(event, ToolCallEnd) for event in events)
    assert parser.last_events == []
    (call,) = parser.close().tool_calls
    assert [event.call for event in parser.last_events if isinstance(event, ToolCallEnd)] == [call]


def test_every_token_is_in_one_part() -> None:
    parsed = read(f"<|think|>A<|/think|>B{CALL}x<|end|>more")
    assert [part.region.value for part in parsed.parts] == (
        "marker reasoning marker content marker call marker skipped marker skipped".split()
    )
    assert [part.start for part in parsed.parts[1:]] == [part.end for part in parsed.parts[:-1]]


def test_skipped_text_is_reported() -> None:
    parsed = read(f"B{CALL} and<|end|>more")
    # A space between a call and what follows belongs to neither.
    assert [(text.text, text.reason) for text in parsed.skipped] == [
        ("and", "beside tool calls"),
        ("more", "after the stop token"),
    ]


def test_an_id_that_is_not_a_token_is_skipped_and_the_rest_is_parsed() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode("Hello there")
    parsed = renderer.parse_response([*ids[:2], -1, 10**9, *ids[2:]])
    assert parsed.content == "Hello there"
    assert [(text.start, text.end, text.reason) for text in parsed.skipped] == [(2, 4, "not a token of the vocabulary")]


def test_a_call_has_its_tokens_and_its_text() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode(f"B{CALL}<|end|>")
    (call,) = renderer.parse_response(ids).tool_calls
    assert call.token_span is not None
    assert renderer.tokenizer.decode(ids[slice(*call.token_span)]) == CALL
    assert f"<|call|>{call.raw}<|/call|>" == CALL


def test_the_state_names_the_calls() -> None:
    state = read(f"{CALL}<|call|>{{").state
    assert [(call.id, call.name) for call in state.calls] == [(None, "get"), (None, None)]
    assert (state.region, state.stop_token_id) == (Region.CALL, None)


def test_text_that_looks_like_a_marker_is_text() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="text")
    message = {"role": "assistant", "content": f"<|think|> is a marker, {CALL} a call."}
    rendered = renderer.render([{"role": "user", "content": "Hi"}, message])
    sampled = [token for token, one in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if one]
    assert said(renderer.parse_response(sampled)) == (message["content"], None, [])


@pytest.mark.parametrize("shape", [tuple, np.array, lambda ids: np.array(ids, dtype=np.int32), iter])
def test_ids_may_be_in_arrays(shape: Any) -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode("<|think|>A<|/think|>B<|end|>")
    assert renderer.parse_response(shape(ids)) == renderer.parse_response(ids)


def test_tools_may_be_objects() -> None:
    @dataclasses.dataclass
    class Tool:
        name: str
        parameters: dict[str, Any]

    parsed = embedded().parse_response([], tools=[Tool("get", {})])
    assert parsed.content == ""


def test_a_response_pickles_and_compares() -> None:
    parsed = read(f"<|think|>A<|/think|>B{CALL}<|end|>")
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert ParsedResponse(content="x") == ParsedResponse("x", None, [], True)


def test_a_closed_parser_takes_nothing_more() -> None:
    parser = embedded().stream()
    assert parser.close() is parser.close()
    with pytest.raises(ValueError, match="closed"):
        parser.feed([1])
    with pytest.raises(ValueError, match="closed"):
        parser.close([1])


def test_the_last_tokens_may_be_passed_to_close() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode(f"<|think|>A<|/think|>B{CALL}<|end|>")
    for cut in range(len(ids) + 1):
        parser = renderer.stream()
        parser.feed(ids[:cut])
        assert parser.close(ids[cut:]) == renderer.parse_response(ids)


def test_the_state_is_available_between_chunks() -> None:
    renderer = embedded()
    parser = renderer.stream()
    parser.feed(renderer.tokenizer.encode("<|think|>A"))
    before = parser.state.region
    parser.feed(renderer.tokenizer.encode("<|/think|>B<|call|>{"))
    assert (before, parser.state.region) == (Region.REASONING, Region.CALL)


QWEN = '<tool_call>\n{"name": "get", "arguments": {"city": "Rome"}}\n</tool_call>'
XML = (
    "<tool_call>\n<function=get>\n<parameter=city>\n Rome\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
    "</function>\n</tool_call>"
)
GLM = "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value> Rome</arg_value>\n</tool_call>"
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n"
    '{"city": "Rome"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
HARMONY = '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"city": "Rome"}<|call|>'

REAL = [
    ("Qwen/Qwen3-8B", None, "<think>\nA\n</think>\n\nB  <|im_end|>", ("B  ", "A", [])),
    ("Qwen/Qwen3-8B", "<|im_start|>assistant\n<think>\n", f"A{QWEN}<|im_end|>", ("", "A", [ROME])),
    ("Qwen/Qwen3-8B", None, f"<think>A{QWEN}</think>B\n{QWEN}", ("B", f"A{QWEN}", [ROME])),
    (
        "Qwen/Qwen3.5-9B",
        "<|im_start|>assistant\n<think>\n",
        f"A\n</think>\n\nB\n\n{XML}<|im_end|>",
        ("B", "A", [("get", {"city": " Rome", "days": 3})]),
    ),
    ("zai-org/GLM-4.5-Air", None, f"\n<think>A</think>\nB\n{GLM} C<|user|>", ("BC", "A", [("get", {"city": " Rome"})])),
    ("zai-org/GLM-5", None, "A</think>B<|user|>", ("B", "A", [])),
    ("zai-org/GLM-5", "<|assistant|></think>", "A</think>B", ("A</think>B", None, [])),
    ("deepseek-ai/DeepSeek-V3", "<｜Assistant｜><think>\n", f"A\n</think>\n\nB{DEEPSEEK}", ("B", "A", [ROME])),
    ("deepseek-ai/DeepSeek-V3", "<｜Assistant｜><think>\n", f"A{DEEPSEEK}", ("", f"A{DEEPSEEK}", [])),
    (
        "openai/gpt-oss-20b",
        None,
        f"<|channel|>analysis<|message|>A<|end|><|start|>assistant{HARMONY}",
        ("", "A", [ROME]),
    ),
    ("openai/gpt-oss-20b", "<|start|>assistant<|channel|>analysis<|message|>", "A", ("", "A", [])),
    (
        "openai/gpt-oss-20b",
        "<|start|>assistant",
        "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
        ("First.\nB", None, []),
    ),
    ("openai/gpt-oss-20b", "<|start|>assistant", "Hi there", ("Hi there", None, [])),
    (
        "openai/gpt-oss-20b",
        "<|start|>assistant",
        "<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>analysis<|message|>A<|end|>",
        ("", "A", []),
    ),
    (
        "openai/gpt-oss-20b",
        "<|start|>assistant",
        "<|channel|>final<|message|>B<|end|><|start|>user<|message|>Mine<|end|>",
        ("B", None, []),
    ),
    ("Qwen/Qwen3-8B", "<|im_start|>assistant\n<think>\nplan\n\n", "more\n</think>B", ("B", "more", [])),
    ("meta-llama/Llama-3.2-1B-Instruct", None, '{"name": "Bob", "age": 3}', ('{"name": "Bob", "age": 3}', None, [])),
    ("zai-org/GLM-4.5-Air", "[gMASK]<sop><|user|>\nwhat is <think>?", "A</think>B", ("A</think>B", None, [])),
    ("meta-llama/Llama-3.2-1B-Instruct", None, 'Look: {"name": "get"}', ('Look: {"name": "get"}', None, [])),
]


@pytest.mark.parametrize(("name", "prompt", "text", "expected"), REAL)
def test_real_formats_are_read(name: str, prompt: str | None, text: str, expected: Any, hub: object) -> None:
    assert said(read(text, prompt=prompt, renderer=create_renderer(load_tokenizer(name)))) == expected


def test_text_between_the_messages_of_a_turn_is_skipped(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    text = "<|channel|>final<|message|>A<|end|>lost<|start|>assistant<|channel|>final<|message|>B<|end|>" + "é" * 2000
    parsed = read(text, prompt="<|start|>assistant", renderer=renderer)
    assert said(parsed) == ("A\nB", None, [])
    assert [skipped.text for skipped in parsed.skipped] == ["lost", "é" * 2000]


@pytest.mark.parametrize(
    ("close", "own"),
    [("<|call|>", True), ("<|end|>", True), ("<|return|>", False), ("<|start|>assistant", False), ("", False)],
)
def test_the_tokens_of_a_call_of_gpt_oss_include_its_closing_marker(close: str, own: bool, hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    call = HARMONY.removesuffix("<|call|>")
    ids = renderer.tokenizer.encode(f"<|channel|>analysis<|message|>A<|end|><|start|>assistant{call}{close}")
    parsed = renderer.parse_response(ids, tools=TOOLS)
    span = parsed.tool_calls[0].token_span
    assert span is not None
    assert renderer.tokenizer.decode(ids[slice(*span)]) == f"<|start|>assistant{call}{close if own else ''}"
    assert [part.end for part in parsed.parts][-1] == len(ids)


def test_a_call_of_gpt_oss_may_end_with_the_stop_token(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"))
    ids = renderer.tokenizer.encode(HARMONY)
    parser = renderer.stream()
    parser.feed(ids)
    (call,) = parser.close().tool_calls
    assert (call.token_span, call.status, parser.state.stop_token_id) == ((0, len(ids)), OK, ids[-1])


LLAMA = '{"name": "get", "parameters": {"city": "Rome"}}'
BROKEN = ToolCallParseStatus.INVALID_JSON
CUT_OFF = ToolCallParseStatus.UNCLOSED_BLOCK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LLAMA}<|eot_id|>", [("get", OK)]),
        (f"{LLAMA}\n{LLAMA}; {LLAMA}<|eot_id|>", [("get", OK)] * 3),
        (LLAMA[:-5], [("get", CUT_OFF)]),
        (f"{LLAMA[:-1]}<|eot_id|>", [("get", BROKEN)]),
        (f"<|python_tag|>{LLAMA[:-1]}<|eom_id|>", [("get", BROKEN)]),
        (f"{LLAMA}; {LLAMA[:-5]}", [("get", OK), ("get", CUT_OFF)]),
        ('{"name": "größe"}<|eot_id|>', [("größe", OK)]),
        ('{"name": "gr\\u00f6\\u00dfe"', [("größe", CUT_OFF)]),
        ('{"name": "gr\\u00f6ße"}<|eot_id|>', [("größe", OK)]),
        ('{"name": "Bob", "age": ', []),
        (f"{LLAMA} and more", []),
        ('{"na', []),
    ],
)
def test_a_broken_call_of_llama_that_begins_with_the_name_of_a_tool_is_a_call(
    text: str, expected: list[Any], hub: object
) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    tools = [*TOOLS, {"name": "größe", "parameters": {}}]
    ids = renderer.tokenizer.encode(text, add_special_tokens=False)
    parsed = renderer.parse_response(ids, tools=tools)
    assert [(call.name, call.status) for call in parsed.tool_calls] == expected
    assert bool(parsed.content) == (not expected)


def test_an_id_that_is_not_a_token_is_reported_within_a_call_of_llama(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    one, two = (renderer.tokenizer.encode(text, add_special_tokens=False) for text in (LLAMA, f"{LLAMA}; {LLAMA}"))
    for at in (3, len(one) - 3, len(one), len(two)):
        parsed = renderer.parse_response([*two[:at], -1, *two[at:]], tools=TOOLS)
        assert said(parsed) == ("", None, [ROME, ROME])
        assert [(skipped.start, skipped.end) for skipped in parsed.skipped] == [(at, at + 1)]


def test_a_call_of_llama_that_is_cut_off_is_open(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    ids = renderer.tokenizer.encode(LLAMA.replace("Rome", "voilà ")[:-3], add_special_tokens=False)
    parsed = renderer.parse_response(ids, tools=TOOLS)
    assert (parsed.state.region, parsed.tool_calls[0].raw[-6:]) == (Region.CALL, "voilà ")
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], tools=TOOLS, add_generation_prompt=True)
    bridge = renderer.bridge(prompt, ids, [{"role": "user", "content": "Go on."}], tools=TOOLS)
    assert not getattr(bridge, "keeps", False)


def test_a_tool_may_have_any_name(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"))
    tools = [{"name": "\ud800", "parameters": {}}]
    ids = renderer.tokenizer.encode(LLAMA, add_special_tokens=False)
    assert said(renderer.parse_response(ids, tools=tools)) == ("", None, [ROME])


def test_the_real_models_are_there(hub: object) -> None:
    assert {name for name, *_ in REAL} <= {*hub_models()}


def garbage_after_reading(renderer: ChatRenderer) -> int:
    """Return how many objects parsing leaves that only the garbage collector frees."""
    ids = renderer.tokenizer.encode(f"<|channel|>analysis<|message|>A<|end|><|think|>A<|/think|>B{CALL}<|end|>")
    renderer.parse_response(ids, tools=TOOLS)
    gc.collect()
    gc.disable()
    try:
        renderer.parse_response(ids, tools=TOOLS)
        return gc.collect()
    finally:
        gc.enable()


def test_reading_leaves_nothing_for_the_garbage_collector() -> None:
    assert garbage_after_reading(embedded()) == 0


def test_reading_several_messages_leaves_nothing_for_the_garbage_collector(hub: object) -> None:
    assert garbage_after_reading(create_renderer(load_tokenizer("openai/gpt-oss-20b"))) == 0


def test_a_stream_does_not_see_changes_of_the_callers_tools() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), DefaultRendererConfig(tool_parser="qwen_xml"))
    tools = copy.deepcopy(TOOLS)
    completion = "<tool_call><function=get><parameter=days>3</parameter></function></tool_call><|end|>"
    parser = renderer.stream(tools=tools)
    tools[0]["function"]["parameters"]["properties"]["days"]["type"] = "string"  # type: ignore[index]
    assert parser.close(renderer.tokenizer.encode(completion)).tool_calls[0].arguments == {"days": 3}
