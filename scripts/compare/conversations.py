"""Generate conversations from seeds."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from tests.support.conversations import assistant, call, system, tool, user

__all__ = ["MORE", "random_answer", "random_calls", "random_conversation", "random_results", "random_text"]

Data = dict[str, Any]

_TEXTS = (
    *(
        "Hi",
        "What is the weather in Paris?",
        "Größe 北京 🙂 naïve مرحبا",
        "two\nlines\n",
        " spaces ",
        "a\n\nb",
        "1 < 2",
    ),
    *('{"a": 1}', "x" * 40, "ok."),
)
_REASONING = ("They greet me.", "First.\n\nThen 🙂.", "I must look.")
_ARGUMENTS: tuple[Data, ...] = (
    {"city": "Paris"},
    {"city": "São Paulo 北京", "days": 3},
    {"query": 'a "quoted" text\nin lines', "exact": True, "limit": None, "ratio": 0.5},
    {"filter": {"tags": ["a", "b"], "depth": {"max": 2}}},
    {},
)
_RESULTS = ("clear", '{"sky": "clear", "degrees": 21}', "two\nlines", "", "Größe 北京 🙂")


MORE: dict[str, list[Data]] = {
    "thinking parts": [
        user("Hi"),
        assistant([{"type": "thinking", "thinking": "They greet me."}, {"type": "text", "text": "Hello!"}]),
    ],
    "broken arguments": [user("Weather?"), assistant("", calls=[call("get_weather", '{"city": "Par')]), tool("clear")],
    "text as arguments": [user("Weather?"), assistant("", calls=[call("get_weather", "Paris")]), tool("clear")],
    "result without name": [
        user("Weather?"),
        assistant("", calls=[call("get_weather", {"city": "Paris"})]),
        {"role": "tool", "tool_call_id": "call00000", "content": "clear"},
    ],
    "data as result": [
        user("Weather?"),
        assistant("", calls=[call("get_weather", {"city": "Paris"})]),
        tool({"sky": "clear", "days": [1, None]}),
    ],
}
"""Conversations with input that the releases treat differently."""


def random_text(chance: random.Random) -> str:
    """Return the text of a message."""
    return chance.choice(_TEXTS)


def _content(chance: random.Random) -> Any:
    kind = chance.randrange(12)
    if kind == 0:
        return ""
    return [{"type": "text", "text": random_text(chance)}] if kind == 1 else random_text(chance)


def random_answer(chance: random.Random, *, calls: list[Data] | None = None) -> Data:
    """Return an assistant message, with reasoning or without."""
    content = chance.choice(("", "", None, "I look.", "Let me see:\n")) if calls else _content(chance)
    reasoning = chance.choice((None, *_REASONING))
    message = assistant(content, reasoning, calls)
    # Release 0.1 has no second name for reasoning.
    message.pop("thinking", None)
    return message


def random_calls(chance: random.Random, number: int) -> list[Data]:
    """Return one or two calls. Their ids are made from `number`."""
    made = []
    for index in range(chance.choice((1, 1, 2))):
        arguments: Any = chance.choice(_ARGUMENTS)
        if chance.randrange(4) == 0:
            arguments = json.dumps(arguments, ensure_ascii=False)
        made.append(call(chance.choice(("get_weather", "search")), arguments, 10 * number + index))
    return made


def random_results(chance: random.Random, calls: Sequence[Data]) -> list[Data]:
    """Return a tool message for each call."""
    numbers = [int(made["id"].removeprefix("call")) for made in calls]
    names = [made["function"]["name"] for made in calls]
    return [tool(chance.choice(_RESULTS), name, number) for name, number in zip(names, numbers, strict=True)]


def random_conversation(chance: random.Random) -> list[Data]:
    """Return a conversation of 1 to 3 user turns, with calls, results and reasoning."""
    messages = []
    opening = chance.randrange(8)
    if opening < 4:
        messages.append({**system(random_text(chance)), "role": "system" if opening else "developer"})
    for number in range(chance.randrange(1, 4)):
        messages.append(user(_content(chance)))
        for step in range(chance.choice((0, 0, 1, 2))):
            calls = random_calls(chance, 10 * number + step)
            messages += [random_answer(chance, calls=calls), *random_results(chance, calls)]
        messages.append(random_answer(chance))
        if chance.randrange(16) == 0:
            messages.append(system("Be brief."))
    return messages if chance.randrange(3) else messages[: chance.randrange(1, len(messages) + 1)]
