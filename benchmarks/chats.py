"""Conversations to render, made from the source of Python's standard library, which is there on every machine.

The same Python and the same seed give the same conversations, and every other seed gives others. All have a
system message, tools, a user's task, reasoning, tool calls with arguments of several types, and tool results.
"""

from __future__ import annotations

import functools
import inspect
import random
import re
import sysconfig
from pathlib import Path
from typing import Any

__all__ = ["Chat", "agentic_chat", "completion_chat", "short_chat"]

Data = dict[str, Any]
Chat = Data
"""`messages` and `tools`, as JSON data."""

DOCSTRING = re.compile(r'^ *r?"""(.*?)"""', re.DOTALL | re.MULTILINE)


def agentic_chat(seed: str, *, turns: int = 50) -> Chat:
    """Returns a long conversation: in every turn but the last the assistant thinks, calls a tool and gets a result."""
    chance = random.Random(seed)
    messages = [_system(chance, 2_000), _user(chance, 2_000)]
    for number in range(turns - 1):
        messages += _tool_turn(chance, number, thought=1_500, said=300, code=1_500, result=6_000)
    return {"messages": [*messages, _answer(chance, thought=1_500, said=1_500)], "tools": TOOLS}


def short_chat(seed: str) -> Chat:
    """Returns a short conversation with one tool call and an answer."""
    chance = random.Random(seed)
    turn = _tool_turn(chance, 0, thought=400, said=100, code=200, result=700)
    messages = [_system(chance, 300), _user(chance, 300), *turn, _answer(chance, thought=300, said=500)]
    return {"messages": messages, "tools": chance.sample(TOOLS, 2)}


def completion_chat(seed: str) -> Chat:
    """Returns a short conversation that ends in a long message of the assistant's.

    It has up to two tool calls; most have reasoning, and what is without a call says more.
    """
    chance = random.Random(seed)
    calls = chance.choice((0, 1, 1, 2))
    size = chance.uniform(2_000, 18_000)
    thought, said, code = (round(size * share) for share in (0.6, 0.3 if calls else 0.5, 0.2))
    message = _answer(chance, thought=thought, said=said)
    if chance.random() < 0.2:
        del message["reasoning_content"]
    if calls:
        message["tool_calls"] = [_call(chance, number, code=code) for number in range(calls)]
    return {"messages": [_system(chance, 300), _user(chance, 300), message], "tools": TOOLS}


def _system(chance: random.Random, size: int) -> Data:
    return {"role": "system", "content": _cut(_prose(), chance, size)}


def _user(chance: random.Random, size: int) -> Data:
    return {"role": "user", "content": _cut(_prose(), chance, size)}


def _tool_turn(
    chance: random.Random, number: int, *, thought: int, said: int, code: int, result: int
) -> tuple[Data, Data]:
    """Returns a message that calls a tool, and the tool's."""
    call = _call(chance, number, code=code)
    assistant = {**_answer(chance, thought=thought, said=said), "tool_calls": [call]}
    content = _cut(_code(), chance, result)
    return assistant, {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": content}


def _call(chance: random.Random, number: int, *, code: int) -> Data:
    """Returns a call of one of the tools, with arguments of several types."""
    name = chance.choice(TOOLS)["function"]["name"]
    arguments = {
        "path": f"src/module_{chance.randrange(1_000)}.py",
        "line": chance.randrange(5_000),
        "exact": chance.random() < 0.5,
        "text": _cut(_code(), chance, code),
    }
    return {"id": f"call_{number:04}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _answer(chance: random.Random, *, thought: int, said: int) -> Data:
    reasoning, content = _cut(_prose(), chance, thought), _cut(_prose(), chance, said)
    return {"role": "assistant", "reasoning_content": reasoning, "content": content}


def _cut(text: str, chance: random.Random, size: int) -> str:
    """Returns lines of a text from a random one on, of about `size` characters."""
    size = round(size * chance.uniform(0.5, 1.5))
    start = text.index("\n", chance.randrange(len(text) - 20 * size)) + 1
    return text[start : text.index("\n", start + size)]


@functools.cache
def _code() -> str:
    """Returns the source of all modules at the top of the standard library, one after the other."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "\n\n".join(path.read_text(encoding="utf-8") for path in paths)


@functools.cache
def _prose() -> str:
    """Returns the longer docstrings of that source, without those that are examples."""
    texts = (text for text in DOCSTRING.findall(_code()) if 200 < len(text) < 5_000 and ">>>" not in text)
    return "\n\n".join(map(inspect.cleandoc, texts))


def _tool(name: str, description: str) -> Data:
    properties = {
        "path": {"type": "string", "description": "The file's path, from the root of the repository."},
        "line": {"type": "integer", "description": "The first line that it is about.", "default": 1},
        "exact": {"type": "boolean", "description": "Whether upper and lower case differ."},
        "text": {"type": "string", "description": "What to write, or to look for."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["path", "text"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _tool("read_file", "Reads a part of a file."),
    _tool("write_file", "Writes text into a file, from a line on."),
    _tool("search", "Looks for a text in a file or below a folder."),
    _tool("run_tests", "Runs the tests that a text names, and returns what they print."),
    _tool("review", "Asks a colleague about a change."),
]
