"""`renderers parse` shows a parsed completion as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer, load_tokenizer
from renderers.cli import main

CALL = '<|call|>{"name": "look", "arguments": {"city": "Paris"}}<|/call|>'
COMPLETION = f"<|think|>A☀️.<|/think|>B{CALL}<|end|>"


@pytest.fixture
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EXAMPLE_MODEL))


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, model: str = "example") -> dict[str, Any]:
    assert main(["parse", model, *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    fields: dict[str, Any] = json.loads(captured.out)
    return fields


def test_the_fields_are_those_of_the_parsed_response(
    renderer: ChatRenderer, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = renderer.tokenizer.encode(COMPLETION)
    parsed, shown = renderer.parse_response(ids), output_of(capsys, str(ids))
    assert list(shown) == [
        "content",
        "reasoning_content",
        "reasoning_complete",
        "tool_calls",
        "stop_token_id",
        "ends_in",
        "skipped",
        "recoveries",
        "parts",
    ]
    assert (shown["content"], shown["reasoning_content"], shown["reasoning_complete"]) == ("B", "A☀️.", True)
    (call,) = parsed.tool_calls
    expected = {"name": "look", "arguments": {"city": "Paris"}, "id": None, "status": "ok", "raw": call.raw}
    assert shown["tool_calls"] == [{**expected, "token_span": list(call.token_span or ())}]
    assert (shown["stop_token_id"], shown["ends_in"], shown["skipped"]) == (ids[-1], "content", [])
    assert [tuple(part.values()) for part in shown["parts"]] == [tuple(part) for part in parsed.parts]


def test_ids_come_from_arguments_files_and_standard_input(
    renderer: ChatRenderer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = renderer.tokenizer.encode(COMPLETION)
    (tmp_path / "ids.txt").write_text(" ".join(map(str, ids)))
    outputs = [output_of(capsys, str(ids)), output_of(capsys, str(tmp_path / "ids.txt"))]
    for arguments in ([], ["-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(str(ids).encode())))
        outputs.append(output_of(capsys, *arguments))
    assert all(output == outputs[0] for output in outputs)


def test_a_text_is_encoded_without_a_bos(
    renderer: ChatRenderer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = output_of(capsys, str(renderer.tokenizer.encode(COMPLETION, add_special_tokens=False)))
    assert output_of(capsys, "--text", COMPLETION) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(COMPLETION.encode())))
    assert output_of(capsys, "--text", "-") == expected


def test_tools_decide_about_the_types_of_arguments(
    hub: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = "<tool_call>\n<function=look>\n<parameter=day>\n7\n</parameter>\n</function>\n</tool_call>"
    model = "Qwen/Qwen3-Coder-30B-A3B-Instruct"
    for kind, value in (("integer", 7), ("string", "7")):
        tool = {"name": "look", "parameters": {"type": "object", "properties": {"day": {"type": kind}}}}
        (tmp_path / "tools.json").write_text(json.dumps([tool]))
        shown = output_of(capsys, "--text", call, "--tools", str(tmp_path / "tools.json"), model=model)
        assert shown["tool_calls"][0]["arguments"] == {"day": value}


def test_settings_decide_how_a_completion_without_a_prompt_starts(
    hub: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--text", "Look.</think>It is clear."]
    thinking = output_of(capsys, *arguments, model="zai-org/GLM-4.7-Flash")
    silent = output_of(capsys, *arguments, "--set", "enable_thinking=false", model="zai-org/GLM-4.7-Flash")
    assert (thinking["reasoning_content"], silent["reasoning_content"]) == ("Look.", None)


def test_the_ids_of_the_prompt_may_have_opened_the_reasoning(
    renderer: ChatRenderer, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    opened = [*prompt, *renderer.tokenizer.encode("<|think|>")]
    assert output_of(capsys, "--text", "A.<|/think|>B", "--prompt-ids", str(opened))["reasoning_content"] == "A."
    assert output_of(capsys, "--text", "A.", "--prompt-ids", str(prompt))["reasoning_content"] is None


@pytest.mark.parametrize(
    ("arguments", "status", "fault"),
    [
        (["example", "1 x"], 1, "'1 x' is neither a JSON list of ids"),
        (["example", "1", "--text", "x"], 2, "IDS and --text cannot be combined"),
        (["example", "--prompt-ids", "-"], 2, "only one of the inputs can be standard input"),
        (["example", "1", "--set", "no_such_switch"], 2, "must have the form NAME=VALUE"),
        (["/no/such/model", "1"], 1, "'/no/such/model' is neither a file nor a directory"),
        (["example", "1", "--tools", "/no/such/file"], 1, "/no/such/file cannot be read"),
    ],
)
def test_errors_are_one_line_with_an_exit_status(
    arguments: list[str], status: int, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", *arguments]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"renderers: {fault}") or fault in captured.err
    assert captured.err.count("\n") == 1
