"""Races: contestants run the same items in turn, round by round, and each round gives one ratio.

Every contestant is a process with one thread that reports its CPU time. In each round every contestant runs every
workload, with items that no process has seen before. The outputs of a warm-up and of all rounds are compared with ours.
The result is the median of the ratios of all rounds, with the smallest and the largest.
"""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contestants import Item
from benchmarks.models import Model
from benchmarks.peers import OLD_RELEASE, TML, TOKENIZERS, TRANSFORMERS, Peer, child_environment, find_python
from renderers.core.native import COMPILED

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

START = """
import runpy, sys
_, ours, root, *sys.argv[1:] = sys.argv
sys.path[:] = [*filter(None, [ours]), *sys.path, root]
runpy.run_module("benchmarks.worker", run_name="__main__")
"""
"""Run a worker in an isolated interpreter: with our sources first, or with the packages of a peer first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A contestant in a race: its name in tables, its function in `benchmarks.contestants`, and its environment."""

    label: str
    contestant: str
    peer: Peer | None = None
    """The peer that has an environment of its own; None for ours."""
    not_compared: frozenset[str] = frozenset()
    """The tasks with outputs of another kind than ours."""
    is_first: bool = False
    """True for a process on a machine that has no compiled vocabulary yet."""

    @property
    def python(self) -> str | None:
        """The interpreter to start; None if the environment cannot be created."""
        return sys.executable if self.peer is None else find_python(self.peer)


OURS = Entry(label="this package", contestant="ours")
FIRST = Entry(label="this package, no compiled vocabulary", contestant="ours", is_first=True)
BATCHES = Entry(label="render_batch", contestant="ours_in_batches")
WITHOUT_C = Entry(label="without C", contestant="ours_without_c")
OLD = Entry(label=OLD_RELEASE.label, contestant="old_release", peer=OLD_RELEASE)
RAW = Entry(label=TOKENIZERS, contestant="raw_tokenizers", not_compared=frozenset({"parse"}))
AUTO = Entry(label=TRANSFORMERS, contestant="transformers")
TML_ENTRY = Entry(label=TML.label, contestant="tml", peer=TML)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A task, and a function that makes new items for each seed. An item has the number of its `tokens`."""

    label: str
    task: str
    make: Callable[[str], list[Item]]
    entries: frozenset[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The CPU seconds of a contestant for all items and for the first, and a digest of each output."""

    seconds: float
    first: float
    digests: list[str]


UNEQUAL = "≠"
"""The mark of ratios of workloads with unequal outputs."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of values, and their range."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.low)}–{number(self.high)})"


def number(value: float) -> str:
    """Return a value with about three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass(slots=True, kw_only=True)
class Result:
    """The rounds of a workload."""

    model: str
    workload: str
    items: int = 0
    """The number of items of a round."""
    tokens: list[int] = field(default_factory=list)
    """The number of tokens of each round."""
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    """The answers of all rounds, by the name of the contestant."""
    same: dict[str, list[bool]] = field(default_factory=dict)
    """Whether each output was equal to ours, by the name of the contestant."""
    failures: dict[str, str] = field(default_factory=dict)

    def seconds(self, label: str) -> float:
        """Return the median CPU seconds of a round."""
        return statistics.median(answer.seconds for answer in self.answers[label])

    def first(self, label: str) -> float:
        """Return the median CPU seconds of the first item of a round."""
        return statistics.median(answer.first for answer in self.answers[label])

    def ratio(self, over: str, under: str = OURS.label, *, of: str = "seconds") -> Spread:
        """Return the time of a contestant divided by that of another, round by round."""
        read: Callable[[Answer], float] = operator.attrgetter(of)
        pairs = zip(self.answers[over], self.answers[under], strict=True)
        return Spread.of([read(left) / read(right) for left, right in pairs])

    def marked_ratio(self, over: str, under: str = OURS.label) -> str:
        """Return a ratio of times as a cell of the summary, marked if an output of the two was not equal to ours."""
        is_equal = all(self.same.get(over, ())) and all(self.same.get(under, ()))
        return f"{self.ratio(over, under)}{'' if is_equal else f' {UNEQUAL}'}"

    def agreement(self, label: str) -> str:
        """Return the number of outputs that were equal to ours, as a table cell."""
        same = self.same.get(label, [])
        return f"{sum(same):,} of {len(same):,}" if same else "–"


class WorkerError(Exception):
    """A contestant failed."""


