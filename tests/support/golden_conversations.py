"""The conversations of the golden ids: few and small, each for a known source of errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from renderers.families import Family, SwitchValue, TemplateSwitch
from tests.support.conversations import call, system, tool, user

__all__ = ["TOOLS", "Question", "questions"]

Data = dict[str, Any]


class Question(NamedTuple):
    """A conversation with its render arguments."""

    title: str
    messages: list[Data]
    tools: list[Data]
    settings: Data
    """The generation prompt and the switches."""


TOOLS: list[Data] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather of a city: “now” & <later>.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Größe, 北京"},
                    "unit": {"type": "string", "description": "Of what is told.", "enum": ["C", "F"]},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Searches.",
            "parameters": {
                "type": "object",
                "properties": {"limit": {"type": "integer", "description": "How many."}},
                "required": [],
            },
        },
    },
]
"""Two tools with only those fields that all templates accept."""


def answer(content: str, *, reasoning: str | None = None, calls: list[Data] | None = None) -> Data:
    """Return an assistant message without empty keys."""
    message: Data = {"role": "assistant", "content": content}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls is not None:
        message["tool_calls"] = calls
    return message


NESTED = {
    "city": 'São Paulo 北京 "quoted" back\\slash',
    "exact": True,
    "ratio": 0.5,
    "nothing": None,
    "list": [1, "zwei", {"three": []}],
    "nested": {"a": {"b": "c\nd"}},
    "empty": "",
}
LOOKED_UP = [
    answer("", reasoning="I must look.", calls=[call("get_weather", {"city": "Paris"})]),
    tool('{"sky": "clear"}'),
]
THOUGHT = [
    user("Hi"),
    answer("Hello!", reasoning="They greet me."),
    user("Weather?"),
    *LOOKED_UP,
]

OPEN: dict[str, list[Data]] = {
    "a question": [user("Hi")],
    "system": [system("Be brief."), user("Hi"), answer("Hello!"), user("And now?")],
    "reasoning in the history": [*THOUGHT, answer("Clear.", reasoning="It is clear."), user("Thanks!")],
    "thoughts in the content": [user("Hi"), answer("<think>\nThey greet me.\n</think>\n\nHello!"), user("Why?")],
    "nested and unicode arguments": [
        user("Weather?"),
        answer("I look.", calls=[call("get_weather", NESTED)]),
        tool('{"a": [1, "é"]}'),
    ],
    "empty": [user(""), answer(""), user("")],
    "whitespace": [user("  lead and trail \n\n"), answer("\n\n indented\n  "), user("\ta\r\nb\n\n\nc")],
    "None as content": [
        {"role": "system", "content": None},
        user("Weather?"),
        {"role": "assistant", "content": None, "tool_calls": [call("get_weather", {"city": "Paris"})]},
        {**tool(""), "content": None},
    ],
    "unicode": [user("naïve 你好 🙂👩‍👩‍👧 مرحبا e\u0301"), answer("ﬁ ½ Å 日本語"), user("ß İ")],
}
"""Conversations that are rendered with a generation prompt."""

CLOSED: dict[str, list[Data]] = {
    "no generation prompt": [user("Hi")],
    "several turns, reasoning in the last": [
        user("Hi"),
        answer("Hello!"),
        user("What is 2 + 2?"),
        answer("It is 4.", reasoning="Two and two.\n\nFour."),
    ],
}
"""Conversations that are rendered without a generation prompt."""

PARALLEL = [call("search", {"limit": 3}, 1), call("search", {}, 2)]
WITH_TOOLS: dict[str, tuple[list[Data], list[Data]]] = {
    "system, tools and a call": ([system("Be brief."), user("Weather?"), *LOOKED_UP], TOOLS),
    "parallel calls": (
        [
            user("Both?"),
            answer("", reasoning="Two.", calls=PARALLEL),
            tool("one\ntwo", "search", 1),
            tool("nothing", "search", 2),
        ],
        TOOLS[1:],
    ),
}
"""Conversations with tools, rendered with a generation prompt."""

IMAGES = [
    user([{"type": "text", "text": "Compare "}, {"type": "image"}, {"type": "image"}]),
    answer("Same."),
    user([{"type": "image"}, {"type": "text", "text": "And it?"}]),
]

SWITCHED = {"add_vision_id": IMAGES}
"""Conversations for switches that have no effect on the default one."""

SAMPLES: dict[type, tuple[SwitchValue, ...]] = {bool: (False, True), int: (512,), float: (0.5,), str: ("low",)}
"""Values for switches that accept any value of a type. Switches with lists or objects are left out."""

ENCODER_SWITCHES = {"conversation_start_date", "use_system_prompt", "knowledge_cutoff", "auto_drop_analysis"}
"""Switches that no template of these families reads, only an encoder."""


def questions(family: Family) -> Iterator[Question]:
    """Yield each conversation for a family, and one more for each non-default value of each switch."""
    for title, messages in OPEN.items():
        yield Question(title, messages, [], {"add_generation_prompt": True})
    for title, messages in CLOSED.items():
        yield Question(title, messages, [], {"add_generation_prompt": False})
    for title, (messages, tools) in WITH_TOOLS.items():
        yield Question(title, messages, tools, {"add_generation_prompt": True})
    if "image" in family.media:
        yield Question("images", IMAGES, [], {"add_generation_prompt": True})
    for switch in family.switches:
        for value in () if switch.name in ENCODER_SWITCHES else _others(switch):
            settings: Data = {"add_generation_prompt": True, switch.name: value}
            yield Question(f"{switch.name}={json.dumps(value)}", SWITCHED.get(switch.name, THOUGHT), [], settings)


def _others(switch: TemplateSwitch) -> list[SwitchValue]:
    values = SAMPLES.get(switch.values, ()) if isinstance(switch.values, type) else switch.values
    # Compares representations, because 0 equals False in Python but not in a template.
    return [value for value in values if value is None or repr(value) != repr(switch.default)]
