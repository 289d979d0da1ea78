"""Benchmark of cold processes: CPU time and memory from the start of the interpreter to the first results.

    python -m benchmarks cold [--quick] [--rounds 7]

Every measurement is a new Python process. A first run of each is not counted: it fills the page cache and compiles all
modules. A peer that fails or gives other ids than ours is left out.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from benchmarks.chats import short_chat
from benchmarks.models import Model, main_models, more_models
from benchmarks.options import Options
from benchmarks.peers import MEMORY
from benchmarks.race import FIRST, OLD, OURS, ROOT, Entry, Spread, WorkerError, environment_of, number
from benchmarks.report import ANY, OtherRow, Section, SummaryRow, Table
from benchmarks.workloads import Items
from renderers import load_tokenizer
from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.storage.store import save_or_raise
from renderers.tokenizer.vocab import writer_of

LOAD = {
    OURS: "from renderers import create_renderer, load_tokenizer",
    FIRST: "from renderers import create_renderer, load_tokenizer",
    OLD: "from renderers import create_renderer; from renderers.base import load_tokenizer",
}
"""The imports of the contestants."""

START = """
import sys, json, time
sys.path[:0] = filter(None, [sys.argv[1]])
name, chat, ids = sys.argv[2], *map(json.loads, sys.argv[3:])
messages, tools = chat["messages"], chat["tools"]
"""

REPORT = f"""
seconds = time.process_time()
print("done", flush=True)
{MEMORY}
print(json.dumps({{"seconds": seconds, "peak": peak, "after": after, "ids": list(output)}}))
"""

STEPS = {
    "first render": "output = renderer.render(messages, tools=tools).token_ids",
    "first parsed and bridged turn": """
