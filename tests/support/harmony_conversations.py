"""Random conversations, tools and options for Harmony."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["random_job", "random_schema"]

Data = dict[str, Any]

WORDS = (
    *(
        "Hello",
        " there",
        "\n",
        "\n\n",
        "  ",
        "naïve",
        "日本語",
        "🙂",
        "123456",
        "x=1;",
        "\t",
        "'s",
        "to=functions.f",
        "json",
    ),
    *("<|end|>", "<|start|>", "<|call|>", "<|return|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|endoftext|>"),
    *("assistant", "analysis", "<think>", "</think>", "{", '"', "\\", ",", ".", " to", "final", "\r\n", "\u200b", "É"),
)
NAMES = ("f", "get_weather", "search-web", "python", "math.sum", "browser.search", "lookup_2")
EFFORTS = ("low", "medium", "high")
DEFAULTS = (
    *(None, True, 0, -1, 1.5, 1e-5, -2.25e-05, 1e-6, 1e15, 1e16, 1.5e300, 2**63, 2**64, 10**30, -0.0, 5e-324, 0.1),
    *("", "s", 'q"\\', [1, [2, {"k": "v\n\u0007"}]], {"a": {"b": 1e22}}),
)


def random_job(chance: random.Random) -> Data:
    """Return a conversation with its tools and options."""
    tools = [_tool(chance) for _ in range(chance.choice((0, 0, 1, 2, 3)))]
    names = list(dict.fromkeys(tool["function"]["name"] for tool in tools))
    messages = _messages(chance, names or ["f", "python", "browser.open"])
    return {
        "messages": messages,
        "tools": tools or None,
        "options": _options(chance),
        "prompt": chance.random() < 0.6,
    }


def _options(chance: random.Random) -> Data:
    options: Data = {"conversation_start_date": chance.choice(("2026-01-31", "2025-06-28", "yesterday", ""))}
    chosen: dict[str, Any] = {
        "reasoning_effort": chance.choice(EFFORTS),
        "model_identity": chance.choice(("You are Ada.", "", "Two\nlines <|end|>")),
        "knowledge_cutoff": chance.choice(("2030-12", "")),
        "builtin_tools": chance.choice((["browser"], ["python"], ["python", "browser"])),
        "use_system_prompt": False,
        "auto_drop_analysis": chance.choice((True, False)),
    }
    options |= {name: value for name, value in chosen.items() if chance.random() < 0.3}
    if "use_system_prompt" in options:
        options.pop("builtin_tools", None)
    return options


def _text(chance: random.Random, *, least: int = 1) -> str:
    return "".join(chance.choices(WORDS, k=chance.randint(least, 6)))


def _content(chance: random.Random, *, least: int = 1) -> Any:
    if chance.random() < 0.15:
        return [{"type": "text", "text": _text(chance, least=least)} for _ in range(chance.randint(1, 3))]
    return _text(chance, least=least)


def _messages(chance: random.Random, names: list[str]) -> list[Data]:
    messages: list[Data] = []
    if chance.random() < 0.5:
        messages.append({"role": chance.choice(("system", "developer")), "content": _content(chance, least=0)})
    for _ in range(chance.randint(1, 4)):
        if chance.random() < 0.1:
            messages.append({"role": chance.choice(("system", "developer")), "content": _content(chance)})
        messages.append({"role": "user", "content": _content(chance, least=0)})
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            messages += _tool_round(chance, names, number=len(messages))
        if chance.random() < 0.8:
            messages.append(_turn(chance, least=0))
    return messages


def _turn(chance: random.Random, *, least: int) -> Data:
    turn: Data = {"role": "assistant", "content": chance.choice((_content(chance, least=least), None, ""))}
    if chance.random() < 0.6:
        turn["reasoning_content"] = _text(chance)
    return turn


def _tool_round(chance: random.Random, names: list[str], *, number: int) -> list[Data]:
    calls: list[Data] = []
    for place in range(chance.choice((1, 1, 1, 2))):
        value = _text(chance)
        arguments = chance.choice(({}, {"x": value}, {"x": [1, None, {"y": value}]}, '{"x":  1}', "print(1)"))
        function = {"name": chance.choice(names), "arguments": arguments}
        calls.append({"id": f"call_{number}_{place}", "type": "function", "function": function})
    results: list[Data] = [
        {"role": "tool", "tool_call_id": call["id"], "content": _content(chance, least=0)} for call in calls
    ]
    for result, call in zip(results, calls, strict=True):
        if chance.random() < 0.5:
            result["name"] = call["function"]["name"]
    return [{**_turn(chance, least=0), "tool_calls": calls}, *results]


def _tool(chance: random.Random) -> Data:
    function: Data = {"name": chance.choice(NAMES), "description": chance.choice(("", "D", "a\nb", "a\r\nb\n", "\n"))}
    if chance.random() < 0.9:
        properties = {name: random_schema(chance, 1) for name in ("x", "y", "z")}
        function["parameters"] = {"type": "object", "properties": properties, "required": ["x"]}
        if chance.random() < 0.2:
            schema = random_schema(chance, 0)
            function["parameters"] = schema if isinstance(schema, dict) else {}
    return {"type": "function", "function": function}


def random_schema(chance: random.Random, depth: int) -> Any:
    """Return a schema with most keywords that the encoder reads, also with wrong values."""
    if chance.random() < 0.06:
        return chance.choice((True, None, "x", [], 5, {}))
    kinds: tuple[Any, ...] = (
        "object",
        "array",
        "string",
        "number",
        "integer",
        "boolean",
        "null",
        "weird",
        ["string", "null"],
        [],
        [3],
        7,
    )
    schema: Data = {"type": chance.choice(kinds)} if chance.random() < 0.92 else {}
    if depth < 3:
        if schema.get("type") == "object" and chance.random() < 0.6:
            names = ["".join(chance.choices("abcdefgh é", k=chance.randint(1, 3))) for _ in range(chance.randint(0, 4))]
            schema["properties"] = {name: random_schema(chance, depth + 1) for name in names}
            schema["required"] = [*names[::2], *chance.choice(([], [1], ["zz"]))]
        if schema.get("type") == "array" and chance.random() < 0.8:
            schema["items"] = random_schema(chance, depth + 1)
        if chance.random() < 0.2:
            schema["oneOf"] = [random_schema(chance, depth + 1) for _ in range(chance.randint(0, 3))]
        if chance.random() < 0.05:
            schema["anyOf"] = [random_schema(chance, depth + 1)]
    others = {
        "description": chance.choice(("", "d", "two\nlines", "é\t", 5, None)),
        "title": chance.choice(("T", "", 3)),
        "examples": chance.choices(("x", 1, None, {"a": 1}), k=chance.randint(0, 3)),
        "default": chance.choice(DEFAULTS),
        "nullable": chance.choice((True, False, "x", 1)),
        "enum": chance.choices(("a", "null", 1, 'b"c'), k=chance.randint(0, 3)),
    }
    return schema | {key: value for key, value in others.items() if chance.random() < 0.2}
