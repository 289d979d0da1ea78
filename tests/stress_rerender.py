"""Compare bridges with renders: made-up templates, and random completions of real models.

    python -m tests.stress_rerender --cases 100000

A bridge of a turn that the template wrote has the ids of a render, or is refused. A bridge of any completion with
`matches_rerender=True` has the ids of a render of the parsed turn.
"""

from __future__ import annotations

import functools
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

from renderers import (
    EMBEDDED,
    Bridge,
    ChatRenderer,
    MessageError,
    TemplateError,
    create_renderer,
    load_tokenizer,
)
from tests.stress_bridging import FOLLOWING
from tests.support.conversations import TOOLS
from tests.support.made_up_templates import Message, conversation, made_up_template
from tests.support.sources import MODELS, Task, source_of, spread
from tests.support.stress_report import run_long_form

__all__ = ["TEMPLATES", "run", "stress"]

TEMPLATES = "made-up templates"
PER_TEMPLATE = 16
"""How many conversations are bridged with a template."""
OUTCOMES = ("equal", "differs, not claimed", "refused", "rejected", "not parsed")
ASK: Message = {"role": "user", "content": "What is the weather?"}
CALL = {"id": "call00000", "type": "function", "function": {"name": "search", "arguments": {"query": "x"}}}
HISTORIES: tuple[tuple[Message, ...], ...] = (
    (ASK,),
    ({"role": "system", "content": "Be brief."}, ASK),
    (ASK, {"role": "assistant", "content": "Rain.", "reasoning_content": "Hm."}, ASK),
    (
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call00000", "name": "search", "content": "3"},
    ),
)


def bridge_of_template(renderer: ChatRenderer, chance: random.Random) -> tuple[str, str]:
    """Bridge a turn that the template of a renderer wrote. Return the outcome, and a description."""
    history, turn, new = conversation(chance)
    try:
        prompt = renderer.render_ids(history, add_generation_prompt=True)
        alone = renderer.render_ids([*history, turn])
        full = renderer.render_ids([*history, turn, *new], add_generation_prompt=True)
    except (MessageError, TemplateError):
        return "rejected", ""
    completion = alone[len(prompt) :]
    parsed: Message = {**renderer.parse_response(completion, prompt_ids=prompt).to_message()}
    calls, parsed_calls = ([call["function"] for call in each.get("tool_calls", [])] for each in (turn, parsed))
    is_parsed = parsed["content"] == turn["content"] and parsed_calls == calls
    if alone[: len(prompt)] != prompt or not is_parsed:
        return "not parsed", ""
    bridged = renderer.bridge(prompt, completion, new)
    if not isinstance(bridged, Bridge):
        return "refused", ""
    if bridged.tokens.token_ids == full:
        return "equal", ""
    claimed = "claimed" if bridged.matches_rerender else "not claimed"
    return "WRONG", f"{claimed}: {turn} after {history}, then {new}, with {renderer.template().source!r}"


@functools.lru_cache(maxsize=1)
def prompts_of(name: str) -> dict[tuple[int, bool], list[int]]:
    """Return the prompts of a model, by the index of the history and whether there are tools."""
    renderer, prompts = source_of(name).renderer, {}
    for index, history in enumerate(HISTORIES):
        for with_tools in (False, True):
            try:
                tools = TOOLS[1:] if with_tools else None
                prompts[index, with_tools] = renderer.render_ids(list(history), tools=tools, add_generation_prompt=True)
            except (MessageError, TemplateError):
                continue
    return prompts


def bridge_of_model(name: str, new: Sequence[Message], chance: random.Random) -> tuple[str, str]:
    """Bridge a random completion of a model. Return the outcome, and a description."""
    source = source_of(name)
    (index, with_tools), prompt = chance.choice(list(prompts_of(name).items()))
    tools, completion = TOOLS[1:] if with_tools else None, [*map(abs, source.completion(chance))]
    try:
        bridged = source.renderer.bridge(prompt, completion, new, tools=tools)
    except MessageError:
        return "rejected", ""
    if not isinstance(bridged, Bridge):
        return "refused", ""
    if not bridged.matches_rerender:
        return "differs, not claimed", ""
    turn = source.renderer.parse_response(completion, prompt_ids=prompt, tools=tools).to_message()
    try:
        full = source.renderer.render_ids([*HISTORIES[index], turn, *new], tools=tools, add_generation_prompt=True)
    except (MessageError, TemplateError) as error:
        return "WRONG", f"{error}: {completion} after {index} {with_tools}, then {new}"
    if bridged.tokens.token_ids == full:
        return "equal", ""
    return "WRONG", f"{completion} after {index} {with_tools}, then {new}"


def run(task: Task) -> Counter[str]:
    """Bridge `count` rollouts of a model, or of made-up templates, from a seed. Return the number by outcome."""
    name, seed, count = task
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for number in range(count):
        if name != TEMPLATES:
            new = chance.choice([messages for messages in FOLLOWING[: 8 + seed] if messages])
            outcome, detail = bridge_of_model(name, new, chance)
        else:
            if number % PER_TEMPLATE == 0:
                renderer = create_renderer(
                    load_tokenizer(EMBEDDED), chat_template=made_up_template(chance), on_loss="ignore", verify=False
                )
            outcome, detail = bridge_of_template(renderer, chance)
        counts[f"WRONG: {name}: {detail}" if outcome == "WRONG" else outcome] += 1
    counts["rollouts"] = count
    counts["milliseconds"] = round(1000 * (time.perf_counter() - started))
    return counts


def stress(
    cases: int, *, models: Sequence[str] = (TEMPLATES, *MODELS), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Bridge `cases` rollouts in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes, portion=800)


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    return run_long_form(stress, description=__doc__, cases=100_000, what="rollouts", columns=lambda _: OUTCOMES)


if __name__ == "__main__":
    sys.exit(main())
