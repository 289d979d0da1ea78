"""Render conversations with release 0.1, in its own environment.

    python -I scripts/ledger_worker.py < JOB

Read a JSON job from standard input: `models`, a list of repository names, and `cases`, each with `messages`, `tools`,
`add_generation_prompt` and `switches`. Print a line of JSON for each model: its `family`, or None if release 0.1
has none; an `error` if it does not load; else `renders`, with the ids and masks of each case, or an error.

This file runs in another environment, in which `renderers` is release 0.1. It uses only the public API.
"""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from typing import Any

Data = dict[str, Any]

FIELDS = ("token_ids", "message_indices", "sampled_mask", "is_content")


def answer(model: str, cases: list[Data]) -> Data:
    """Render all cases with a model."""
    base = _import_module("renderers.base")
    family = base.MODEL_RENDERER_MAP.get(model)
    result: Data = {"model": model, "family": family}
    if family is None:
        return result
    try:
        tokenizer = base.load_tokenizer(model)
    except Exception as error:
        return {**result, "error": _describe(error)}
    renderers: dict[str, Any] = {}
    return {**result, "renders": [_render(tokenizer, case, renderers) for case in cases]}


def _render(tokenizer: Any, case: Data, renderers: dict[str, Any]) -> Data:
    key = json.dumps(case["switches"], sort_keys=True)
    try:
        if key not in renderers:
            create = _import_module("renderers").create_renderer
            renderers[key] = create(tokenizer, chat_template_kwargs=case["switches"])
        # A copy, so that a renderer that modifies its input does not change the next render.
        messages, tools = json.loads(json.dumps([case["messages"], case["tools"]]))
        prompt = case["add_generation_prompt"]
        rendered = renderers[key].render(messages, tools=tools, add_generation_prompt=prompt)
    except Exception as error:
        return {"error": _describe(error)}
    return {name: [int(value) for value in getattr(rendered, name)] for name in FIELDS}


def _import_module(module: str) -> Any:
    # A static import would make type checkers use the package of this repository.
    return importlib.import_module(module)


def _describe(error: Exception) -> str:
    return textwrap.shorten(f"{type(error).__name__}: {error}", 90, placeholder=" …")


def main() -> None:
    """Print the answers model by model."""
    # Keeps the output of libraries apart from the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    job = json.load(sys.stdin)
    for model in job["models"]:
        print(json.dumps(answer(model, job["cases"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
