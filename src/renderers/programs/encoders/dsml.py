"""DSML, the markup of DeepSeek for tools and their calls: the texts that its encoders write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.spans import Path
from renderers.programs.pieces import Piece, called_function

BOS = "<｜begin▁of▁sentence｜>"
EOS = "<｜end▁of▁sentence｜>"
USER = "<｜User｜>"
ASSISTANT = "<｜Assistant｜>"
THINK, THINK_END = "<think>", "</think>"
DSML = "｜DSML｜"
_SCHEMAS = "{schemas}"


class Dialect(NamedTuple):
    """The names of the elements and the text that presents tools, with `{schemas}` in the place of their schemas."""

    section: str
    presentation: str
    space: str = ""
    """The text before the names of elements."""

    @property
    def markers(self) -> tuple[str, ...]:
        """The markers of the elements."""
        tags = (self.section, f"{self.space}invoke", f"{self.space}parameter")
        openings = (f"<{DSML}{tags[0]}>", *(f'<{DSML}{tag} name="' for tag in tags[1:]))
        return (*openings, *(f"</{DSML}{tag}>" for tag in tags))


def is_thinking(arguments: Mapping[str, Any]) -> bool:
    """Return True if the arguments of a render turn reasoning on. `thinking` takes precedence."""
    thinking = arguments.get("thinking")
    return bool(arguments.get("enable_thinking") if thinking is None else thinking)


def write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def tool_pieces(tools: Sequence[JsonObject], dialect: Dialect, owner: int) -> Iterator[Piece]:
    """Yield the text that presents tools. It belongs to a message, and the schemas to the tools."""
    before, _, after = dialect.presentation.partition(_SCHEMAS)
    yield Piece(before, owner)
    for number, tool in enumerate(tools):
        yield Piece("\n" if number else "", owner)
        yield Piece(write_json(tool.get("function", tool)), -1, ("tools", number))
    yield Piece(after, owner)


def format_pieces(message: JsonObject, owner: int) -> Iterator[Piece]:
    """Yield the schema that answers must have, if a message has one."""
    response_format = message.get("response_format")
    if response_format:
        yield Piece(
            "\n\n## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n",
            owner,
        )
        yield Piece(write_json(response_format), owner, ("response_format",))


def call_pieces(message: JsonObject, owner: int, dialect: Dialect) -> Iterator[Piece]:
    """Yield the tool calls of a message, if it has any."""
    calls = message.get("tool_calls") or ()
    if not calls:
        return
    tag = f"{DSML}{dialect.space}"
    yield Piece(f"\n\n<{DSML}{dialect.section}>\n", owner)
    for number, call in enumerate(calls):
        function, path = called_function(call, number)
        yield Piece("\n" if number else "", owner)
        yield Piece(f'<{tag}invoke name="', owner)
        yield Piece(str(function.get("name")), owner, (*path, "name"))
        yield Piece('">\n', owner)
        yield from _argument_pieces(function.get("arguments"), owner, (*path, "arguments"), tag)
        yield Piece(f"\n</{tag}invoke>", owner)
    yield Piece(f"\n</{DSML}{dialect.section}>", owner)


def _argument_pieces(arguments: Any, owner: int, path: Path, tag: str) -> Iterator[Piece]:
    values = read_arguments(arguments)
    is_object = isinstance(arguments, Mapping)
    if not values:
        # An object without members is written as nothing.
        yield Piece("", owner, path)
    for number, (key, value) in enumerate(values.items()):
        is_text = isinstance(value, str)
        yield Piece("\n" if number else "", owner)
        yield Piece(f'<{tag}parameter name="', owner)
        yield Piece(str(key), owner, path)
        yield Piece(f'" string="{"true" if is_text else "false"}">', owner)
        yield Piece(value if is_text else write_json(value), owner, (*path, key) if is_object else path)
        yield Piece(f"</{tag}parameter>", owner)


def read_arguments(arguments: Any) -> Mapping[str, Any]:
    """Return the arguments of a call as an object. JSON text is parsed; JSON that was encoded twice is decoded twice.

    Anything else becomes the argument `arguments`.

    >>> read_arguments('{"x": 1}'), read_arguments("x"), read_arguments(None)
    ({'x': 1}, {'arguments': 'x'}, {})
    """
    value = {} if arguments is None else arguments
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                break
    return value if isinstance(value, Mapping) else {"arguments": arguments}
