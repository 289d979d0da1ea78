"""What every worker does, whatever its contestants are about.

A worker is started with the name of a contestant, of a model and of its `tokenizer.json`. It reads lines of JSON from
standard input, each a list of items. It answers each with a line: the CPU seconds of the whole process that the items
took, and what came out of each. Where something fails, the answer is the error, and the process ends.

Workers are run by other environments than ours, so this file imports nothing but the standard library.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Item", "Model", "Steps", "load_renderer", "serve"]

Item = dict[str, Any]
"""What a contestant is to do something with, as JSON data."""


class Model(NamedTuple):
    """What to load: a repository's name or a directory, and the path of its `tokenizer.json`."""

    name: str
    vocabulary: str


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What a contestant does with an item. Only `run` is measured."""

    run: Callable[[Any], Any]
    prepare: Callable[[Item], Any] = lambda item: item
    """Returns what `run` takes."""
    finish: Callable[[Any, Any], Any] = lambda given, output: output  # noqa: ARG005
    """Returns JSON data, from what `run` took and what it gave."""


def load_renderer(model: Model) -> Any:
    """Returns the renderer of the environment's own `renderers`: ours or the incumbent's."""
    from renderers import create_renderer
    from renderers.base import load_tokenizer

    return create_renderer(load_tokenizer(model.name))


def serve(contestants: Mapping[str, Callable[[Model], Steps]]) -> None:
    """Answers line by line, as the contestant that the command line names."""
    contestant, *model = sys.argv[1:]
    # What a library prints is not an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        steps = contestants[contestant](Model(*model))
        for line in sys.stdin:
            print(json.dumps(_measure(steps, json.loads(line))), file=answers, flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)


def _measure(steps: Steps, items: list[Item]) -> dict[str, Any]:
    """Runs the items one after the other."""
    given = [steps.prepare(item) for item in items]
    # Else one contestant would pay for the garbage of what was before.
    gc.collect()
    start = time.process_time()
    outputs = [steps.run(one) for one in given]
    seconds = time.process_time() - start
    return {"seconds": seconds, "outputs": list(map(steps.finish, given, outputs))}
