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

from benchmarks.scripts import ASCII, SHARES, rewrite

Data = dict[str, Any]
Chat = Data
"""`messages` and `tools`, as JSON data."""

DOCSTRING = re.compile(r'^ *r?"""(.*?)"""', re.DOTALL | re.MULTILINE)


def agentic_chat(seed: str, *, turns: int = 50, script: str = ASCII) -> Chat:
    """Return a long conversation. Every turn but the last has reasoning, a tool call and a tool result."""
    writer = _Writer(seed, script)
    messages = [writer.message("system", 2_000), writer.message("user", 2_000)]
    for number in range(turns - 1):
        messages += writer.tool_turn(number, reasoning=1_500, content=300, code=1_500, result=6_000)
    return {"messages": [*messages, writer.answer(reasoning=1_500, content=1_500)], "tools": TOOLS}


def short_chat(seed: str, *, script: str = ASCII) -> Chat:
    """Return a short conversation with one tool call and an answer."""
    writer = _Writer(seed, script)
    turn = writer.tool_turn(0, reasoning=400, content=100, code=200, result=700)
    opening = [writer.message("system", 300), writer.message("user", 300)]
    messages = [*opening, *turn, writer.answer(reasoning=300, content=500)]
    return {"messages": messages, "tools": writer.rng.sample(TOOLS, 2)}


def completion_chat(seed: str, *, script: str = ASCII) -> Chat:
    """Return a short conversation that ends with a long assistant message.

    The message has up to two tool calls and usually reasoning. Without a call its content is longer.
    """
    writer = _Writer(seed, script)
    rng = writer.rng
    calls = rng.choice((0, 1, 1, 2))
    size = rng.uniform(2_000, 18_000)
    reasoning, content, code = (round(size * share) for share in (0.6, 0.3 if calls else 0.5, 0.2))
    message = writer.answer(reasoning=reasoning, content=content)
    if rng.random() < 0.2:
        del message["reasoning_content"]
    if calls:
        message["tool_calls"] = [writer.call(number, code=code) for number in range(calls)]
    return {"messages": [writer.message("system", 300), writer.message("user", 300), message], "tools": TOOLS}


def sized_chat(seed: str, *, messages: int) -> Chat:
    """Return a conversation of short messages, of any number."""
    writer = _Writer(seed, ASCII)
    made = [writer.message("system", 150), writer.message("user", 150)]
    for number in range(messages // 2):
        made += writer.tool_turn(number, reasoning=150, content=60, code=100, result=250)
    return {"messages": made[:messages], "tools": TOOLS}


def plain_chat(seed: str, *, characters: int) -> Chat:
    """Return a prompt of user and assistant messages without tools and reasoning, of about that many characters."""
    writer = _Writer(seed, ASCII)
    turns = max(1, characters // 4_000)
    size = characters // (2 * turns - 1)
    roles = [role for _ in range(turns) for role in ("user", "assistant")][:-1]
    messages = [writer.message(role, size) for role in roles]
    # A peer encodes the line break of a header apart from one that a content begins with.
    return {"messages": [{**message, "content": message["content"].strip()} for message in messages], "tools": None}


class _Writer:
    """A source of messages with random parts of the text of a script."""

    def __init__(self, seed: str, script: str) -> None:
        self.rng = random.Random(f"{seed} {script}" if script != ASCII else seed)
        self._script = script

    def message(self, role: str, size: int) -> Data:
        return {"role": role, "content": self._prose(size)}

    def answer(self, *, reasoning: int, content: int) -> Data:
        return {"role": "assistant", "reasoning_content": self._prose(reasoning), "content": self._prose(content)}

    def tool_turn(self, number: int, *, reasoning: int, content: int, code: int, result: int) -> tuple[Data, Data]:
        """Return an assistant message with a tool call, and the tool result."""
        call = self.call(number, code=code)
        assistant = {**self.answer(reasoning=reasoning, content=content), "tool_calls": [call]}
        name, output = call["function"]["name"], self._code(result)
        return assistant, {"role": "tool", "tool_call_id": call["id"], "name": name, "content": output}

    def call(self, number: int, *, code: int) -> Data:
        """Return a call of a random tool, with arguments of several types."""
        name = self.rng.choice(TOOLS)["function"]["name"]
        arguments = {
            "path": f"src/module_{self.rng.randrange(1_000)}.py",
            "line": self.rng.randrange(5_000),
            "exact": self.rng.random() < 0.5,
            "text": self._code(code),
        }
        return {"id": f"call_{number:04}", "type": "function", "function": {"name": name, "arguments": arguments}}

    def _prose(self, size: int) -> str:
        return self._cut(_prose(self._script), size)

    def _code(self, size: int) -> str:
        return self._cut(_code(self._script), size)

    def _cut(self, text: str, size: int) -> str:
        """Return consecutive lines of a text from a random position, of about `size` characters."""
        size = round(size * SHARES[self._script] * self.rng.uniform(0.5, 1.5))
        start = text.index("\n", self.rng.randrange(len(text) - 20 * size)) + 1
        return text[start : text.index("\n", start + size)]


@functools.cache
def _code(script: str) -> str:
    """Return the concatenated source of all top-level modules of the standard library, or prose in another script."""
    if script not in (ASCII, "mixed"):
        return _prose(script)
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    code = "\n\n".join(path.read_text(encoding="utf-8") for path in paths)
    return code if script == ASCII else rewrite(code[: len(code) // 4], script)


@functools.cache
def _prose(script: str) -> str:
    """Return the longer docstrings of that source, except those with examples."""
    texts = (text for text in DOCSTRING.findall(_code(ASCII)) if 200 < len(text) < 5_000 and ">>>" not in text)
    prose = "\n\n".join(map(inspect.cleandoc, texts))
    return prose if script == ASCII else rewrite(prose, script)


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
