"""Render millions of random conversations with every template and model: each word is in the ids, or it is a loss.

    python -m tests.stress_losses --cases 500000

Every word of a field has a unique number. A word that is not in the decoded ids must be in a field of
`RenderedTokens.losses`. A field of which all is lost must have no word in them. Templates are run with the tokenizer of
the embedded model.
"""

from __future__ import annotations

import functools
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.configs import DefaultRendererConfig
from renderers.errors import MessageError, TemplateError
from tests.stress_templates import random_messages
from tests.support.models import one_model_per_template
from tests.support.parity import EACH_ONCE, PLAIN_TOOL, REQUIRED, TOOL_SETS, Data, mark
from tests.support.planting import SHAPES, problems_of
from tests.support.sources import Task, spread
from tests.support.stress_report import run_long_form

__all__ = ["check", "renderer_of", "run", "stress"]

PLANTED = 4
"""One of this many conversations is one of the shapes for planting."""


@functools.lru_cache(maxsize=1)
def renderer_of(source: str) -> ChatRenderer:
    """Return the renderer of a model, or of a template file with the tokenizer of the embedded model."""
    with warnings.catch_warnings(action="ignore"):
        if not source.endswith(".jinja"):
            return create_renderer(load_tokenizer(source), on_loss="ignore")
        template = Path(source).read_text(encoding="utf-8")
        config = DefaultRendererConfig(on_loss="ignore", **REQUIRED)
        return create_renderer(load_tokenizer(EMBEDDED), config, chat_template=template)


def check(renderer: ChatRenderer, messages: list[Data], tools: list[Data] | None, **options: Any) -> list[str] | None:
    """Render a conversation of numbered words. Return the problems; None if the template refuses it."""
    messages, tools = mark([messages, tools])
    try:
        rendered = renderer.render(messages, tools=tools, process_multimodal=False, **options)
    except (MessageError, TemplateError):
        return None
    return problems_of(renderer.tokenizer.decode(rendered.token_ids), rendered.losses, messages, tools)


def run(task: Task) -> Counter[str]:
    """Render `count` conversations, from a seed. Return the number by outcome."""
    source, seed, count = task
    renderer, chance = renderer_of(source), random.Random(f"{Path(source).name} {seed}")
    counts: Counter[str] = Counter()
    started = time.process_time()
    for number in range(count):
        messages = random_messages(chance)
        if chance.randrange(PLANTED) == 0:
            messages = chance.choice(list(SHAPES.values()))
        tools = chance.choice((*TOOL_SETS, [PLAIN_TOOL]))
        problems = check(renderer, messages, tools, add_generation_prompt=bool(chance.randrange(2)))
        counts["refused" if problems is None else "rendered"] += 1
        if problems:
            counts[f"WRONG: {Path(source).name}, seed {seed}, case {number}: {problems[0]}"] += 1
    counts["conversations"] = count
    counts["milliseconds"] = round(1_000 * (time.process_time() - started))
    return counts


def stress(
    cases: int,
    *,
    models: Sequence[str] = (*map(str, EACH_ONCE), *one_model_per_template()),
    processes: int | None = None,
) -> dict[str, Counter[str]]:
    """Render `cases` conversations in total. Return the number by outcome, for each template and model."""
    return spread(run, cases, models=models, processes=processes)


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    columns = ["rendered", "refused"]
    return run_long_form(stress, description=__doc__, cases=500_000, what="conversations", columns=lambda _: columns)


if __name__ == "__main__":
    sys.exit(main())
