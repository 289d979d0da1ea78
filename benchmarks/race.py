"""Contestants that run the same workloads in turns: the rules of all races, and how their outcome is told.

Every contestant is a process of its own, which says how much CPU time it took; all of them run on one thread. A round
starts new processes, so that nothing that one remembers can help it in the next round. After a part that is not
counted the contestants take turns, part by part. Each part counts with its fastest round, for noise only slows down;
the parts are added up.
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

__all__ = [
    "RULES",
    "Contestant",
    "Race",
    "Scores",
    "Worker",
    "WorkerError",
    "Workload",
    "cut_into_parts",
    "goal_line",
    "peers_as",
    "show_ratios",
    "speed_ratios",
]

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
RULES = f"One thread for all: {', '.join(f'{name}={value}' for name, value in ONE_THREAD.items())}."

START = """
import runpy, sys
_, root, module, *sys.argv[1:] = sys.argv
sys.path.append(root)
runpy.run_module(module, run_name="__main__")
"""
"""Runs a module of ours in an isolated interpreter. Ours come last, so that a peer's own packages are found first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """Who runs: what the worker is to do, and the interpreter to start it with."""

    label: str
    task: str
    python: str = sys.executable
    gives_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Items in parts, and some others to warm up with."""

    label: str
    warm_up: list[Item]
    parts: list[list[Item]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a contestant gave for items: its CPU seconds, and an output for each."""

    seconds: float
    outputs: list[Any]


Answers = Mapping[Contestant, Answer]


@dataclass(slots=True, kw_only=True)
class Part:
    """What a contestant has done with a part of a workload, in all rounds so far."""

    items: int
    tokens: int
    seconds: float = math.inf
    """The CPU time of the fastest round."""
    same: int | None
    """The items for which it gave what was expected, in every round; None where nothing was."""

    def add(self, answer: Answer, *, expected: list[Any] | None) -> None:
        """Counts a round."""
        self.seconds = min(self.seconds, answer.seconds)
        if self.same is not None and expected is not None:
            self.same = min(self.same, sum(map(operator.eq, answer.outputs, expected)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a contestant has done with a workload."""

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
        """Tokens in a second of CPU time."""
        return self.tokens / self.seconds

    @property
    def agreement(self) -> str:
        """How many items were as expected, as the cell of a table."""
        same = [part.same for part in self.parts.values() if part.same is not None]
        return f"{sum(same):,} of {self.items:,}" if len(same) == len(self.parts) else "–"


Place = tuple[Model, str]
Scores = dict[Place, dict[Contestant, Score]]
"""By model and workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """A race: who takes part, and what they do.

    Outputs are compared with those of `ours`. A contestant that gives text is compared with `leader`, who runs before
    everyone else, and whose output is the `text` of each item for the others.
    """

    worker: str
    """The module that the contestants' processes run."""
    contestants: Sequence[Contestant]
    rounds: int
    ours: Contestant
    leader: Contestant | None = None
    needed: Collection[Contestant] = ()
    """Those without whom there is no race; others are left out where they fail."""
    count_tokens: Callable[[Sequence[Item], Answers], int]

    def run(self, model: Model, workloads: Sequence[Workload]) -> Scores:
        """Lets all contestants run all workloads of a model, round by round.

        Raises:
            WorkerError: One that is needed failed.
        """
        scores: Scores = {(model, load.label): {one: Score() for one in self.contestants} for load in workloads}
        able = list(self.contestants)
        for _ in range(self.rounds):
            with contextlib.ExitStack() as stack:
                workers = {one: stack.enter_context(Worker(model, one, module=self.worker)) for one in able}
                for load in workloads:
                    self._run_part(workers, load.warm_up)
                for load in workloads:
                    for number, items in enumerate(load.parts):
                        self._count(scores[model, load.label], number, items, self._run_part(workers, items))
                able = list(workers)
        return {place: {one: row[one] for one in able} for place, row in scores.items()}

    def _run_part(self, workers: dict[Contestant, Worker], items: Sequence[Item]) -> Answers:
        """Lets everyone run the same items, one after the other; one that fails is taken out of the workers."""
        answers = {}
        for one in sorted(workers, key=lambda one: one != self.leader):
            try:
                answers[one] = workers[one].measure(items)
            except WorkerError as error:
                if one in self.needed:
                    raise
                print(f"Skipped: {error}\n")
                del workers[one]
            else:
                if one == self.leader:
                    items = [{**item, "text": text} for item, text in zip(items, answers[one].outputs, strict=True)]
        return answers

    def _count(self, row: Mapping[Contestant, Score], number: int, items: Sequence[Item], answers: Answers) -> None:
        """Adds what all contestants did with a part of a workload to their scores."""
        tokens = self.count_tokens(items, answers)
        for one, answer in answers.items():
            reference = self.leader if one.gives_text else self.ours
            expected = answers[reference].outputs if reference and reference in answers and reference != one else None
            same = None if expected is None else len(expected)
            blank = Part(items=len(items), tokens=tokens, same=same)
            row[one].parts.setdefault(number, blank).add(answer, expected=expected)


class WorkerError(Exception):
    """A contestant cannot go on."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(f"{label}: {reason}")
        self.reason = reason


class Worker:
    """A contestant's process, which loads a model and then waits for items."""

    def __init__(self, model: Model, contestant: Contestant, *, module: str) -> None:
        self._label = f"{contestant.label} on {model.label}"
        # Isolated, so that neither this directory nor a PYTHON* variable changes what is imported.
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
        """Lets it run items.

        Raises:
            WorkerError: It failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A process that has failed reads no more, and what it has said is still to be read.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(items) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"ended with exit status {self._process.wait()}"}
        if "error" in answer:
            raise WorkerError(self._label, answer["error"])
        return Answer(**answer)


def peers_as(task: str, *peers: Peer) -> list[Contestant]:
    """Returns the peers whose environments can be made, as contestants in a task."""
    found = {peer: find_python(peer) for peer in peers}
    return [Contestant(label=peer.label, task=task, python=python) for peer, python in found.items() if python]


def cut_into_parts(items: list[Item], *, size: int) -> list[list[Item]]:
    """Returns the items in parts of a size; the last may be smaller."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def speed_ratios(scores: Scores, over: str, under: str) -> dict[Place, float]:
    """Returns how many times as fast one contestant is as another, by labels, wherever both have run."""
    ratios = {}
    for place, row in scores.items():
        speeds = {one.label: score.speed for one, score in row.items()}
        if over in speeds and under in speeds:
            ratios[place] = speeds[over] / speeds[under]
    return ratios


def show_ratios(ratios: Mapping[Place, float]) -> str:
    """Returns the ratios in a line."""
    return ", ".join(f"{model.label} {load} {ratio:.2f}" for (model, load), ratio in ratios.items()) or "not measured"


def goal_line(goal: str, ratios: Mapping[Place, float], *, met: bool) -> str:
    """Says whether a goal is met, and what was measured for it."""
    shown = show_ratios(ratios)
    return f"Goal, {goal}: {('met' if met else 'not met') + f' ({shown})' if ratios else shown}"
