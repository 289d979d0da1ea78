"""Benchmark of a pool of many renderers against a pool of one, each in a new process.

CPU seconds are measured from the start of the process until the pool is created. Memory is the resident size after all
renderers of the pool were checked out at the same time and have rendered.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.peers import MEMORY, child_environment

SIZES = (1, 32)
GOAL = 1.1  # upper bound of the large pool over the small one

CODE = f"""
import contextlib, sys, time
from renderers import create_renderer_pool
name, size = sys.argv[1], int(sys.argv[2])
pool = create_renderer_pool(name, size=size)
seconds = time.process_time()
with contextlib.ExitStack() as loans:
    for renderer in [loans.enter_context(pool.checkout()) for _ in range(size)]:
        renderer.render_ids([{{"role": "user", "content": "Hello!"}}])
{MEMORY}
print(json.dumps({{"seconds": seconds, "resident": peak if after is None else after}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The CPU seconds and MiB of a pool."""

    seconds: float
    resident: float


def pool_lines(*, name: str, label: str, rounds: int) -> Iterator[str]:
    """Measure pools of a model in turn, after a round that is not counted, and yield their costs."""
    runs = [{size: _measure(name, size) for size in SIZES} for _ in range(1 + rounds)]
    small, large = (_sum_up([run[size] for run in runs[1:]]) for size in SIZES)
    for size, cost in zip(SIZES, (small, large), strict=True):
        yield f"{label}, a pool of {size}: {cost.seconds:.2f} s, {cost.resident:.0f} MiB"
    ratios = large.seconds / small.seconds, large.resident / small.resident
    met = "met" if max(ratios) < GOAL else "not met"
    yield (
        f"Goal, a pool of {SIZES[1]} under {GOAL} of a pool of {SIZES[0]}: "
        f"{met} (time {ratios[0]:.2f}, memory {ratios[1]:.2f})"
    )


def _measure(name: str, size: int) -> Cost:
    # -I keeps this directory and PYTHON* variables from changing the imports.
    command = [sys.executable, "-I", "-c", CODE, name, str(size)]
    run = subprocess.run(command, check=True, env=child_environment(), stdout=subprocess.PIPE, text=True)
    return Cost(**json.loads(run.stdout))


def _sum_up(costs: list[Cost]) -> Cost:
    """Return the minimum time, because noise only adds to it, and the median memory."""
    resident = statistics.median(cost.resident for cost in costs)
    return Cost(seconds=min(cost.seconds for cost in costs), resident=resident)
