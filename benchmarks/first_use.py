"""Benchmark of first uses: each workload in a new process that has loaded the model and done nothing else.

    python -m benchmarks first-use [--quick] [--rounds 7]

Everything that a library does at its first call is counted: compiling the template, learning formats, building tables,
and, for enough text and without a compiled vocabulary, compiling it. The load of the model is counted in
`benchmarks.cold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.models import Model, main_models
from benchmarks.options import Options
from benchmarks.race import FIRST, OLD, OURS, Result, Workload, number, race_from_start
from benchmarks.report import Section, SummaryRow, Table
from benchmarks.workloads import Items

ENTRIES = frozenset({OURS, FIRST, OLD})

TEXT = """\
New processes that have loaded the model and made a renderer, and then run one workload from its first call on: with
everything that is done once, such as learning the format of a model. There are two cases: the cache folder has the
compiled vocabulary, as in every process but the first ones on a machine, or it is empty. In the second case, `b`, which
is 2,000 chats, is enough text for the vocabulary to be compiled, which is counted. The other workloads are those of the
steady state."""


def measure(options: Options) -> Section:
    """Measure the two main models."""
    results = [
        result
        for model in main_models()
        for result in race_from_start(model, [*_workloads(model, options)], rounds=options.rounds)
    ]
    results = [result for result in results if {entry.label for entry in ENTRIES} <= result.answers.keys()]
    return Section(title="First use", text=TEXT, tables=[_table(results)], summary=[*_summary(results)])


def _workloads(model: Model, options: Options) -> Iterator[Workload]:
    items = Items(model)
    long = partial(items.long_chats, turns=options.turns)
    yield Workload(label="a", task="render", make=long, entries=ENTRIES)
    short = partial(items.short_chats, count=options.first_items)
    yield Workload(label="b", task="render", make=short, entries=ENTRIES)
    completions = partial(items.completions, count=options.items)
    yield Workload(label="c", task="parse", make=completions, entries=ENTRIES)
    turns = partial(items.turns, turns=options.turns)
    yield Workload(label="d", task="bridge", make=turns, entries=ENTRIES)
    growing = partial(items.growing_chat, turns=options.turns)
    yield Workload(label="re-render every turn of a", task="render_every_turn", make=growing, entries=ENTRIES)


def _table(results: list[Result]) -> Table:
    rows = [
        [
            result.model,
            result.workload,
            entry.label,
            *(number(1e3 * result.first(label)) for label in (entry.label, OLD.label)),
            *(number(1e3 * result.seconds(label)) for label in (entry.label, OLD.label)),
            str(result.ratio(OLD.label, entry.label, of="first")),
            str(result.ratio(OLD.label, entry.label)),
            result.agreement(OLD.label),
        ]
        for result in results
        for entry in (OURS, FIRST)
    ]
    header = ["model", "workload", "case", "first call, ms", f"first call of {OLD.label}, ms"]
    header += ["all calls, ms", f"all calls of {OLD.label}, ms"]
    title = "CPU time of the first call and of the whole workload"
    return Table(title=title, header=[*header, "ratio, first call", "ratio, all calls", "equal outputs"], rows=rows)


def _summary(results: list[Result]) -> Iterator[SummaryRow]:
    for result in results:
        name = f"{result.workload}, with first use"
        yield SummaryRow(name, result.model, OLD.label, result.marked_ratio(OLD.label))
        ratio = result.marked_ratio(OLD.label, FIRST.label)
        yield SummaryRow(f"{name}, no compiled vocabulary", result.model, OLD.label, ratio)
