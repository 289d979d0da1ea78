"""Random conversations for Kimi K3, with results of calls in any order."""

from __future__ import annotations

import random
from typing import Any

from tests.support.deepseek_conversations import TOOLS

__all__ = ["random_job"]

Data = dict[str, Any]

_WORDS = ("Hi", "naïve 北京", "🙂", "<|open|>", "<|sep|>", "a\nb", "", "  x ", '{"a": 1}', '"q" & <b>', "&quot;")
_VALUES = (1, -2.5, True, None, "é", "", 'a "b"\n', [1, "x"], {"k": [None, False]})
_OPTIONS: tuple[Data, ...] = (
    *({}, {"thinking": False}, {"thinking": True, "thinking_effort": "low"}, {"thinking_effort": "high"}),
    *({"enable_thinking": False}, {"reasoning_effort": "max"}, {"reasoning_effort": "none"}, {"tool_choice": "none"}),
)
_NAMES = ("get_weather", "search", 'a"b')


def random_job(chance: random.Random) -> Data:
    """Return messages, tools and options."""
    messages: list[Data] = [{"role": "system", "content": _text(chance)}] if chance.random() < 0.5 else []
    for number in range(chance.randint(1, 3)):
        messages.append({"role": "user", "content": _content(chance)})
        for step in range(chance.randint(0, 3)):
            messages += _turn(chance, f"{number}{step}")
    return {
        "messages": messages,
        "tools": TOOLS if chance.random() < 0.5 else None,
        "options": chance.choice(_OPTIONS),
        "prompt": chance.random() < 0.7,
    }


def _turn(chance: random.Random, number: str) -> list[Data]:
    """Return an assistant's message, and the results of its calls."""
    turn: Data = {"role": "assistant", "content": _text(chance)}
    if chance.random() < 0.6:
        turn["reasoning_content"] = _text(chance)
    count = chance.choice((0, 0, 1, 2, 3))
    if not count:
        return [turn]
    turn["tool_calls"] = [_call(chance, f"call{number}{index}") for index in range(count)]
    results = [
        {"role": "tool", "content": _text(chance), "tool_call_id": call["id"], "name": call["function"]["name"]}
        for call in turn["tool_calls"]
    ]
    chance.shuffle(results)
    if chance.random() < 0.15:
        results[0]["tool_call_id"] = "unknown"
    return [turn, *results]


def _call(chance: random.Random, call_id: str) -> Data:
    keys = chance.sample(("city", "days", 'q"&', "x"), chance.randint(0, 3))
    arguments = {key: chance.choice(_VALUES) for key in keys}
    return {"id": call_id, "type": "function", "function": {"name": chance.choice(_NAMES), "arguments": arguments}}


def _content(chance: random.Random) -> Any:
    if chance.random() < 0.8:
        return _text(chance)
    return [{"type": "text", "text": _text(chance)} for _ in range(chance.randint(1, 2))]


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(1, 3)))
