"""Conversations for the benchmarks, generated from the source of the Python standard library.

The same Python version and seed give the same conversations; another seed gives others. All have a system message,
tools, a user task, reasoning, tool calls with arguments of several types, and tool results.
"""

from __future__ import annotations

import functools
import inspect
import random
import re
import sysconfig
from pathlib import Path
from typing import Any

Data = dict[str, Any]
Chat = Data
"""`messages` and `tools`, as JSON data."""

DOCSTRING = re.compile(r'^ *r?"""(.*?)"""', re.DOTALL | re.MULTILINE)


def agentic_chat(seed: str, *, turns: int = 50) -> Chat:
    """Return a long conversation. Every turn but the last has reasoning, a tool call and a tool result."""
    rng = random.Random(seed)
    messages = [_system(rng, 2_000), _user(rng, 2_000)]
    for number in range(turns - 1):
        messages += _tool_turn(rng, number, reasoning=1_500, content=300, code=1_500, result=6_000)
    return {"messages": [*messages, _answer(rng, reasoning=1_500, content=1_500)], "tools": TOOLS}


def short_chat(seed: str) -> Chat:
    """Return a short conversation with one tool call and an answer."""
    rng = random.Random(seed)
    turn = _tool_turn(rng, 0, reasoning=400, content=100, code=200, result=700)
    messages = [_system(rng, 300), _user(rng, 300), *turn, _answer(rng, reasoning=300, content=500)]
    return {"messages": messages, "tools": rng.sample(TOOLS, 2)}


def completion_chat(seed: str) -> Chat:
    """Return a short conversation that ends with a long assistant message.

    The message has up to two tool calls and usually reasoning. Without a call its content is longer.
    """
    rng = random.Random(seed)
    calls = rng.choice((0, 1, 1, 2))
    size = rng.uniform(2_000, 18_000)
    reasoning, content, code = (round(size * share) for share in (0.6, 0.3 if calls else 0.5, 0.2))
    message = _answer(rng, reasoning=reasoning, content=content)
    if rng.random() < 0.2:
        del message["reasoning_content"]
    if calls:
        message["tool_calls"] = [_call(rng, number, code=code) for number in range(calls)]
    return {"messages": [_system(rng, 300), _user(rng, 300), message], "tools": TOOLS}


def _system(rng: random.Random, size: int) -> Data:
    return {"role": "system", "content": _cut(_prose(), rng, size)}


def _user(rng: random.Random, size: int) -> Data:
    return {"role": "user", "content": _cut(_prose(), rng, size)}


def _tool_turn(
    rng: random.Random, number: int, *, reasoning: int, content: int, code: int, result: int
) -> tuple[Data, Data]:
    """Return an assistant message with a tool call, and the tool result."""
    call = _call(rng, number, code=code)
    assistant = {**_answer(rng, reasoning=reasoning, content=content), "tool_calls": [call]}
    output = _cut(_code(), rng, result)
    return assistant, {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": output}


def _call(rng: random.Random, number: int, *, code: int) -> Data:
    """Return a call of a random tool, with arguments of several types."""
    name = rng.choice(TOOLS)["function"]["name"]
    arguments = {
        "path": f"src/module_{rng.randrange(1_000)}.py",
        "line": rng.randrange(5_000),
        "exact": rng.random() < 0.5,
        "text": _cut(_code(), rng, code),
    }
    return {"id": f"call_{number:04}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _answer(rng: random.Random, *, reasoning: int, content: int) -> Data:
    return {
        "role": "assistant",
        "reasoning_content": _cut(_prose(), rng, reasoning),
        "content": _cut(_prose(), rng, content),
    }


def _cut(text: str, rng: random.Random, size: int) -> str:
    """Return consecutive lines of a text from a random position, of about `size` characters."""
    size = round(size * rng.uniform(0.5, 1.5))
    start = text.index("\n", rng.randrange(len(text) - 20 * size)) + 1
    return text[start : text.index("\n", start + size)]


@functools.cache
def _code() -> str:
    """Return the concatenated source of all top-level modules of the standard library."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "\n\n".join(path.read_text(encoding="utf-8") for path in paths)


@functools.cache
def _prose() -> str:
    """Return the longer docstrings of that source, except those with examples."""
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
