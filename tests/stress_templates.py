"""Run every template on millions of random conversations: the text must be Jinja's, and every word must have its owner.

    python -m tests.stress_templates --cases 2000000

Conversations have random roles, texts, reasoning, calls, results, tools and switches, and some break the rules of all
formats. Each is run twice, with and without a generation prompt, and with other switches. Every word of a field has a
unique number, so that a word in the output identifies its field. A template may refuse a conversation, and so does
Jinja then.
"""

from __future__ import annotations

import functools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from renderers.core.spans import Trace
from renderers.errors import TemplateLimitError, TemplateRefusalError, TemplateRunError
from renderers.templating import ChatTemplate
from tests.support.parity import (
    EACH_ONCE,
    NOW,
    PLAIN_TOOL,
    REQUIRED,
    TOKENS,
    TOOL_SETS,
    Bodies,
    Data,
    mark,
    own_switches,
)
from tests.support.sources import Task, spread
from tests.support.stress_report import run_long_form

__all__ = ["problem_of", "random_messages", "run", "stress"]

WORDS = "the sky is clear null true Größe naïve 北京 мир مرحبا 🙂 e\u0301 ß İ".split()
TAGS = (
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<|im_end|>"),
    *("[INST]", "[/INST]", "<s>", "</s>", "<b>", "<|channel|>", "</think", "<", "|>", "{{ x }}", "{% if %}", "%s"),
)
SPACES = (" ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u3000", "")
SIGNS = ('"', "'", "\\", "&", ".", ", ", ": ", "{", "}", "[", "]", "-", "#", "/", "0", "12", "3.5", "\x00", "\u2028")
ROLES = ("user", "user", "assistant", "assistant", "tool", "system", "developer", "critic", "")
CHAOTIC = 8
"""One of this many conversations has messages in random order."""


class Subject(NamedTuple):
    """A template, and the settings that it reads."""

    template: ChatTemplate
    switches: list[Data]


@functools.lru_cache(maxsize=1)
def _subject(path: str) -> Subject:
    source = Path(path).read_text(encoding="utf-8")
    return Subject(ChatTemplate(source, verify=True), own_switches(source))


# ==================
# Conversations
# ==================


def random_messages(chance: random.Random) -> list[Data]:
    """Return a random conversation. Its words are not numbered yet."""
    if chance.randrange(CHAOTIC) == 0:
        return [_any_message(chance, number) for number in range(chance.randrange(1, 6))]
    messages = [_message(chance, chance.choice(("system", "system", "developer")))] if chance.randrange(2) else []
    for _ in range(chance.randrange(1, 4)):
        messages += _turn(chance, len(messages))
    return messages if chance.randrange(3) else messages[: chance.randrange(1, len(messages) + 1)]


def _turn(chance: random.Random, number: int) -> list[Data]:
    """Return a user message, any number of calls with results, and perhaps an answer."""
    messages = [_message(chance, "user")]
    for step in range(chance.choice((0, 0, 1, 1, 2))):
        calls = [_call(chance, 10 * (number + step) + index) for index in range(chance.choice((1, 1, 2)))]
        messages.append({**_answer(chance), "tool_calls": calls})
        messages += [_result(chance, call) for call in calls]
    return [*messages, _answer(chance)] if chance.randrange(4) else messages


def _any_message(chance: random.Random, number: int) -> Data:
    role = chance.choice(ROLES)
    message = {**(_answer(chance) if role == "assistant" else _message(chance, role)), "role": role}
    if chance.randrange(4) == 0:
        message["tool_calls"] = [_call(chance, number)][: chance.randrange(2)]
    if chance.randrange(6) == 0:
        del message[chance.choice(("role", "content"))]
    return message


def _message(chance: random.Random, role: str) -> Data:
    return {"role": role, "content": _content(chance)}


def _content(chance: random.Random) -> Any:
    kind = chance.randrange(20)
    if kind == 0:
        return None
    if kind == 1:
        return [{"type": "text", "text": _text(chance)} for _ in range(chance.randrange(3))]
    return "" if kind == 2 else _text(chance)


