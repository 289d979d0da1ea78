"""Build training samples from random conversations with every model of the hub, and check every row.

    python -m tests.stress_training --cases 1500

Each sampled token must be trained once, in the context of its generation prompt, every row must be a render of its own
prefix, and there must be no more rows than necessary. One conversation in ten has up to
60 turns, so that only some of them are compared while the rows are built.
"""

from __future__ import annotations

import functools
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from renderers import (
    EMBEDDED,
    ChatRenderer,
    MissingStopWarning,
    PromptMismatchWarning,
    TemplateError,
    build_training_samples,
    create_renderer,
    load_tokenizer,
)
from tests.support.models import one_model_per_template
from tests.support.rows import TOOLS, as_few_rows, problem_of, random_chat
from tests.support.sources import Task, spread
from tests.support.stress_report import run_long_form

__all__ = ["run", "stress"]

MODELS = [str(EMBEDDED), *one_model_per_template()]
PORTION = 20

Message = dict[str, Any]


@functools.lru_cache(maxsize=2)
def renderer_of(name: str) -> ChatRenderer:
    return create_renderer(load_tokenizer(name))


def run(task: Task, *, longest: int = 60) -> Counter[str]:
    """Build the samples of `count` conversations, from a seed. Return the number by outcome."""
    name, seed, count = task
    renderer, counts = renderer_of(name), Counter[str]()
    started = time.perf_counter()
    for number in range(count):
        chance = random.Random(seed * count + number)
        messages = random_chat(chance, turns=chance.randint(1, longest if number % 10 == 9 else 9))
        tools = chance.choice((None, TOOLS))
        counts += _outcome(renderer, messages, tools)
    counts["conversations"] = count
    counts["milliseconds"] = round(1000 * (time.perf_counter() - started))
    return counts


def _outcome(
    renderer: ChatRenderer, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
) -> Counter[str]:
    try:
        renderer.render_ids(messages, tools=tools)
    except TemplateError:
        return Counter(refused=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingStopWarning)
        warnings.simplefilter("ignore", PromptMismatchWarning)
        samples = build_training_samples(renderer, messages, tools=tools)
        problem = problem_of(renderer, messages, samples, tools=tools)
        if problem is None and len(samples) > as_few_rows(renderer, messages, tools=tools):
            problem = "there are more rows than necessary"
    counts = Counter(
        turns=sum(len(sample.turns) for sample in samples),
        rows=len(samples),
        tokens=sum(len(sample.token_ids) for sample in samples),
    )
    if problem is not None:
        counts[f"WRONG: {problem}: {messages} with {tools}"] += 1
    return counts


def stress(
    cases: int, *, models: Sequence[str] = tuple(MODELS), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Build the samples of `cases` conversations in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes, portion=PORTION)


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    return run_long_form(
        stress,
        description=__doc__,
        cases=1_500,
        what="conversations",
        columns=lambda outcomes: ("refused", "turns", "rows", "tokens"),
    )


if __name__ == "__main__":
    sys.exit(main())
