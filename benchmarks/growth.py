"""Benchmark of growth: time by the number of messages and tokens, and memory by the number of renderers.

python -m benchmarks growth [--quick] [--rounds 7]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchmarks.chats import sized_chat
from benchmarks.completion_shapes import SHAPES, CompletionShapes
from benchmarks.contestants import Item
from benchmarks.models import Model, main_models
from benchmarks.options import Options
from benchmarks.peers import MEMORY, child_environment
from benchmarks.race import OLD, OURS, ROOT, Result, Spread, Workload, number, race
from benchmarks.report import OtherRow, Section, SummaryRow, Table
from benchmarks.workloads import Items

ENTRIES = frozenset({OURS, OLD})
RENDERERS = (1, 32)

Key = tuple[str, str]
"""A model and a workload."""

MEMORY_CODE = f"""
import sys
sys.path.insert(0, {str(ROOT / "src")!r})
from renderers import create_renderer, load_tokenizer
name, count = sys.argv[1], int(sys.argv[2])
renderers = [create_renderer(load_tokenizer(name)) for _ in range(count)]
for renderer in renderers:
    renderer.render([{{"role": "user", "content": "Hello!"}}])
{MEMORY}
print(peak if after is None else after)
"""

TEXT = """\
Rendering by the number of messages, of about 110 tokens each, and parsing by the number of tokens. "a tenth" is the
time for a tenth of the size: a ratio of 10 is linear. "braces" and "nested JSON" are one tool call with an argument of
nothing else, "markers" is all markers of the format in random order."""


def measure(options: Options) -> Section:
    """Measure the two main models."""
    results = [
        result
        for model in main_models()
        for result in race(model, [*_workloads(model, options)], rounds=options.rounds)
    ]
    memory = {model.label: _memory(model, rounds=options.rounds) for model in main_models()}
    growths = _growths(results, options)
    return Section(
        title="Growth",
        text=TEXT,
        tables=[_table(results, growths), _memory_table(memory)],
        summary=[_summary_row(result) for result in results if _is_large(result, options)],
        others=[
            *(_growth_row(key, growth) for key, growth in growths.items() if "messages" in key[1]),
            *(OtherRow("memory of 32 renderers / of one", label, str(_ratio(runs))) for label, runs in memory.items()),
        ],
    )


# ==================
# Workloads
# ==================


def _workloads(model: Model, options: Options) -> Iterator[Workload]:
    items = Items(model)
    for messages in _message_counts(options):
        make = partial(_chats, items, messages=messages, count=max(1, 500 // messages))
        yield Workload(label=f"{messages:,} messages", task="render", make=make, entries=ENTRIES)
    for name, shape in SHAPES.items():
        for size in _completion_sizes(options):
            completion = partial(_completion, items, shape, size)
            yield Workload(label=f"{name}, {size:,} tokens", task="parse_deep", make=completion, entries=ENTRIES)


def _message_counts(options: Options) -> list[int]:
    return [count for count in (10, 100, 1_000, 10_000) if count <= options.most_messages]


def _completion_sizes(options: Options) -> tuple[int, int]:
    return options.longest_completion // 10, options.longest_completion


def _chats(items: Items, seed: str, *, messages: int, count: int) -> list[Item]:
    chats = (sized_chat(f"{seed} {index}", messages=messages) for index in range(count))
    return [{**chat, "tokens": items.token_count(chat)} for chat in chats]


def _completion(items: Items, shape: Callable[[CompletionShapes, int], Item], size: int, _: str) -> list[Item]:
    return [shape(items.shapes, size)]


# ==================
# Tables
# ==================


def _key(result: Result) -> Key:
    return result.model, result.workload


def _growths(results: Sequence[Result], options: Options) -> dict[Key, dict[str, Spread]]:
    """Return the time of each size divided by that of a tenth of it, by contestant."""
    tenths = {f"{count:,} messages": f"{count // 10:,} messages" for count in _message_counts(options)[1:]}
    small, large = _completion_sizes(options)
    tenths |= {f"{name}, {large:,} tokens": f"{name}, {small:,} tokens" for name in SHAPES}
    by_key = {_key(result): result for result in results}
    found: dict[Key, dict[str, Spread]] = {}
    for result in results:
        tenth = by_key.get((result.model, tenths.get(result.workload, "")))
        if tenth:
            labels = tenth.answers.keys() & result.answers.keys()
            found[_key(result)] = {label: _growth(tenth, result, label) for label in labels}
    return found


def _growth(tenth: Result, result: Result, label: str) -> Spread:
    pairs = zip(tenth.answers[label], result.answers[label], strict=True)
    return Spread.of([(large.seconds / result.items) / (small.seconds / tenth.items) for small, large in pairs])


def _table(results: Sequence[Result], growths: dict[Key, dict[str, Spread]]) -> Table:
    rows = []
    for result in results:
        cells = []
        for label in (OURS.label, OLD.label):
            growth = growths.get(_key(result), {}).get(label, "–")
            if label in result.answers:
                cells += [number(1e3 * result.seconds(label) / result.items), str(growth)]
            else:
                cells += [result.failures.get(label, "–").partition(":")[0], "–"]
        tokens = number(statistics.mean(result.tokens) / result.items)
        rows.append([result.model, result.workload, tokens, *cells])
    header = ["model", "size", "tokens", "ours, ms", "ours / a tenth", f"{OLD.label}, ms", f"{OLD.label} / a tenth"]
    return Table(title="CPU time by size, and divided by that of a tenth of the size", header=header, rows=rows)


def _is_large(result: Result, options: Options) -> bool:
    is_largest = result.workload == f"{options.most_messages:,} messages"
    return is_largest and {OURS.label, OLD.label} <= result.answers.keys()


def _summary_row(result: Result) -> SummaryRow:
    return SummaryRow(f"render {result.workload}", result.model, OLD.label, result.marked_ratio(OLD.label))


def _growth_row(key: Key, growth: Mapping[str, Spread]) -> OtherRow:
    model, workload = key
    return OtherRow(f"time of {workload} / of a tenth of them", model, str(growth[OURS.label]))


# ==================
# Memory
# ==================


def _memory(model: Model, *, rounds: int) -> list[list[float]]:
    """Return the MiB of a process with one renderer and with many, round by round."""
    return [[_resident(model, count) for count in RENDERERS] for _ in range(rounds)]


def _resident(model: Model, count: int) -> float:
    command = [sys.executable, "-I", "-c", MEMORY_CODE, model.name, str(count)]
    run = subprocess.run(command, check=True, env=child_environment(), stdout=subprocess.PIPE, text=True)
    return float(run.stdout)


def _ratio(runs: Sequence[Sequence[float]]) -> Spread:
    return Spread.of([run[1] / run[0] for run in runs])


def _memory_table(memory: Mapping[str, Sequence[Sequence[float]]]) -> Table:
    rows = []
    for model, runs in memory.items():
        sizes = [number(statistics.median(run[index] for run in runs)) for index in range(len(RENDERERS))]
        rows.append([model, *sizes, str(_ratio(runs))])
    header = ["model", "one renderer, MiB", f"{RENDERERS[1]} renderers, MiB", "ratio"]
    title = "Resident memory of a process by the number of its renderers, after each has rendered"
    return Table(title=title, header=header, rows=rows)