@contextlib.contextmanager
def environment_of(entry: Entry, model: Model) -> Iterator[dict[str, str]]:
    """Return the environment of a process, with a cache folder that has the compiled vocabulary, or an empty one."""
    with tempfile.TemporaryDirectory() as empty:
        folder = empty if entry.is_first else _compiled(model)
        yield child_environment(**ONE_THREAD, RENDERERS_CACHE=folder)


@functools.cache
def _compiled(model: Model) -> str:
    """Compile the vocabulary of a model to a cache folder of the benchmarks. Return the folder.

    Without the C extension nothing is compiled.

    Raises:
        CalledProcessError: The vocabulary cannot be compiled. Its process has printed the reason.
    """
    folder = str(ROOT / ".cache" / "vocabularies")
    command = [sys.executable, "-m", "renderers", "compile", model.name]
    if COMPILED:
        environment = child_environment(RENDERERS_CACHE=folder)
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


class Worker:
    """The process of a contestant, which loads a model at the first request."""

    def __init__(self, model: Model, entry: Entry, python: str) -> None:
        # -I keeps this directory and PYTHON* variables from changing the imports.
        command = [python, "-I", "-c", START, "" if entry.peer else str(ROOT / "src"), str(ROOT)]
        self._environment = contextlib.ExitStack()
        self._process = subprocess.Popen(
            [*command, entry.contestant, model.name, str(model.vocabulary)],
            env=self._environment.enter_context(environment_of(entry, model)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._environment.close()

    def run(self, task: str, items: Sequence[Any]) -> Answer:
        """Run items and return the answer.

        Raises:
            WorkerError: The contestant failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A process that ended reads no more, but its answer is still in the pipe.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"task": task, "items": items}) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"ended with exit status {self._process.wait()}"}
        if "error" in answer:
            raise WorkerError(answer["error"])
        return Answer(**answer)


def race(model: Model, workloads: Sequence[Workload], *, rounds: int) -> list[Result]:
    """Run all workloads in the steady state: processes that have loaded the fast engine and have run every workload."""
    results = [Result(model=model.label, workload=workload.label) for workload in workloads]
    with _workers(model, workloads) as workers:
        for entry in {OURS, BATCHES, WITHOUT_C} & workers.keys():
            workers[entry].run("warm_up", [None])
        for seed in range(-1, rounds):
            for workload, result in zip(workloads, results, strict=True):
                items = workload.make(f"{workload.label} {seed}")
                _run_round(workers, workload, items, result, seed=seed)
    return results


def race_from_start(model: Model, workloads: Sequence[Workload], *, rounds: int) -> list[Result]:
    """Run each workload in new processes that have loaded the model and done nothing else."""
    results = [Result(model=model.label, workload=workload.label) for workload in workloads]
    for seed in range(rounds):
        for workload, result in zip(workloads, results, strict=True):
            with _workers(model, [workload]) as workers:
                _run_round(workers, workload, workload.make(f"{workload.label} {seed}"), result, seed=seed)
    return results


@contextlib.contextmanager
def _workers(model: Model, workloads: Sequence[Workload]) -> Iterator[dict[Entry, Worker]]:
    """Start a process for each contestant of the workloads."""
    entries = {entry: entry.python for workload in workloads for entry in workload.entries}
    with contextlib.ExitStack() as stack:
        yield {entry: stack.enter_context(Worker(model, entry, python)) for entry, python in entries.items() if python}


def _run_round(
    workers: Mapping[Entry, Worker], workload: Workload, items: list[Item], result: Result, *, seed: int
) -> None:
    """Run the items with all contestants, and add the answers to the result. Drop a contestant that fails.

    A negative seed is a warm-up. Each round has another order.
    """
    answers: dict[Entry, Answer] = {}
    order = sorted(workload.entries & workers.keys(), key=lambda entry: entry.label)
    turn = seed % len(order)
    for entry in order[turn:] + order[:turn]:
        if entry.label in result.failures:
            continue
        try:
            answers[entry] = workers[entry].run(workload.task, items)
        except WorkerError as error:
            result.failures[entry.label] = str(error)
            result.answers.pop(entry.label, None)
    for entry, answer in answers.items():
        if entry != OURS and OURS in answers and workload.task not in entry.not_compared:
            same = map(operator.eq, answer.digests, answers[OURS].digests)
            result.same.setdefault(entry.label, []).extend(same)
        if seed >= 0:
            result.answers.setdefault(entry.label, []).append(answer)
    if seed >= 0:
        result.items = len(items)
        result.tokens.append(sum(item["tokens"] for item in items))
