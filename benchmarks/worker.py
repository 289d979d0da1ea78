"""The process of a contestant: load a model, then answer requests line by line.

    python -m benchmarks.worker CONTESTANT MODEL VOCABULARY

A request is a line of JSON: a task and its items. The answer is a line of JSON: the CPU seconds of the process for all
items, those for the first item, and a digest of each output. If a task fails, the answer is the error.

Workers also run in the environments of other packages, so this file imports only the standard library.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import time
from array import array
from typing import Any

from benchmarks.contestants import CONTESTANTS, Model, Steps


def main() -> None:
    """Answer requests as the contestant on the command line."""
    contestant, *model = sys.argv[1:]
    # Keeps the output of libraries apart from the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    tasks: Any = None
    for line in sys.stdin:
        try:
            tasks = tasks or CONTESTANTS[contestant](Model(*model))
            request = json.loads(line)
            answer = _measure(tasks[request["task"]], request["items"])
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def _measure(steps: Steps, items: list[Any]) -> dict[str, Any]:
    """Run the items one after the other. Only `run` is measured."""
    prepared = [steps.prepare(item) for item in items]
    # Keeps earlier garbage, and the traversal of the items, out of the measurement.
    gc.collect()
    gc.freeze()
    start = time.process_time()
    outputs = [steps.run(argument) for argument in prepared[:1]]
    first = time.process_time() - start
    outputs += [steps.run(argument) for argument in prepared[1:]]
    seconds = time.process_time() - start
    gc.unfreeze()
    digests = [_digest(steps.finish(*pair)) for pair in zip(prepared, outputs, strict=True)]
    return {"seconds": seconds, "first": first, "digests": digests}


def _digest(output: Any) -> str:
    try:
        data = array("q", output).tobytes()
    except TypeError:
        # Not ids.
        data = json.dumps(output, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


if __name__ == "__main__":
    main()
