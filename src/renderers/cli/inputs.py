"""Read the inputs of commands: models, conversations, tools, ids and template arguments."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from renderers import EXAMPLE_MODEL, ChatRenderer, LoadedTokenizer, create_renderer, load_tokenizer
from renderers.cli.usage import UsageError
from renderers.core.losses import LossAction
from renderers.core.text import describe_type

EXAMPLE = "example"
"""The name of the bundled model on the command line."""

STDIN = "-"
SECOND_STDIN = "only one of the inputs can be standard input."
_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_INPUTS = {
    "messages": "they are in FILE",
    "tools": "use --tools",
    "add_generation_prompt": "use --generation-prompt",
    "continue_final_message": "it is not an argument of the template",
    "on_loss": "use --on-loss",
    "chat_template": "use --chat-template",
    "process_multimodal": "media are always rendered as placeholders",
}


class Conversation(NamedTuple):
    """The messages of a file, and its tools if it has any."""

    messages: list[Any]
    tools: list[Any] | None = None


def load_model(model: str, revision: str | None = None) -> LoadedTokenizer:
    """Load the tokenizer of a model. `example` is the bundled model."""
    return load_tokenizer(EXAMPLE_MODEL if model == EXAMPLE else model, revision=revision)


def load_renderer(
    model: str,
    *,
    revision: str | None,
    chat_template: str | None,
    on_loss: LossAction | None = None,
    date: str | None = None,
) -> ChatRenderer:
    """Create the renderer of a model."""
    return create_renderer(load_model(model, revision), chat_template=chat_template, on_loss=on_loss, date=date)


def read_input(place: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if place == STDIN else Path(place).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise OSError(f"{_shown(place)} cannot be read ({error.strerror or error}).") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{_shown(place)} is not UTF-8 text (byte {error.start}).") from error


def read_conversation(place: str, *, line: int | None = None, tools: str | None = None) -> Conversation:
    """Return the conversation of a JSON file, or of one line of a JSON-lines file, counted from 1.

    The tools of the file `tools` take the place of those in the file of the conversation.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not JSON, or has another shape.
    """
    text = read_input(place)
    if line is None:
        value, where = _parse_document(text, place), _shown(place)
    else:
        rows = [row for row in text.splitlines() if row.strip()]
        if not 1 <= line <= len(rows):
            raise ValueError(f"{_shown(place)} has no line {line}. It has {len(rows)}.")
        where = f"{_shown(place)}, line {line},"
        value = _parse_json(rows[line - 1], where)
    own_tools = None
    if isinstance(value, dict):
        if "messages" not in value:
            raise ValueError(f"{where} is an object without messages. Its keys are {', '.join(value) or 'none'}.")
        value, own_tools = value["messages"], value.get("tools")
    if not isinstance(own_tools, list | None):
        raise ValueError(f"{where} must have a list of tools, not {describe_type(own_tools)}.")
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list of messages or an object with messages, not {describe_type(value)}.")
    return Conversation(value, own_tools if tools is None else read_tools(tools))


def read_tools(place: str | None) -> list[Any] | None:
    """Return the tools of a JSON file; None without a file.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not a JSON list.
    """
    if place is None:
        return None
    tools = _parse_json(read_input(place), _shown(place))
    if not isinstance(tools, list):
        raise ValueError(f"{_shown(place)} must be a list of tools, not {describe_type(tools)}.")
    return tools


def read_ids(source: str) -> list[int]:
    """Return ids from a text, a file, or standard input for `-`: a JSON list, or numbers between spaces.

    Raises:
        OSError: The file cannot be read.
        ValueError: The text, or that of the file, is not a list of ids.

    >>> read_ids("[1, 2]"), read_ids("1 2")
    ([1, 2], [1, 2])
    """
    is_literal = source != STDIN and not os.path.isfile(source)
    text, where = (source, repr(source)) if is_literal else (read_input(source), _shown(source))
    if re.fullmatch(r"[\s\d-]*", text):
        text = f"[{','.join(text.split())}]"
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or any(type(token) is not int for token in ids):
        hint = ", nor a file" if is_literal else ""
        raise ValueError(f"{where} is neither a JSON list of ids nor numbers between spaces{hint}.")
    return ids


def read_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Return template arguments from texts such as `enable_thinking=false`. A value that is not JSON is a text.

    Raises:
        UsageError: A text has no name or no value, or names an input that is not an argument of the template.

    >>> read_settings(["enable_thinking=False", "top=1", "effort=high"])
    {'enable_thinking': False, 'top': 1, 'effort': 'high'}
    """
    arguments: dict[str, Any] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not name.isidentifier() or not separator:
            raise UsageError(f"--set {setting!r} must have the form NAME=VALUE.")
        if name in _INPUTS:
            raise UsageError(f"--set cannot set {name}: {_INPUTS[name]}.")
        try:
            arguments[name] = _PYTHON_WORDS[value] if value in _PYTHON_WORDS else json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments


def _parse_document(text: str, place: str) -> Any:
    """Parse a JSON file. A JSON-lines file is an error that names the option, unless it has only one line."""
    try:
        return _parse_json(text, _shown(place))
    except ValueError as error:
        rows = [row for row in text.splitlines() if row.strip()]
        if len(rows) < 2 or not all(_is_json(row) for row in rows[:2]):
            raise
        raise ValueError(
            f"{_shown(place)} has {len(rows)} lines of JSON. Choose a conversation with --line 1 to {len(rows)}."
        ) from error


def _parse_json(text: str, where: str) -> Any:
    if not text.strip():
        raise ValueError(f"{where} is empty.")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where} is not JSON ({error}).") from error
    except RecursionError as error:
        raise ValueError(f"{where} is too deeply nested.") from error


def _is_json(text: str) -> bool:
    try:
        _parse_json(text, "")
    except ValueError:
        return False
    return True


def _shown(place: str) -> str:
    return "standard input" if place == STDIN else place