def _answer(chance: random.Random) -> Data:
    message = _message(chance, "assistant")
    if chance.randrange(2):
        field = chance.choice(("reasoning_content", "reasoning_content", "reasoning", "thinking"))
        message[field] = _text(chance)
    return message


def _call(chance: random.Random, number: int) -> Data:
    arguments: Any = {_word(chance): _value(chance, depth=0) for _ in range(chance.randrange(4))}
    if chance.randrange(3) == 0:
        arguments = json.dumps(arguments, ensure_ascii=False)
    function = {"name": chance.choice(("get_weather", "search", "look_up")), "arguments": arguments}
    return {"id": f"call{number:05}", "type": "function", "function": function}


def _result(chance: random.Random, call: Data) -> Data:
    result = {"role": "tool", "tool_call_id": call["id"], "content": _content(chance)}
    return {**result, "name": call["function"]["name"]} if chance.randrange(2) else result


def _value(chance: random.Random, *, depth: int) -> Any:
    kind = chance.randrange(9 if depth < 2 else 7)
    if kind < 3:
        return _text(chance)
    if kind < 7:
        return chance.choice((7, 2.5, True, False, None, ""))
    values = [_value(chance, depth=depth + 1) for _ in range(chance.randrange(3))]
    return values if kind == 7 else {_word(chance): value for value in values}


def _text(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randrange(1, 9)):
        kinds = (WORDS, WORDS, WORDS, WORDS, SIGNS, TAGS)
        parts += [chance.choice(chance.choice(kinds)), chance.choice(SPACES)]
    return "".join(parts[chance.randrange(2) :])


def _word(chance: random.Random) -> str:
    return chance.choice(("city", "days", "naïve", "a b", "x-y", "items", "keys", "role"))


# ==================
# Runs
# ==================


def problem_of(trace: Trace, messages: list[Data], **others: Any) -> str | None:
    """Return a description of an error in the spans of a run on marked messages; None if they are right."""
    ends = [0, *(span.end for span in trace.spans)]
    starts = [*(span.start for span in trace.spans), len(trace.text)]
    if starts != ends or ends != sorted(ends):
        return "the spans do not tile"
    strays = Bodies(messages, **others).check(trace).strays
    return f"wrong owners: {', '.join(sorted(strays))}" if strays else None


def run(task: Task) -> Counter[str]:
    """Run a template on `count` conversations, from a seed. Return the number by outcome."""
    path, seed, count = task
    subject, chance = _subject(path), random.Random(f"{Path(path).name} {seed}")
    counts: Counter[str] = Counter()
    started = time.process_time()
    messages, tools = [], None
    for number in range(count):
        if number % 2 == 0:
            messages, tools = mark([random_messages(chance), chance.choice((*TOOL_SETS, [PLAIN_TOOL]))])
        arguments = {**REQUIRED, **chance.choice(subject.switches), "add_generation_prompt": bool(number % 2)}
        outcome, problem = _outcome(subject.template, messages, tools=tools, **arguments)
        counts[outcome] += 1
        if problem is not None:
            counts[f"WRONG: {Path(path).name}, seed {seed}, case {number}: {problem}"] += 1
    counts["conversations"] = count
    counts["milliseconds"] = round(1_000 * (time.process_time() - started))
    return counts


def _outcome(template: ChatTemplate, messages: list[Data], **arguments: Any) -> tuple[str, str | None]:
    """Run a template. Return the outcome, and a description of an error or None."""
    try:
        # With verify=True it raises if Jinja gives another text.
        trace = template.run(messages, now=NOW, **{**TOKENS, **arguments})
    except TemplateRefusalError:
        return "refused", None
    except TemplateLimitError:
        return "over a limit", None
    except TemplateRunError:
        return "failed", None
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    return "rendered", problem_of(trace, messages, **arguments)


def stress(
    cases: int, *, models: Sequence[str] = tuple(map(str, EACH_ONCE)), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Run `cases` conversations in total. Return the number by outcome, for each template."""
    return spread(run, cases, models=models, processes=processes)


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    columns = ["rendered", "refused", "failed", "over a limit"]
    return run_long_form(stress, description=__doc__, cases=2_000_000, what="conversations", columns=lambda _: columns)


if __name__ == "__main__":
    sys.exit(main())
