"""Random conversations for the programs of DeepSeek, with everything that the vendor's encoders read."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["PROGRAMS", "TOOLS", "random_job"]

Data = dict[str, Any]

PROGRAMS = ("deepseek-v3.2", "deepseek-v4", "deepseek-v4.1")
"""The programs with an encoder to compare with."""
TOOLS: list[Data] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": 'The "weather" é.',
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    },
    {"type": "function", "function": {"name": "search", "parameters": {}}},
]
_WORDS = ("Hi", "naïve 北京", "🙂", "<think>", "</think>", "a\nb", "", "  x ", '{"a": 1}', "<｜User｜>", '"q"')
_TASKS = ("action", "query", "authority", "domain", "title", "read_url")
_EFFORTS = {
    "deepseek-v4": ("low", "high", "max", None),
    "deepseek-v4.1": ("low", "high", "xhigh", "max", 1, 42, None),
}


def random_job(program: str, chance: random.Random) -> Data:
    """Return messages, tools and options for a program."""
    options: Data = {"enable_thinking": chance.random() < 0.6}
    if program != "deepseek-v3.2":
        options |= {"drop_thinking": chance.random() < 0.6, "reasoning_effort": chance.choice(_EFFORTS[program])}
    messages = _random_chat(chance) if program == "deepseek-v3.2" else _random_messages(program, chance)
    return {
        "program": program,
        "messages": messages,
        "tools": TOOLS if chance.random() < 0.4 else None,
        "options": options,
    }


def _random_chat(chance: random.Random) -> list[Data]:
    """Return turns in an order that the encoder of V3.2 accepts: a result for each call, reasoning in each turn."""
    messages = [_message("system", chance)] if chance.random() < 0.5 else []
    for number in range(chance.randint(1, 3)):
        messages.append(_message(chance.choice(("user", "user", "developer")), chance))
        for step in range(chance.randint(0, 2)):
            turn = _assistant(chance, f"{number}{step}")
            messages.append({"reasoning_content": "So.", **turn})
            calls = turn.get("tool_calls", ())
            messages += [{**_message("tool", chance), "tool_call_id": call["id"]} for call in calls]
    return messages


def _random_messages(program: str, chance: random.Random) -> list[Data]:
    """Return messages of any roles in any order."""
    roles = ["system", "user", "user", "user", "assistant", "assistant", "tool", "tool", "developer"]
    roles += ["latest_reminder"] * (program == "deepseek-v4")
    messages: list[Data] = []
    ids: list[str] = []
    for number in range(chance.randint(1, 8)):
        role = chance.choice(roles)
        message = _assistant(chance, str(number)) if role == "assistant" else _message(role, chance)
        ids = [call["id"] for call in message.get("tool_calls", ())] or ids
        if role == "tool":
            message["tool_call_id"] = chance.choice(ids) if ids else "none"
        if role == "assistant" and chance.random() < 0.1:
            message["wo_eos"] = True
        if role in ("user", "developer") and chance.random() < 0.12:
            message["task"] = chance.choice(_TASKS)
        messages.append(message)
    return messages


def _message(role: str, chance: random.Random) -> Data:
    message: Data = {"role": role, "content": _text(chance) or ("x" if role == "developer" else "")}
    if role in ("system", "developer") and chance.random() < 0.2:
        message["response_format"] = {"type": "json_schema", "x": "é"}
    return message


def _assistant(chance: random.Random, number: str) -> Data:
    message = _message("assistant", chance)
    if chance.random() < 0.6:
        message["reasoning_content"] = _text(chance)
    if chance.random() < 0.5:
        as_text = chance.random() < 0.2
        calls = []
        for index in range(chance.randint(1, 3)):
            arguments: Any = {key: _value(chance) for key in chance.sample("abc", chance.randint(0, 3))}
            function = {"name": chance.choice(("get_weather", "search"))}
            function["arguments"] = json.dumps(arguments) if as_text else arguments
            calls.append({"id": f"call_{number}_{index}", "type": "function", "function": function})
        message["tool_calls"] = calls
    return message


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(_WORDS, k=chance.randint(0, 3)))


def _value(chance: random.Random, depth: int = 0) -> Any:
    scalars = (None, True, chance.randint(-5, 5), 1.5, _text(chance), _text(chance))
    if depth < 2 and chance.random() < 0.25:
        inner = _value(chance, depth + 1)
        return chance.choice(([inner], {"k": inner}))
    return chance.choice(scalars)
