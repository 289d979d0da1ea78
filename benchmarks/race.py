"""Races: contestants run the same workloads in turn. The rules of all races, and their scores.

Every contestant is a process with one thread that reports its CPU time. Each round starts new processes, so that no
cache survives it. After a warm-up that is not counted the contestants take turns, part by part. Each part counts with
its fastest round, because noise only adds time. The score is the sum of all parts.
"""

from __future__ import annotations

import contextlib
import json
import math
import operator
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.models import Model
from benchmarks.peers import Peer, child_environment, find_python
from benchmarks.worker import Item

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
RULES = f"One thread for all: {', '.join(f'{name}={value}' for name, value in ONE_THREAD.items())}."

START = """
import runpy, sys
_, root, module, *sys.argv[1:] = sys.argv
sys.path.append(root)
runpy.run_module(module, run_name="__main__")
"""
"""Run a module of ours in an isolated interpreter. Our root comes last, so that packages of a peer take precedence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A contestant: the task of its worker, and the interpreter to start."""

    label: str
    task: str
    python: str = sys.executable
    gives_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Items in parts, and other items for the warm-up."""

    label: str
    warm_up: list[Item]
    parts: list[list[Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The CPU seconds of a contestant, and its output for each item."""

    seconds: float
    outputs: list[Any]


Answers = Mapping[Contestant, Answer]


@dataclass(slots=True, kw_only=True)
class Part:
    """The results of a contestant for a part of a workload, over all rounds so far."""

    items: int
    tokens: int
    seconds: float = math.inf
    """The CPU time of the fastest round."""
    same: int | None
    """The number of items with the expected output in every round; None if there is no expectation."""

    def add(self, answer: Answer, *, expected: list[Any] | None) -> None:
        """Add a round."""
        self.seconds = min(self.seconds, answer.seconds)
        if self.same is not None and expected is not None:
            self.same = min(self.same, sum(map(operator.eq, answer.outputs, expected)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The results of a contestant for a workload."""

    parts: dict[int, Part] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return sum(part.items for part in self.parts.values())

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts.values())

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts.values())

    @property
    def speed(self) -> float:
        """Tokens per second of CPU time."""
        return self.tokens / self.seconds

    @property
    def agreement(self) -> str:
        """The number of items with the expected output, as a table cell."""
        same = [part.same for part in self.parts.values() if part.same is not None]
        return f"{sum(same):,} of {self.items:,}" if len(same) == len(self.parts) else "–"


Place = tuple[Model, str]
Scores = dict[Place, dict[Contestant, Score]]
"""Scores by model and workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The contestants and settings of a race.

    Outputs are compared with those of `ours`. A contestant that gives text is compared with `leader`, which runs before
    all others. Its outputs are the `text` of the items of the others.
    """

    worker: str
    """The module that the processes of the contestants run."""
    contestants: Sequence[Contestant]
    rounds: int
    ours: Contestant
    leader: Contestant | None = None
    needed: Collection[Contestant] = ()
    """The contestants that must not fail; the others are skipped when they fail."""
    count_tokens: Callable[[Sequence[Item], Answers], int]

    def run(self, model: Model, workloads: Sequence[Workload]) -> Scores:
        """Run all workloads of a model with all contestants, round by round.

        Raises:
            WorkerError: A needed contestant failed.
        """
        scores: Scores = {(model, load.label): {entry: Score() for entry in self.contestants} for load in workloads}
        active = list(self.contestants)
        for _ in range(self.rounds):
            with contextlib.ExitStack() as stack:
                workers = {entry: stack.enter_context(Worker(model, entry, module=self.worker)) for entry in active}
                for load in workloads:
                    self._run_part(workers, load.warm_up)
                for load in workloads:
                    for number, items in enumerate(load.parts):
                        self._count(scores[model, load.label], number, items, self._run_part(workers, items))
                active = list(workers)
        return {place: {entry: row[entry] for entry in active} for place, row in scores.items()}

    def _run_part(self, workers: dict[Contestant, Worker], items: Sequence[Item]) -> Answers:
        """Run the same items with all workers, one after the other. Remove a worker that fails."""
        answers = {}
        for entry in sorted(workers, key=lambda entry: entry != self.leader):
            try:
                answers[entry] = workers[entry].measure(items)
            except WorkerError as error:
                if entry in self.needed:
                    raise
                print(f"Skipped: {error}\n")
                del workers[entry]
            else:
                if entry == self.leader:
                    items = [{**item, "text": text} for item, text in zip(items, answers[entry].outputs, strict=True)]
        return answers

    def _count(self, row: Mapping[Contestant, Score], number: int, items: Sequence[Item], answers: Answers) -> None:
        """Add the answers for a part of a workload to the scores."""
        tokens = self.count_tokens(items, answers)
        for entry, answer in answers.items():
            reference = self.leader if entry.gives_text else self.ours
            expected = answers[reference].outputs if reference and reference in answers and reference != entry else None
            same = None if expected is None else len(expected)
            blank = Part(items=len(items), tokens=tokens, same=same)
            row[entry].parts.setdefault(number, blank).add(answer, expected=expected)


class WorkerError(Exception):
    """A contestant failed."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(f"{label}: {reason}")
        self.reason = reason


class Worker:
    """The process of a contestant, which loads a model and then waits for items."""

    def __init__(self, model: Model, contestant: Contestant, *, module: str) -> None:
        self._label = f"{contestant.label} on {model.label}"
        # -I keeps this directory and PYTHON* variables from changing the imports.
        start = [contestant.python, "-I", "-c", START, str(ROOT), module]
        self._process = subprocess.Popen(
            [*start, contestant.task, model.name, str(model.vocabulary)],
            env=child_environment(**ONE_THREAD),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self, items: Sequence[Item]) -> Answer:
        """Run items and return the answer.

        Raises:
            WorkerError: The contestant failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A process that failed reads no more, but its answer is still in the pipe.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(items) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"ended with exit status {self._process.wait()}"}
        if "error" in answer:
            raise WorkerError(self._label, answer["error"])
        return Answer(**answer)


def peers_as(task: str, *peers: Peer) -> list[Contestant]:
    """Return the peers as contestants in a task, except those without an environment."""
    interpreters = {peer: find_python(peer) for peer in peers}
    return [Contestant(label=peer.label, task=task, python=python) for peer, python in interpreters.items() if python]


def cut_into_parts(items: list[Item], *, size: int) -> list[list[Item]]:
    """Return the items in parts of `size`; the last may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def speed_ratios(scores: Scores, over: str, under: str) -> dict[Place, float]:
    """Return the speed of a contestant relative to another, by label, for each workload that both ran."""
    ratios = {}
    for place, row in scores.items():
        speeds = {entry.label: score.speed for entry, score in row.items()}
        if over in speeds and under in speeds:
            ratios[place] = speeds[over] / speeds[under]
    return ratios


def show_ratios(ratios: Mapping[Place, float]) -> str:
    """Return the ratios as a line."""
    return ", ".join(f"{model.label} {load} {ratio:.2f}" for (model, load), ratio in ratios.items()) or "not measured"
