"""`renderers diff` shows the first token that differs between two renderings, and the cause."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL
from renderers.cli import main
from renderers.cli.diff import compare_conversations
from renderers.cli.inputs import Conversation

USER = {"role": "user", "content": "Is it raining?"}
ANSWER = {"role": "assistant", "reasoning_content": "Look.", "content": "It is clear."}
FUNCTION = {"name": "look", "arguments": {"city": "Paris"}}
CALL = {"id": "1", "type": "function", "function": FUNCTION}

Write = Callable[[str, Any], str]
Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, value: Any) -> str:
        (tmp_path / name).write_text(json.dumps(value))
        return str(tmp_path / name)

    return to_file


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_json(*arguments: str) -> tuple[int, dict[str, Any]]:
        status = main(["diff", *arguments, "--format", "json"])
        captured = capsys.readouterr()
        assert captured.err == ""
        return status, json.loads(captured.out)

    return run_json


def copy_example(folder: Path, template: str | None = None) -> str:
    shutil.copytree(EXAMPLE_MODEL, folder)
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    return str(folder)


def test_equal_renderings_have_status_0(write: Write, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    chat = write("a.json", [USER, ANSWER])
    status, found = run("example", chat, chat)
    assert (status, found["equal"], found["cause"], found["ignored"]) == (0, True, None, [])
    assert main(["diff", "example", chat, chat]) == 0
    assert capsys.readouterr().out == "The ids are the same: 30 tokens.\n"


def test_a_changed_field_is_the_cause(write: Write, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write("a.json", [USER, ANSWER]), write("b.json", [USER, {**ANSWER, "content": "It is cloudy."}])
    status, found = run("example", first, second)
    assert status == 3
    assert list(found) == ["equal", "models", "token_counts", "position", "first", "second", "cause", "ignored"]
    assert (found["first"]["text"], found["second"]["text"]) == ("le", "l")
    assert found["first"] | {"token_id": 0, "text": ""} == {
        "token_id": 0,
        "text": "",
        "message": 1,
        "role": "assistant",
        "channel": "content",
        "sampled": True,
    }
    assert found["cause"] == {
        "kind": "message",
        "text": "message 1 (assistant): content differs: 'It is clear.' / 'It is cloudy.'",
        "message": 1,
        "path": ["content"],
        "first": "It is clear.",
        "second": "It is cloudy.",
    }
    assert main(["diff", "example", first, second]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == f"Token {found['position']} differs, of {found['token_counts'][0]} and {found['token_counts'][1]}:"
    )
    assert lines[-1] == f"Cause: {found['cause']['text']}"


def test_a_message_that_is_only_in_one_conversation(write: Write, run: Run) -> None:
    first, second = write("a.json", [USER]), write("b.json", [USER, ANSWER])
    status, found = run("example", first, second)
    assert (status, found["first"], found["second"]["message"]) == (3, None, 1)
    assert found["cause"]["text"] == "message 1 (assistant) is only in the second conversation"
    assert run("example", second, first)[1]["cause"]["text"].endswith("is only in the first conversation")


def test_a_later_message_that_changes_earlier_text(write: Write, run: Run, tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}"
        "{% if m.role == 'assistant' and loop.last %}<|think|>{{ m.reasoning_content }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    model = copy_example(tmp_path / "model", template)
    status, found = run(model, write("a.json", [USER, ANSWER]), write("b.json", [USER, ANSWER, USER]))
    assert (status, found["first"]["text"], found["first"]["message"]) == (3, "<|think|>", 1)
    assert found["cause"]["message"] == 2
    assert found["cause"]["text"] == (
        "message 2 (user) is only in the second conversation, and the template writes other text because of it"
    )


def test_tools_can_be_the_cause(write: Write, run: Run) -> None:
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {}}}]
    with_tools = write("b.json", {"messages": [USER], "tools": tools})
    status, found = run("example", write("a.json", [USER]), with_tools)
    assert (status, found["cause"]["kind"], found["cause"]["path"]) == (3, "tools", [0])
    assert found["cause"]["text"] == "tools.0 is only in the second conversation"


def test_a_change_that_is_not_written_is_listed(
    write: Write, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = copy_example(tmp_path / "model", "{% for m in messages %}{{ m.content }}{% endfor %}")
    first, second = write("a.json", [USER, ANSWER]), write("b.json", [USER, {**ANSWER, "reasoning_content": "See."}])
    status, found = run(model, first, second)
    assert (status, found["equal"], found["cause"]) == (0, True, None)
    assert found["ignored"][0]["path"] == ["reasoning_content"]
    assert main(["diff", model, first, second]) == 0
    expected = "Not written: message 1 (assistant): reasoning_content differs: 'Look.' / 'See.'"
    assert capsys.readouterr().out.splitlines()[-1] == expected


def test_models_with_other_templates(write: Write, run: Run, tmp_path: Path) -> None:
    chat = write("a.json", [USER])
    other = copy_example(tmp_path / "other", "{% for m in messages %}{{ m.content }}{% endfor %}")
    status, found = run("example", chat, "--other-model", other)
    assert (status, found["position"], found["cause"]["kind"]) == (3, 0, "template")
    assert found["models"] == ["example", other]
    assert found["cause"]["text"].startswith(f"the chat templates of example and {other} differ: '<|turn|>user")
    assert run("example", chat, "--other-model", copy_example(tmp_path / "same"))[0] == 0


def test_a_model_with_another_template(write: Write, run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.jinja").write_text("{% for m in messages %}<|turn|>{{ m.content }}{% endfor %}")
    status, found = run("example", write("a.json", [USER]), "--other-chat-template", str(tmp_path / "mine.jinja"))
    assert (status, found["position"], found["models"]) == (3, 1, ["example", "example"])
    assert found["cause"]["text"].startswith("the chat templates differ: '<|turn|>user")


def test_template_arguments_can_be_the_cause(write: Write, run: Run, tmp_path: Path) -> None:
    model = copy_example(tmp_path / "model", "{% for m in messages %}{{ level }}{{ m.content }}{% endfor %}")
    status, found = run(model, write("a.json", [USER]), "--set", "level=1", "--other-set", "level=2")
    assert (status, found["first"]["text"], found["second"]["text"]) == (3, "1", "2")
    assert found["cause"]["text"] == "the template arguments differ: level=1 / level=2"


def test_vocabularies_that_number_tokens_differently(write: Write, run: Run, tmp_path: Path) -> None:
    other = Path(copy_example(tmp_path / "other"))
    vocabulary = json.loads((other / "tokenizer.json").read_text())
    entries = vocabulary["model"]["vocab"]
    entries["H"], entries["J"] = entries["J"], entries["H"]
    (other / "tokenizer.json").write_text(json.dumps(vocabulary))
    status, found = run("example", write("a.json", [{"role": "user", "content": "H"}]), "--other-model", str(other))
    assert (status, found["first"]["text"], found["second"]["text"]) == (3, "H", "H")
    assert found["first"]["token_id"] != found["second"]["token_id"]
    assert found["cause"]["text"] == "the texts are the same, but the tokenizers differ"


@pytest.mark.parametrize(
    ("other", "kind"), [("Qwen/Qwen3-32B", None), ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "template")]
)
def test_real_models(hub: Path, other: str, kind: str | None, write: Write, run: Run) -> None:
    status, found = run("Qwen/Qwen3-8B", write("a.json", [USER, ANSWER]), "--other-model", other)
    assert (status, (found["cause"] or {}).get("kind")) == (3 if kind else 0, kind)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([USER], [{**USER, "role": "system"}], "message 0 (user): role differs: 'user' / 'system'"),
        ([USER], [{**USER, "name": "Ann"}], "message 0 (user): name is only in the second conversation"),
        ([{"content": 1}], [{"content": True}], "message 0: content differs: '1' / 'True'"),
        (
            [{"role": "assistant", "tool_calls": [CALL]}],
            [{"role": "assistant", "tool_calls": [{**CALL, "function": FUNCTION | {"arguments": {"city": "Rome"}}}]}],
            "message 0 (assistant): tool_calls.0.function.arguments.city differs: 'Paris' / 'Rome'",
        ),
        (
            [{"role": "user", "content": "x" * 200 + "a"}],
            [{"role": "user", "content": "x" * 200 + "b"}],
            f"message 0 (user): content differs: '{'x' * 30}a' / '{'x' * 30}b'",
        ),
    ],
)
def test_differences_of_conversations(first: list[Any], second: list[Any], expected: str) -> None:
    (change,) = compare_conversations(Conversation(first), Conversation(second))
    assert change.text == expected


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["example", "a.json"], "there is nothing to compare with"),
        (["example", "-", "-"], "only one of the inputs can be standard input"),
        (["example", "a.json", "--other-set", "x"], "must have the form NAME=VALUE"),
    ],
)
def test_wrong_usage_has_status_2(
    arguments: list[str], fault: str, write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(write("a.json", [USER])).parent)
    assert main(["diff", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert fault in captured.err


def test_a_model_with_a_program_instead_of_a_template(write: Write, run: Run, hub: object) -> None:
    chats = write("a.json", [USER]), write("b.json", [USER, ANSWER])
    status, found = run("openai/gpt-oss-20b", *chats, "--date", "2026-01-31")
    assert (status, found["cause"]["kind"]) == (3, "message")
