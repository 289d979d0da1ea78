"""`renderers render` shows what the methods of a renderer return."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer, load_tokenizer
from renderers.cli import main

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Is it raining? ☔"},
    {"role": "assistant", "reasoning_content": "Look.", "content": "No."},
]


@pytest.fixture
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EXAMPLE_MODEL))


@pytest.fixture
def chat(tmp_path: Path) -> str:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": MESSAGES, "tools": TOOLS}))
    return str(path)


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["render", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_table_is_the_explanation_of_the_tokens(
    renderer: ChatRenderer, chat: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = renderer.render(MESSAGES, tools=TOOLS).explanation(renderer.tokenizer.decode)
    assert output_of(capsys, "example", chat).splitlines() == lines


def test_ids_are_a_json_list(renderer: ChatRenderer, chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = output_of(capsys, "example", chat, "--format", "ids", "--generation-prompt")
    assert json.loads(shown) == renderer.render_ids(MESSAGES, tools=TOOLS, add_generation_prompt=True)


def test_the_text_is_that_of_the_template(
    renderer: ChatRenderer, chat: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output_of(capsys, "example", chat, "--format", "text") == renderer.trace(MESSAGES, tools=TOOLS).text + "\n"


def test_json_has_the_lists_of_the_rendered_tokens(
    renderer: ChatRenderer, chat: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = json.loads(output_of(capsys, "example", chat, "--format", "json"))
    rendered = renderer.render(MESSAGES, tools=TOOLS)
    assert shown.pop("model") == "example"
    assert shown.pop("text") == renderer.trace(MESSAGES, tools=TOOLS).text
    assert shown.pop("losses") == []
    assert list(shown) == [
        "token_ids",
        "message_indices",
        "channels",
        "sampled_mask",
        "is_content",
        "message_roles",
        "message_tool_names",
    ]
    assert shown == {name: getattr(rendered, name) for name in shown}


def test_tokens_have_a_line_each(renderer: ChatRenderer, chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = output_of(capsys, "example", chat, "--format", "tokens").splitlines()
    rendered = renderer.render(MESSAGES, tools=TOOLS)
    assert head.split() == ["token", "id", "message", "channel", "sampled", "content", "text"]
    rows = [line.split(maxsplit=6) for line in lines]
    assert [int(row[1]) for row in rows] == rendered.token_ids
    assert [row[4] == "yes" for row in rows] == rendered.sampled_mask
    assert [row[5] == "yes" for row in rows] == rendered.is_content
    assert [row[3] for row in rows] == rendered.channels


def test_tools_of_a_file_and_settings_reach_the_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in EXAMPLE_MODEL.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "chat_template.jinja").write_text("{{ messages|length }} {{ tools|length }} {{ level|default(0) }}")
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS * 2))
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(MESSAGES[:count]) + "\n" for count in (1, 2)))
    chat, tools = str(tmp_path / "chat.jsonl"), str(tmp_path / "tools.json")
    options = ["--tools", tools, "--set", "level=7", "--line", "2", "--on-loss", "ignore", "--format", "text"]
    assert output_of(capsys, str(tmp_path), chat, *options) == "2 2 7\n"


def test_another_template_is_used(chat: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.jinja").write_text("{{ messages|length }}")
    options = ["--chat-template", str(tmp_path / "mine.jinja"), "--on-loss", "ignore", "--format", "text"]
    assert output_of(capsys, "example", chat, *options) == "2\n"
    assert main(["render", "example", chat, "--chat-template", "no-such-file"]) == 1
    assert "'no-such-file' is neither the source of a chat template nor a readable file" in capsys.readouterr().err


@pytest.mark.filterwarnings("always::renderers.errors.LossWarning")
def test_input_that_the_template_does_not_write_is_an_error_or_a_warning(
    chat: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.jinja").write_text("{{ messages[0].content }}")
    command = ["render", "example", chat, "--chat-template", str(tmp_path / "mine.jinja"), "--format", "json"]
    assert main(command) == 1
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("renderers: message 1")
    assert "To leave it out, pass --on-loss ignore." in errors
    assert main([*command, "--on-loss", "warn"]) == 0
    output, errors = capsys.readouterr()
    assert any("message 1" in loss for loss in json.loads(output)["losses"])
    assert errors.startswith("renderers: warning: message 1")
    assert main([*command, "--on-loss", "ignore"]) == 0
    assert not capsys.readouterr().err


def test_standard_input_is_the_default(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["example"], ["example", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(MESSAGES).encode())))
        assert "'Look.'" in output_of(capsys, *arguments)


def test_images_are_placeholders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in EXAMPLE_MODEL.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    template = "{% for m in messages %}{% for p in m.content %}[{{ p.type }}]{% endfor %}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(template)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": [image]}]))
    for form in ("text", "table"):
        assert "image" in output_of(capsys, str(tmp_path), str(tmp_path / "chat.json"), "--format", form)


@pytest.mark.parametrize(
    ("messages", "arguments", "status", "fault"),
    [
        ([], [], 1, "no messages|empty"),
        ([{"role": "user", "content": True}], [], 1, "message 0: content"),
        (["Hi"], [], 1, "message 0"),
        ([{"role": "user", "content": "\ud800"}], [], 1, "lone surrogate U\\+D800"),
        (MESSAGES, ["--set", "no_such_variable=1"], 1, "no_such_variable"),
        (MESSAGES, ["--set", "x"], 2, "must have the form NAME=VALUE"),
        (MESSAGES, ["--line", "9"], 1, "has no line 9"),
        (MESSAGES, ["--tools", "/no/such/file"], 1, "/no/such/file cannot be read"),
    ],
)
def test_errors_are_one_line_with_an_exit_status(
    messages: list[Any],
    arguments: list[str],
    status: int,
    fault: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(messages))
    assert main(["render", "example", str(tmp_path / "chat.json"), *arguments]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert re.search(fault, captured.err), captured.err


def test_two_inputs_cannot_be_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "example", "-", "--tools", "-"]) == 2
    assert capsys.readouterr().err == "renderers: only one of the inputs can be standard input.\n"


CLOCK = "{% for m in messages %}{{ m.content }}{% endfor %} {{ strftime_now('%d %B %Y') }}"
CONSTANT = "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}"
CONSTANT += "{{ messages[0].content + ' ' + date_string }}"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("template", "remedy", "arguments", "date"),
    [
        (CLOCK, "Pass --date 2026-01-31.", ["--date", "2026-01-31"], "31 January 2026"),
        (CONSTANT, "Pass --set 'date_string=31 Jan 2026'.", ["--set", "date_string=31 Jan 2026"], "31 Jan 2026"),
    ],
)
def test_a_warning_about_the_default_date_names_an_option_that_sets_it(
    template: str, remedy: str, arguments: list[str], date: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, chat = tmp_path / "template.jinja", tmp_path / "chat.json"
    source.write_text(template)
    chat.write_text(json.dumps([{"role": "user", "content": "Hi"}]))
    command = ["render", "example", str(chat), "--chat-template", str(source), "--format", "text"]
    assert main(command) == 0
    assert capsys.readouterr().err.strip().endswith(remedy)
    assert output_of(capsys, *command[1:], *arguments) == f"Hi {date}\n"


def test_a_date_as_a_template_argument_is_an_error_that_names_the_option(
    chat: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "example", chat, "--set", "date=2026-01-31"]) == 1
    assert capsys.readouterr().err == "renderers: the chat template reads no variable 'date'. Pass --date.\n"


def test_a_date_that_is_none_is_an_error_in_one_line(chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "example", chat, "--date", "soon"]) == 1
    assert capsys.readouterr().err == "renderers: date 'soon' is not ISO text such as '2026-01-31'\n"
