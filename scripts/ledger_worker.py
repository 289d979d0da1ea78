"""What the incumbent makes of conversations, in an environment of its own.

    python -I scripts/ledger_worker.py < JOB

Reads a JSON job from standard input: `models`, which are names of repositories, and `cases`, each with `messages`,
`tools`, `add_generation_prompt` and `switches`. Answers with a line of JSON for each model: its `family`, None where
the incumbent has none for it; an `error` where it does not load; else `renders`, one for each case: its ids and masks,
or the type and text of an error.

This file is run by another environment than ours, in which `renderers` is the incumbent. It uses nothing of it but what
is public.
"""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from typing import Any

__all__ = ["FIELDS", "answer"]

Data = dict[str, Any]

FIELDS = ("token_ids", "message_indices", "sampled_mask", "is_content")


def answer(model: str, cases: list[Data]) -> Data:
    """Renders all cases with a model."""
    base = _incumbent("renderers.base")
    family = base.MODEL_RENDERER_MAP.get(model)
    found: Data = {"model": model, "family": family}
    if family is None:
        return found
    try:
        tokenizer = base.load_tokenizer(model)
    except Exception as error:
        return {**found, "error": _said(error)}
    renderers: dict[str, Any] = {}
    return {**found, "renders": [_render(tokenizer, case, renderers) for case in cases]}


def _render(tokenizer: Any, case: Data, renderers: dict[str, Any]) -> Data:
    key = json.dumps(case["switches"], sort_keys=True)
    try:
        if key not in renderers:
            create = _incumbent("renderers").create_renderer
            renderers[key] = create(tokenizer, chat_template_kwargs=case["switches"])
        # A copy: what a renderer does to its input must not change the next render.
        messages, tools = json.loads(json.dumps([case["messages"], case["tools"]]))
        prompt = case["add_generation_prompt"]
        rendered = renderers[key].render(messages, tools=tools, add_generation_prompt=prompt)
    except Exception as error:
        return {"error": _said(error)}
    return {name: [int(value) for value in getattr(rendered, name)] for name in FIELDS}


def _incumbent(module: str) -> Any:
    # By name, as type checkers would look at the package of the same name that this repository has.
    return importlib.import_module(module)


def _said(error: Exception) -> str:
    return textwrap.shorten(f"{type(error).__name__}: {error}", 90, placeholder=" …")


def main() -> None:
    """Answers model by model."""
    # What a library prints is not an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    job = json.load(sys.stdin)
    for model in job["models"]:
        print(json.dumps(answer(model, job["cases"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
