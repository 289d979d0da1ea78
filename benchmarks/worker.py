"""The main loop of all workers.

A worker is started with the name of a contestant, a model and the path of its `tokenizer.json`. It reads lines of JSON
from standard input, each a list of items. It answers each with a line: the CPU seconds of the process for these items,
and the output for each. After a failure the answer is the error, and the process ends.

Workers also run in the environments of other packages, so this file imports only the standard library.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Item = dict[str, Any]
"""An item of a workload, as JSON data."""


class Model(NamedTuple):
    """The model to load: a repository name or directory, and the path of its `tokenizer.json`."""

    name: str
    vocabulary: str


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The functions that a contestant applies to an item. Only `run` is measured."""

    run: Callable[[Any], Any]
    prepare: Callable[[Item], Any] = lambda item: item
    """Return the argument of `run`."""
    finish: Callable[[Any, Any], Any] = lambda prepared, output: output  # noqa: ARG005
    """Return the output as JSON data, from the argument and the result of `run`."""


def load_renderer(model: Model) -> Any:
    """Return a renderer of the `renderers` package in this environment: this release or release 0.1."""
    from renderers import create_renderer
    from renderers.base import load_tokenizer

    return create_renderer(load_tokenizer(model.name))


def serve(contestants: Mapping[str, Callable[[Model], Steps]]) -> None:
    """Answer line by line, as the contestant on the command line."""
    contestant, *model = sys.argv[1:]
    # Keeps the output of libraries apart from the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        steps = contestants[contestant](Model(*model))
        for line in sys.stdin:
            print(json.dumps(_measure(steps, json.loads(line))), file=answers, flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)


def _measure(steps: Steps, items: list[Item]) -> dict[str, Any]:
    """Run the items one after the other."""
    prepared = [steps.prepare(item) for item in items]
    # Keeps earlier garbage out of the measurement.
    gc.collect()
    start = time.process_time()
    outputs = [steps.run(argument) for argument in prepared]
    seconds = time.process_time() - start
    return {"seconds": seconds, "outputs": list(map(steps.finish, prepared, outputs))}