prompt = list(renderer.render(messages[:2], tools=tools, add_generation_prompt=True).token_ids)
assert renderer.parse_response(ids, tools=tools, prompt_ids=prompt).tool_calls
output = renderer.bridge_to_next_turn(prompt, ids, [messages[3]], tools=tools).token_ids
""",
}

IMPORTS = {"import renderers": "import renderers", "import renderers.configs": "import renderers.configs"}

TEXT = """\
CPU time of a process from the start of the interpreter, with all imports and the load of the model: to the first
render of a chat of 1,150 tokens, and to the first turn that is rendered, parsed and bridged. There are two cases: the
cache folder has the compiled vocabulary, as in every process but the first ones on a machine, or it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The CPU and wall seconds and the MiB of a process, and its ids."""

    seconds: float
    wall: float
    peak: float
    after: float | None
    ids: list[int]


def measure(options: Options) -> Section:
    """Measure the two main models."""
    rows: list[list[str]] = []
    summary: list[SummaryRow] = []
    for model in main_models():
        for step in STEPS:
            runs = _race(model, step, rounds=options.rounds)
            rows += [[model.label, step, entry.label, *_cells(runs[entry])] for entry in runs]
            if OLD in runs:
                cases = ((OURS, ""), (FIRST, ", no compiled vocabulary"))
                for entry, case in (case for case in cases if case[0] in runs):
                    ratios = [old.seconds / own.seconds for old, own in zip(runs[OLD], runs[entry], strict=True)]
                    name = f"cold process to the {step}{case}"
                    summary.append(SummaryRow(name, model.label, OLD.label, str(Spread.of(ratios))))
    header = ["model", "up to the", "library", "CPU seconds", "seconds", "peak MiB", "MiB after"]
    title = "Cold processes: medians, with the range of the CPU time"
    imports = [[name, str(_import_time(code, rounds=options.rounds))] for name, code in IMPORTS.items()]
    tables = [
        Table(title=title, header=header, rows=rows),
        _ratio_table(summary),
        Table(title="CPU time of imports", header=["import", "ms"], rows=imports),
        _vocabulary_table([*main_models(), *more_models()]),
    ]
    others = [OtherRow(f"{name}, ms", ANY, time) for name, time in imports]
    return Section(title="Cold processes", text=TEXT, tables=tables, summary=summary, others=others)


def _vocabulary_table(models: Sequence[Model]) -> Table:
    """Compile vocabularies, and write their files."""
    rows = []
    for model in models:
        vocab = load_tokenizer(str(model.folder)).vocab
        start = time.process_time()
        compiled = compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts)
        seconds = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RENDERERS_CACHE=folder):
            content = writer_of(vocab, save_or_raise)(compiled).read_bytes()
        start = time.process_time()
        zlib.crc32(content)
        checksum = 1e3 * (time.process_time() - start)
        sizes = [number(len(data) / 1e6) for data in (compiled, content)]
        rows.append([model.label, number(seconds), *sizes, number(checksum)])
    header = ["model", "compiled in, CPU seconds", "compiled, MB", "file, MB", "checksum of the file, ms"]
    return Table(title="Compiled vocabularies", header=header, rows=rows)


def _ratio_table(summary: Sequence[SummaryRow]) -> Table:
    rows = [[row.model, row.workload, row.ratio] for row in summary]
    return Table(
        title="CPU time of others divided by ours", header=["model", "workload", f"{OLD.label} / ours"], rows=rows
    )


def _race(model: Model, step: str, *, rounds: int) -> dict[Entry, list[Run]]:
    """Run a step in new processes, in turn, after a round that is not counted. Drop a peer that fails."""
    pythons = {entry: python for entry in LOAD if (python := entry.python)}
    items = Items(model)
    runs: dict[Entry, list[Run]] = {entry: [] for entry in pythons}
    for seed in range(-1, rounds):
        chat = short_chat(f"cold {seed}")
        turn, _ = items.turn([0], chat["messages"][2:4], chat["tools"])
        ids = turn["completion_ids"]
        found = {OURS: _run(OURS, pythons[OURS], model, step, chat, ids)}
        for peer in runs.keys() - {OURS}:
            try:
                found[peer] = _run(peer, pythons[peer], model, step, chat, ids)
                if found[peer].ids != found[OURS].ids:
                    raise WorkerError("it gives other ids")
            except WorkerError as error:
                print(f"{model.label}, {step}: {peer.label} is left out: {error}\n")
                del runs[peer]
        if seed >= 0:
            for entry in runs:
                runs[entry].append(found[entry])
    return runs


def _run(entry: Entry, python: str, model: Model, step: str, chat: Any, ids: list[int]) -> Run:
    create = "renderer = create_renderer(load_tokenizer(name))"
    code = "\n".join((START, LOAD[entry], create, STEPS[step], REPORT))
    source = "" if entry.peer else str(ROOT / "src")
    # -I keeps this directory and PYTHON* variables from changing the imports.
    command = [python, "-I", "-c", code, source, model.name, json.dumps(chat), json.dumps(ids)]
    with tempfile.TemporaryFile("w+") as errors, environment_of(entry, model) as environment:
        start = time.perf_counter()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            wall = time.perf_counter() - start
            rest = process.stdout.read()
        errors.seek(0)
        if process.returncode or first_line != "done\n":
            raise WorkerError(f"exit status {process.returncode}: {errors.read().strip()[-300:]}")
    return Run(wall=wall, **json.loads(rest))


def _cells(runs: Sequence[Run]) -> Iterator[str]:
    yield str(Spread.of([run.seconds for run in runs]))
    yield number(statistics.median(run.wall for run in runs))
    yield number(statistics.median(run.peak for run in runs))
    after = [run.after for run in runs if run.after is not None]
    yield number(statistics.median(after)) if after else "–"


def _import_time(code: str, *, rounds: int) -> Spread:
    """Return the milliseconds of CPU time of an import in new processes."""
    code = f"""
import sys, time
sys.path.insert(0, {str(ROOT / "src")!r})
start = time.process_time()
{code}
print(time.process_time() - start)
"""
    command = [sys.executable, "-I", "-c", code]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(1 + rounds)]
    return Spread.of([1e3 * float(run.stdout) for run in runs[1:]])
