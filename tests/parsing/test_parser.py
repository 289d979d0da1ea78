"""A parser parses completions in chunks, after a prompt, and assembles the message."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from array import array
from typing import Any

import numpy as np
import pytest

from renderers import (
    EMBEDDED,
    ChatRenderer,
    DefaultRendererConfig,
    ParsedResponse,
    Region,
    create_renderer,
    load_tokenizer,
)
from renderers.core.completions import ToolCallEnd
from renderers.parsing import parser
from renderers.parsing.compiled import compile_grammar
from renderers.parsing.markers import split_at_marker_tokens
from renderers.parsing.parser import ResponseParser, find_prefill
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.completions import Vocabulary, completions, grammar_of, reader_of_bytes
from tests.support.models import hub_models
from tests.support.responses import CALL, HARMONY, ROME, TOOLS, embedded, read, said


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
        # Only the beginning of the turn, as a caller passes that continues it.
        ("<|think|>Well, ", ("B", "A", [])),
        ("<|think|>Well.<|/think|>", ("A<|/think|>B", None, [])),
        ("Well, <|think|>", ("A<|/think|>B", None, [])),
    ],
)
def test_the_prompt_determines_the_first_field(prompt: str, expected: Any) -> None:
    assert said(read("A<|/think|>B", prompt=prompt)) == expected


def test_text_of_the_prompt_is_not_in_the_response() -> None:
    head = "<|turn|>user\nHi<|end|>\n<|turn|>assistant\n"
    assert said(read(" world", prompt=head + "Hello")) == (" world", None, [])
    # Held back until it is known what it is, and still the prompt's.
    assert said(read(f"B{CALL}<|/think|>C", prompt=f"{head}<|think|>A{CALL}")) == ("C", f"B{CALL}", [])
    assert said(read("B<|/think|>C", prompt=head + "<|think|>A <|call|>{")) == ("C", "B", [])


def test_a_header_is_found_whatever_follows_it() -> None:
    prompt = "<|turn|>assistant\n<|think|>I saw <|result|> and " + "much more " * 100
    assert said(read("so.<|/think|>B", prompt=prompt)) == ("B", "so.", [])


@pytest.mark.parametrize("odd", [[], np.array([[1, 2]]), [2**70, -1]])
def test_any_prompt_of_ints_is_accepted(odd: Any) -> None:
    assert embedded().parse_response(embedded().tokenizer.encode("Hi"), prompt_ids=odd).content == "Hi"


def test_closing_emits_text_that_was_kept_back() -> None:
    renderer = embedded()
    parser = renderer.stream()
    events = parser.feed(renderer.tokenizer.encode(f"<|think|>A{CALL}"))
    assert not any(isinstance(event, ToolCallEnd) for event in events)
    assert parser.last_events == []
    (call,) = parser.close().tool_calls
    assert [event.call for event in parser.last_events if isinstance(event, ToolCallEnd)] == [call]


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
    (
        "zai-org/GLM-4.5-Air",
        None,
        f"\n<think>A</think>\nB\n{GLM} C<|user|>",
        ("B\n C", "A", [("get", {"city": " Rome"})]),
    ),
    ("zai-org/GLM-5", None, "A</think>B<|user|>", ("B", "A", [])),
    ("zai-org/GLM-5", "<|assistant|></think>", "A</think>B", ("A</think>B", None, [])),
    ("deepseek-ai/DeepSeek-V3", "<｜Assistant｜><think>\n", f"A\n</think>\n\nB{DEEPSEEK}", ("B", "A", [ROME])),
    # A call ends the reasoning, unless </think> follows.
    ("deepseek-ai/DeepSeek-V3", "<｜Assistant｜><think>\n", f"A{DEEPSEEK}", ("", "A", [ROME])),
    ("deepseek-ai/DeepSeek-V3", "<｜Assistant｜><think>\n", f"A{DEEPSEEK}</think>B", ("B", f"A{DEEPSEEK}", [])),
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


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_it_does_not_matter_when_the_end_of_the_prompt_is_scanned(key: str) -> None:
    for marks in (True, False):
        reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=marks)
        for prompt in completions(key):
            prefill = reader.compiled.marker_text.pieces(reader.encode(prompt))
            for text in ("", *completions(key)[5:8]):
                ids = reader.encode(text)
                later, now = (ResponseParser(reader.compiled, reader.tools, prefill=prefill) for _ in range(2))
                assert now.state.region in Region
                assert repr(now.close(ids)) == repr(later.close(ids)), (prompt, text)
                assert repr(now.last_events) == repr(later.last_events)


@pytest.mark.parametrize("key", TOOL_FORMATS)
def test_a_prompt_with_a_stop_token_after_the_header_leaves_nothing_open(key: str) -> None:
    reader = reader_of_bytes(grammar_of(key), tools=TOOLS, marks=True)
    for prompt in completions(key):
        prefill = reader.compiled.marker_text.pieces(reader.encode(f"{prompt}<|stop|>more"))
        for text in completions(key)[5:8]:
            after, anew = (ResponseParser(reader.compiled, reader.tools, prefill=p) for p in (prefill, NO_PIECES))
            assert repr(after.close(reader.encode(text))) == repr(anew.close(reader.encode(text))), (prompt, text)


def test_a_special_token_without_text_is_not_a_header() -> None:
    vocabulary = Vocabulary(["", "a"], {"<|turn|>": 0})
    compiled = compile_grammar(grammar_of("hermes"), vocabulary, stops=())
    assert find_prefill(compiled, [0, 1]) == NO_PIECES
    anchors = Vocabulary(["", "a"], {"<|other|>": 0})
    assert find_prefill(compile_grammar(grammar_of("hermes"), anchors, stops=()), [0, 1]) == NO_PIECES


def _state_after(renderer: ChatRenderer, prompt: list[int], completion: list[int]) -> Any:
    """Parse a completion after a prompt, of which all ids are searched for the header at once."""
    compiled = renderer._compiled_grammar
    _, found, prefill = compiled.marker_text.byte_text(prompt).rpartition(compiled.header)
    pieces = Pieces.of(split_at_marker_tokens(prefill)) if found else NO_PIECES
    return ResponseParser(compiled, None, prefill=pieces).close(completion)


@pytest.mark.parametrize("distance", [0, 1, 12, 13, 14, 15, 16, 17, 126, 127, 128, 129, 2000])
@pytest.mark.parametrize("after_header", ["", "<|think|>", "Yes.<|end|>", "<|call|>", "<|think|>Hm.<|/think|>"])
def test_a_header_is_found_at_any_distance_from_the_end_of_a_prompt(distance: int, after_header: str) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    encode = renderer.tokenizer.encode
    lead = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    filler = encode(" a", add_special_tokens=False)[-1:] * distance
    prompt = [*lead, *encode(after_header, add_special_tokens=False), *filler]
    completion = encode("So.<|/think|>Well.<|end|>", add_special_tokens=False)
    expected = _state_after(renderer, prompt, completion)
    assert renderer.parse_response(completion, prompt_ids=prompt) == expected


HEAD = "<|turn|>user\nHi<|end|>\n"


@pytest.mark.parametrize(
    ("prompt", "is_looked_up"),
    [
        (f"{HEAD}<|turn|>assistant\n", True),
        (f"{HEAD}<|turn|>assistant\n<|think|>", True),
        (f"{HEAD}<|turn|>assistant\nSo: turn|>assistant\n", True),
        (f"{HEAD}<|turn|>assistant\nYes.<|end|>\n", True),
        (f"<|turn|>assistant\nYes.<|end|>\n{HEAD}<|turn|>assistant\n<|think|>Hm", True),
        ("<|turn|>assistant\n<|turn|>assistant\n", True),
        (f"<|turn|>assistant\nYes.<|end|>\n{HEAD}", False),
        ("<|turn|>assistant\n<|think|>A<|turn|>", False),
        ("<|turn|>assist", False),
        ("<|think|>Hm", False),
        ("Hi", False),
    ],
)
def test_a_turn_that_is_looked_up_by_its_ids_is_the_one_that_the_search_finds(
    prompt: str, is_looked_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    compiled = renderer._compiled_grammar
    ids = renderer.tokenizer.encode(prompt, add_special_tokens=False)
    given = list(ids)
    found = [find_prefill(compiled, form) for form in (ids, ids, array("I", ids), tuple(ids))]
    assert ids == given
    assert (parser._known_prefill(compiled, ids) is not None) == is_looked_up
    monkeypatch.setattr(parser, "_known_prefill", lambda *_: None)
    assert found == [find_prefill(compiled, ids)] * 4


ALONE: dict[str, dict[str, Any]] = {
    "Qwen/Qwen3.5-9B": {},
    "moonshotai/Kimi-K2.5": {},
    "zai-org/GLM-5": {},
    "deepseek-ai/DeepSeek-V4-Flash-0731": {"enable_thinking": True},
}
"""Models with a generation prompt that opens reasoning, and their switches."""


@pytest.mark.parametrize("name", ALONE)
def test_a_completion_on_its_own_is_parsed_as_in_release_0_1(name: str, hub: object) -> None:
    """GLM and DeepSeek V4 begin with the reasoning that the default prompt opens."""
    renderer = create_renderer(load_tokenizer(name), chat_template_kwargs=ALONE[name])
    ids = renderer.tokenizer.encode("Hm.</think>Yes", add_special_tokens=False)
    alone = renderer.parse_response(ids)
    begins_with_reasoning = "GLM" in name or "DeepSeek" in name
    assert (alone.reasoning_content, alone.content) == (
        ("Hm.", "Yes") if begins_with_reasoning else (None, "Hm.</think>Yes")
    )
    with_switches = renderer.parse_response(ids, **(ALONE[name] or {"enable_thinking": True}))
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    for parsed in (with_switches, renderer.parse_response(ids, prompt_ids=prompt)):
        assert (parsed.reasoning_content, parsed.content) == ("Hm.", "Yes")
