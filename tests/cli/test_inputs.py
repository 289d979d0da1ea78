"""Conversations, tools, ids and template arguments are read from files, standard input and arguments."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL
from renderers.cli.inputs import (
    Conversation,
    load_model,
    read_conversation,
    read_ids,
    read_input,
    read_settings,
    read_tools,
)
from renderers.cli.usage import UsageError

MESSAGES = [{"role": "user", "content": "Hi"}]
TOOLS = [{"name": "look"}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.json"


def give_stdin(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_the_word_example_is_the_bundled_model() -> None:
    assert load_model("example").name_or_path == str(EXAMPLE_MODEL)
    assert load_model(str(EXAMPLE_MODEL)) is load_model("example")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (MESSAGES, Conversation(MESSAGES)),
        ({"messages": MESSAGES}, Conversation(MESSAGES)),
        ({"messages": MESSAGES, "tools": TOOLS, "model": "x"}, Conversation(MESSAGES, TOOLS)),
        ({"messages": MESSAGES, "tools": None}, Conversation(MESSAGES)),
    ],
)
def test_a_conversation_is_a_list_or_an_object(file: Path, value: Any, expected: Conversation) -> None:
    file.write_text(json.dumps(value))
    assert read_conversation(str(file)) == expected


def test_a_line_of_a_file_is_a_conversation(file: Path) -> None:
    rows = [MESSAGES, {"messages": MESSAGES, "tools": TOOLS}]
    file.write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    assert read_conversation(str(file), line=1) == Conversation(MESSAGES)
    assert read_conversation(str(file), line=2) == Conversation(MESSAGES, TOOLS)
    for line in (0, 3, -1):
        with pytest.raises(ValueError, match=f"has no line {line}. It has 2"):
            read_conversation(str(file), line=line)
    with pytest.raises(ValueError, match=r"has 2 lines of JSON. Choose a conversation with --line 1 to 2"):
        read_conversation(str(file))


def test_a_file_of_tools_takes_the_place_of_the_tools_of_the_conversation(file: Path, tmp_path: Path) -> None:
    file.write_text(json.dumps({"messages": MESSAGES, "tools": TOOLS}))
    (tmp_path / "tools.json").write_text("[]")
    assert read_conversation(str(file), tools=str(tmp_path / "tools.json")) == Conversation(MESSAGES, [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        ("[]]", "is not JSON"),
        ("{'a': 1}", r"is not JSON \(Expecting property name"),
        ('[{"role":\n', "is not JSON"),
        ("3", "must be a list of messages or an object with messages, not an int"),
        ('"hi"', "not a str"),
        ('{"prompt": "x"}', "is an object without messages. Its keys are prompt"),
        ('{"messages": {}}', "must be a list of messages"),
        ('{"messages": [], "tools": {}}', "must have a list of tools, not a dict"),
        ("[" * 100_000, "is too deeply nested|is not JSON"),
    ],
)
def test_a_file_of_another_shape_is_an_error_that_names_it(file: Path, text: str, fault: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=fault) as caught:
        read_conversation(str(file))
    assert str(caught.value).startswith(str(file))


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin("\ufeff" + json.dumps(MESSAGES), monkeypatch)
    assert read_conversation("-") == Conversation(MESSAGES)
    give_stdin("no", monkeypatch)
    with pytest.raises(ValueError, match="standard input is not JSON"):
        read_conversation("-")


def test_a_file_that_cannot_be_read_is_named(file: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"chat\.json cannot be read \(No such file"):
        read_input(str(file))
    with pytest.raises(OSError, match=r"cannot be read \(Is a directory"):
        read_input(str(tmp_path))
    file.write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match=r"chat\.json is not UTF-8 text \(byte 2\)"):
        read_input(str(file))


def test_tools_are_a_list(file: Path) -> None:
    assert read_tools(None) is None
    file.write_text(json.dumps(TOOLS))
    assert read_tools(str(file)) == TOOLS
    file.write_text("{}")
    with pytest.raises(ValueError, match="must be a list of tools, not a dict"):
        read_tools(str(file))


@pytest.mark.parametrize("text", ["[1, 22, 3]", "1 22 3", "1\n22\n3\n", "[1,22,3]\n"])
def test_ids_are_read_from_text_files_and_standard_input(
    text: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(text)
    give_stdin(text, monkeypatch)
    assert read_ids(text) == read_ids(str(file)) == read_ids("-") == [1, 22, 3]


def test_many_ids_are_not_taken_for_a_file() -> None:
    ids = list(range(5000))
    assert read_ids(str(ids)) == ids


@pytest.mark.parametrize(
    "text", ["1 2 x", '[1, "a"]', "[1.5]", "[true]", "{}", "chat.json", "[1", "1,2", "[[1]]", "1-"]
)
def test_other_texts_are_no_ids(text: str) -> None:
    with pytest.raises(ValueError, match="is neither a JSON list of ids nor numbers between spaces, nor a file"):
        read_ids(text)


def test_settings_are_json_python_words_or_texts() -> None:
    settings = ["a=false", "b=True", "c=None", "d=1", 'e="1"', "f=high", "g=x=y", "h=", 'i=["x"]']
    expected = {"a": False, "b": True, "c": None, "d": 1, "e": "1", "f": "high", "g": "x=y", "h": "", "i": ["x"]}
    assert read_settings(settings) == expected


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("enable_thinking", "must have the form NAME=VALUE"),
        ("=1", "must have the form NAME=VALUE"),
        ("a b=1", "must have the form NAME=VALUE"),
        ("tools=[]", "cannot set tools: use --tools"),
        ("add_generation_prompt=true", "use --generation-prompt"),
    ],
)
def test_settings_of_another_form_are_wrong_usage(setting: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_settings([setting])
