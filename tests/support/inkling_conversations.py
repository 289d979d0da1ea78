"""Random conversations for Inkling, with everything that both reference encoders read."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["random_job"]

Data = dict[str, Any]

_WORDS = (
    *("Hi", " there", "naïve 北京", "🙂", "a\nb", "  x ", '{"a": 1}', '"q"', "\\", "\t", "É", "\u200b", "12345"),
    *("<|end_message|>", "<|message_user|>", "<|content_text|>", "<|content_model_end_sampling|>", "<|endoftext|>"),
)
_NAMES = ("search", "get_weather", "math.sum", "lookup-2")
_EFFORTS = (None, 0, 0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 0.99, "none", "low", "medium", "high", "max")


def random_job(chance: random.Random) -> Data:
    """Return a conversation with its tools and its reasoning effort."""
    return {
        "messages": _messages(chance),
        "tools": [_tool(chance) for _ in range(chance.randint(1, 3))] if chance.random() < 0.5 else None,
        "effort": chance.choice(_EFFORTS),
        "prompt": chance.random() < 0.7,
    }


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(_WORDS, k=chance.randint(1, 5)))


def _content(chance: random.Random) -> Any:
    if chance.random() < 0.2:
        return [{"type": "text", "text": _text(chance)} for _ in range(chance.randint(1, 3))]
    return _text(chance)


def _messages(chance: random.Random) -> list[Data]:
    systems = chance.choice((0, 0, 1, 1, 2))
    messages: list[Data] = [{"role": "system", "content": _content(chance)} for _ in range(systems)]
    for number in range(chance.randint(1, 4)):
        messages.append({"role": "user", "content": _content(chance)})
        for step in range(chance.choice((0, 0, 1, 2))):
            messages += _tool_round(chance, f"{number}{step}")
        if chance.random() < 0.1:
            messages.append({"role": "system", "content": _content(chance)})
        if chance.random() < 0.8:
            messages.append({"role": "assistant", "content": _content(chance), **_reasoning(chance)})
    return messages


def _reasoning(chance: random.Random) -> Data:
    return {"reasoning_content": _text(chance)} if chance.random() < 0.6 else {}


def _tool_round(chance: random.Random, number: str) -> list[Data]:
    calls: list[Data] = []
    for place in range(chance.choice((1, 1, 2, 3))):
        arguments: Any = {key: _value(chance) for key in chance.sample(("b", "a", "Z", "é"), chance.randint(0, 3))}
        if chance.random() < 0.4:
            arguments = json.dumps(arguments)
        function = {"name": chance.choice(_NAMES), "arguments": arguments}
        calls.append({"id": f"call_{number}_{place}", "type": "function", "function": function})
    content = _text(chance) if chance.random() < 0.5 else chance.choice(("", None))
    results: list[Data] = [{"role": "tool", "tool_call_id": call["id"], "content": _text(chance)} for call in calls]
    for result, call in zip(results, calls, strict=True):
        if chance.random() < 0.5:
            result["name"] = call["function"]["name"]
    return [{"role": "assistant", "content": content, "tool_calls": calls, **_reasoning(chance)}, *results]


def _value(chance: random.Random, depth: int = 0) -> Any:
    if depth < 2 and chance.random() < 0.3:
        inner = _value(chance, depth + 1)
        return chance.choice(([inner, 1], {"k": inner, "B": None}, [], {}))
    return chance.choice((None, True, chance.randint(-(10**6), 10**6), 1.5, _text(chance), _text(chance)))


def _tool(chance: random.Random) -> Data:
    function: Data = {"name": chance.choice(_NAMES)}
    if chance.random() < 0.7:
        function["description"] = chance.choice(("", "D", "a\nb", "naïve 🙂"))
    if chance.random() < 0.8:
        properties = {name: {"type": "string", "description": _text(chance)} for name in chance.sample("xyz", 2)}
        function["parameters"] = {"type": "object", "properties": properties, "required": ["x"]}
    return {"type": "function", "function": function}
