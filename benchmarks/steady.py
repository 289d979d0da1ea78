"""Benchmark of the steady state: rendering, parsing and bridging in processes that have run for a while.

    python -m benchmarks steady [--quick] [--rounds 7]

Before the first round, ours has encoded enough text that the fast engine is loaded, and every process has run every
workload once. Loading the engine is counted in `benchmarks.first_use`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.chats import plain_chat
from benchmarks.models import QWEN, Model, main_models, more_models
from benchmarks.options import Options
from benchmarks.race import AUTO, OLD, OURS, RAW, TML_ENTRY, WITHOUT_C, Entry, Result, Spread, Workload, number, race
from benchmarks.report import OtherRow, Section, SummaryRow, Table
from benchmarks.scripts import ASCII, SCRIPTS
from benchmarks.workloads import Items, NotBridgedError

PEERS = frozenset({OURS, OLD, RAW})
STREAM = "c, one token at a time"
PROMPTS = {"200 tokens": 900, "4,000 tokens": 18_000, "26,000 tokens": 115_000}
"""The sizes of prompts, and their characters."""


def measure(options: Options) -> Section:
    """Measure all models."""
    results: list[Result] = []
    for model in main_models():
        results += race(model, [*_main_workloads(model, options)], rounds=options.rounds)
    for model in more_models():
        half = replace(options, items=options.items // 2)
        results += race(model, [*_basic_workloads(model, half)], rounds=options.rounds)
    prompts = [result for result in results if result.workload in PROMPTS]
    others = [result for result in results if result.workload not in PROMPTS]
    return Section(
        title="Steady state",
        text=TEXT,
        tables=[_ratio_table(others), _speed_table(others), _prompt_table(prompts), _failure_table(others)],
        summary=[*_summary(others), *_prompt_summary(prompts)],
        others=[*_stream_figures(others), *_script_figures(others)],
        bars=[(result.model, result.workload, result.ratio(OLD.label)) for result in _raced(others)],
    )


# ==================
# Workloads
# ==================


def _main_workloads(model: Model, options: Options) -> Iterator[Workload]:
    items, count, entries = Items(model), options.items, PEERS | {WITHOUT_C}
    yield from _basic_workloads(model, options, entries=entries, more={AUTO})
    yield Workload(
        label="b, ids alone", task="render_ids", make=partial(items.short_chats, count=count), entries=frozenset({OURS})
    )
    yield Workload(
        label="b, template alone",
        task="template",
        make=partial(items.short_chats, count=count),
        entries=frozenset({OURS, AUTO}),
    )
    yield Workload(
        label="re-render every turn of a",
        task="render_every_turn",
        make=partial(items.growing_chat, turns=options.turns),
        entries=frozenset({OURS, OLD}),
    )
    yield Workload(
        label=STREAM,
        task="stream",
        make=partial(items.completions, count=options.items // 10),
        entries=frozenset({OURS}),
    )
    yield Workload(
        label="c, markers only",
        task="parse_deep",
        make=partial(items.marker_completions, count=options.items // 10),
        entries=frozenset({OURS, OLD}),
    )
    for script in SCRIPTS:
        yield from _basic_workloads(model, replace(options, items=options.items // 2), script=script)
    if model.name == QWEN:
        yield Workload(
            label="re-render every turn of a, mixed",
            task="render_every_turn",
            make=partial(items.growing_chat, turns=options.turns, script="mixed"),
            entries=frozenset({OURS, OLD}),
        )
        for label, characters in PROMPTS.items():
            yield Workload(
                label=label,
                task="render_prompt",
                make=partial(_prompts, items, characters=characters, count=max(1, 2_000 * options.items // characters)),
                entries=frozenset({OURS, TML_ENTRY, OLD}),
            )


def _basic_workloads(
    model: Model,
    options: Options,
    *,
    script: str = ASCII,
    entries: frozenset[Entry] = PEERS,
    more: Sequence[Entry] | set[Entry] = (),
) -> Iterator[Workload]:
    """Yield the workloads that are measured with all models and scripts."""
    items, suffix = Items(model), "" if script == ASCII else f", {script}"
    long = partial(items.long_chats, turns=options.turns, script=script)
    short = partial(items.short_chats, count=options.items, script=script)
    yield Workload(label=f"a{suffix}", task="render", make=long, entries=entries.union(more))
    yield Workload(label=f"b{suffix}", task="render", make=short, entries=entries.union(more))
    yield Workload(label=f"b, all lists{suffix}", task="render_lists", make=short, entries=entries)
    completions = partial(items.completions, count=options.items, script=script)
    tml = {TML_ENTRY} if model.name == QWEN else set()
    yield Workload(label=f"c{suffix}", task="parse", make=completions, entries=entries.union(tml))
    # Time depends on the number of turns before, so all scripts have the same number.
    turns = partial(items.turns, turns=options.turns, script=script)
    try:
        turns("trial", turns=3)
    except NotBridgedError as error:
        print(f"{model.label}: {error}")
    else:
        yield Workload(label=f"d{suffix}", task="bridge", make=turns, entries=entries)


def _prompts(items: Items, seed: str, *, characters: int, count: int) -> list[dict[str, object]]:
    return [items.chat(plain_chat(f"{seed} {index}", characters=characters)) for index in range(count)]


# ==================
# Tables
# ==================

TEXT = """\
Processes that have encoded enough text to load the fast engine, with text that is new in every round. `a` is one
conversation of 50 turns with tool calls and reasoning and about 100,000 tokens, rendered with attribution. `b` is 200
chats of about 1,150 tokens; "all lists" also builds the four lists that release 0.1 always builds. `c` parses 200
completions of 500 to 4,000 tokens. `d` bridges every turn of a conversation like `a`. Names of scripts mark text that
is not ASCII: its `b` and `c` have 100 items. The models after the first two have 100 items, too.
`tokenizers` encodes the finished text in pieces between special tokens (`encode_batch_fast`), or only decodes. Where
outputs are not equal, release 0.1 deviates from the template or the schema: see [Differences](differences.md)."""


def _raced(results: Sequence[Result]) -> list[Result]:
    """Return the results that have a time of ours and of release 0.1."""
    return [result for result in results if {OURS.label, OLD.label} <= result.answers.keys()]


def _ratio_cell(result: Result, label: str) -> str:
    return str(result.ratio(label)) if label in result.answers else "–"


def _ratio_table(results: Sequence[Result]) -> Table:
    peers = [OLD.label, RAW.label]
    rows = [
        [
            result.model,
            result.workload,
            *(_ratio_cell(result, peer) for peer in peers),
            *(result.agreement(peer) for peer in peers),
        ]
        for result in results
        if not result.answers.keys().isdisjoint(peers)
    ]
    header = ["model", "workload", *(f"{peer} / ours" for peer in peers), *(f"equal outputs, {peer}" for peer in peers)]
    return Table(title="CPU time of others divided by ours", header=header, rows=rows)


def _speed_table(results: Sequence[Result]) -> Table:
    labels = [OURS.label, WITHOUT_C.label, OLD.label, RAW.label, AUTO.label, TML_ENTRY.label]
    rows = []
    for result in results:
        tokens = statistics.mean(result.tokens)
        times = {label: result.seconds(label) for label in labels if label in result.answers}
        speeds = [number(tokens / times[label] / 1e6) if label in times else "–" for label in labels]
        units = tokens if result.workload == STREAM else result.items
        rows.append([result.model, result.workload, number(1e6 * times[OURS.label] / units), *speeds])
    header = ["model", "workload", "ours, µs", *labels]
    title = "Microseconds for an item (of streams: for a chunk of one token), and million tokens per CPU second"
    return Table(title=title, header=header, rows=rows)


def _prompt_table(results: Sequence[Result]) -> Table:
    labels = [OURS.label, TML_ENTRY.label, OLD.label]
    rows = []
    for result in results:
        times = {label: result.seconds(label) / result.items for label in labels if label in result.answers}
        cells = [number(1e6 * times[label]) if label in times else "–" for label in labels]
        ratios = [_ratio_cell(result, label) for label in labels[1:]]
        rows.append([result.model, result.workload, *cells, *ratios, result.agreement(TML_ENTRY.label)])
    header = ["model", "prompt", *(f"{label}, µs" for label in labels), *(f"{label} / ours" for label in labels[1:])]
    header.append(f"equal outputs, {TML_ENTRY.label}")
    return Table(title="Prompts to ids, without tools", header=header, rows=rows)


def _failure_table(results: Sequence[Result]) -> Table:
    rows = [
        [result.model, result.workload, label, reason.partition(". ")[0]]
        for result in results
        for label, reason in result.failures.items()
    ]
    return Table(title="Workloads that a library fails on", header=["model", "workload", "library", "error"], rows=rows)


# ==================
# Summary
# ==================


def _summary(results: Sequence[Result]) -> Iterator[SummaryRow]:
    """Yield the ratios to release 0.1 and to `tokenizers`. Of all scripts, yield the lowest."""
    raced = _raced(results)
    for result in raced:
        if not result.workload.endswith(SCRIPTS):
            yield SummaryRow(result.workload, result.model, OLD.label, result.marked_ratio(OLD.label))
    for result, lowest in _lowest_scripts(raced):
        script = lowest.workload.rpartition(" ")[2]
        ratio = f"{lowest.marked_ratio(OLD.label)}, {script}"
        yield SummaryRow(f"{result.workload}, not ASCII: lowest", result.model, OLD.label, ratio)

    for result in results:
        if RAW.label in result.answers and not result.workload.endswith(SCRIPTS):
            yield SummaryRow(result.workload, result.model, RAW.label, result.marked_ratio(RAW.label))


def _stream_figures(results: Sequence[Result]) -> Iterator[OtherRow]:
    """Yield the time of a chunk of one token."""
    for result in results:
        if result.workload == STREAM:
            chunks = zip(result.answers[OURS.label], result.tokens, strict=True)
            spread = Spread.of([1e6 * answer.seconds / tokens for answer, tokens in chunks])
            yield OtherRow("streamed chunk of one token, µs", result.model, str(spread))


def _script_figures(results: Sequence[Result]) -> Iterator[OtherRow]:
    """Yield the lowest ratio of the scripts divided by that of ASCII, by workload."""
    for result, lowest in _lowest_scripts(_raced(results)):
        share = lowest.ratio(OLD.label).median / result.ratio(OLD.label).median
        yield OtherRow(f"{result.workload}: lowest ratio of a script / ratio of ASCII", result.model, number(share))


def _lowest_scripts(raced: Sequence[Result]) -> Iterator[tuple[Result, Result]]:
    """Yield the result of each workload in ASCII with that of the script with the lowest ratio to release 0.1."""
    by_key = {(result.model, result.workload): result for result in raced}
    for result in raced:
        names = [f"{result.workload}, {script}" for script in SCRIPTS]
        found = [by_key[result.model, name] for name in names if (result.model, name) in by_key]
        if found:
            yield result, min(found, key=lambda each: each.ratio(OLD.label).median)


def _prompt_summary(results: Sequence[Result]) -> Iterator[SummaryRow]:
    for result in results:
        if (label := TML_ENTRY.label) in result.answers:
            yield SummaryRow(f"prompt of {result.workload}", result.model, label, result.marked_ratio(label))
