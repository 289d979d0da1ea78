"""Random conversations for DeepSeek R1 without a template, with everything that release 0.1 reads."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["random_job"]

Data = dict[str, Any]

_WORDS = ("Hi", "naïve 北京", "🙂", "<think>", "</think>", "a\nb", "", "  x ", '{"a": 1}', "<｜User｜>", '"q"', "\n\n")
_VALUES = (1, -2.5, True, None, "é", "", 'a "b"\n', [1, "x"], {"k": [None, False]})


def random_job(chance: random.Random) -> Data:
    """Return messages, and whether a generation prompt follows."""
    messages = [_message("system", chance) for _ in range(chance.choice((0, 0, 1, 2)))]
    for _ in range(chance.randint(1, 4)):
        messages.append(_message(chance.choice(("user", "user", "user", "system")), chance))
        for _ in range(chance.randint(0, 2)):
            turn = _assistant(chance)
            messages += [turn, *(_result(call, chance) for call in turn.get("tool_calls", ()))]
    return {"messages": messages, "add_generation_prompt": chance.random() < 0.7}


def _message(role: str, chance: random.Random) -> Data:
    text = "".join(chance.choices(_WORDS, k=chance.randint(1, 4)))
    parts = [{"type": "text", "text": text}, {"type": "text", "text": "p"}]
    return {"role": role, "content": parts if role == "user" and chance.random() < 0.1 else text}


def _assistant(chance: random.Random) -> Data:
    message = _message("assistant", chance)
    if chance.random() < 0.4:
        message["reasoning_content"] = "So."
    if chance.random() < 0.5:
        message["tool_calls"] = [_call(number, chance) for number in range(chance.randint(1, 3))]
    return message


def _call(number: int, chance: random.Random) -> Data:
    arguments = {key: chance.choice(_VALUES) for key in chance.sample(("city", "days", "é"), chance.randint(0, 3))}
    text = json.dumps(arguments, ensure_ascii=False)
    function = {"name": chance.choice(("get", "search")), "arguments": text if chance.random() < 0.5 else arguments}
    return {"id": f"call{number}", "type": "function", "function": function}


def _result(call: Data, chance: random.Random) -> Data:
    return {**_message("tool", chance), "tool_call_id": call["id"]}
