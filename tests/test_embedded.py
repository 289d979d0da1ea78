"""The model that comes with the package: small, made by the script beside it, and able to do what later tests need."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from renderers import EMBEDDED, load_tokenizer

SCRIPT = Path(__file__).parent.parent / "scripts" / "make_embedded.py"

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
MESSAGES: list[dict[str, object]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "reasoning_content": "I need the weather.",
        "content": "One moment.",
        "tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"sky": "clear"}'},
    {"role": "assistant", "content": "It is sunny."},
]
TEXT = (
    "<|turn|>system\nBe brief.\n\nYou may call these functions. Write each call as one JSON object with name and "
    'arguments.\n<|tool|>{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}'
    "<|/tool|><|end|>\n"
    "<|turn|>user\nWhat is the weather in Paris?<|end|>\n"
    "<|turn|>assistant\n<|think|>I need the weather.<|/think|>One moment."
    '<|call|>{"name": "get_weather", "arguments": {"city": "Paris"}}<|/call|><|end|>\n'
    '<|turn|>tool\n<|result|>{"sky": "clear"}<|/result|><|end|>\n'
    "<|turn|>assistant\nIt is sunny.<|end|>\n"
)


def render(messages: list[dict[str, object]], **arguments: object) -> str:
    text: str = AutoTokenizer.from_pretrained(EMBEDDED).apply_chat_template(messages, tokenize=False, **arguments)
    return text


def test_its_files_are_small() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 500_000


def test_the_script_generates_the_committed_files(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    made = {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    there = {path.name: json.loads(path.read_text()) for path in EMBEDDED.glob("*.json")}
    assert made == there


def test_its_template_writes_reasoning_tools_calls_and_results() -> None:
    assert render(MESSAGES, tools=TOOLS) == TEXT


def test_its_template_accepts_arguments_as_text_and_no_system_message() -> None:
    call: dict[str, object] = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a":1}'}}]}
    asked: list[dict[str, object]] = [{"role": "user", "content": "Go."}, call]
    assert render(asked).endswith('<|turn|>assistant\n<|call|>{"name": "f", "arguments": {"a":1}}<|/call|><|end|>\n')
    assert render(asked[:1]) == "<|turn|>user\nGo.<|end|>\n"
    assert render(asked[:1], add_generation_prompt=True).endswith("<|turn|>assistant\n")
    prompt = render(asked[:1], add_generation_prompt=True, enable_thinking=False)
    assert prompt.endswith("<|turn|>assistant\n<|think|><|/think|>")


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([{"role": "user", "content": ""}, {"role": "system", "content": ""}], "must be the first"),
        ([{"role": "cat", "content": "Miau."}], "no role cat"),
    ],
)
def test_its_template_rejects_unsupported_messages(messages: list[dict[str, object]], says: str) -> None:
    with pytest.raises(Exception, match=says):
        render(messages)


def test_every_marker_of_its_template_is_one_token() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    template = tokenizer.chat_template or ""
    markers = [token for token in tokenizer.added_tokens if token != "<|pad|>"]
    assert all(token in template for token in markers)
    assert set(tokenizer.encode(TEXT)) >= {tokenizer.added_tokens[token] for token in markers}
