"""Benchmark of parsing completions to content, reasoning and tool calls: ours, peers, and decoding alone.

    python -m benchmarks.parse [--rounds 8] [--completions 2000]

The workload (c) is 2,000 different completions of 500 to 4,000 tokens, generated from the source of the standard
library in the format of the model. Most have reasoning, and most call one or two tools.

The rules are those of `benchmarks.race`; a part is a few dozen completions. Ours and `renderers 0.1.12` are called in
the same way, and all fields of their results are read. `tml-renderers` returns arguments as JSON, which is parsed.
`tokenizers` alone decodes the ids to text and does not parse it. Two more rows are ours: without the C extension, and
fed a few tokens at a time.

The last column counts the completions for which a contestant gave the same result as ours in every round: content,
reasoning, names and arguments, up to surrounding whitespace.

A second table has the time by length: see `benchmarks.linearity`.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator

from benchmarks.completions import make_completions
from benchmarks.linearity import linearity_lines
from benchmarks.models import Model, available_models
from benchmarks.peers import OLD_RELEASE, TML, facts
from benchmarks.race import (
    RULES,
    Contestant,
    Race,
    Scores,
    Workload,
    cut_into_parts,
    peers_as,
)
from renderers import create_renderer, load_tokenizer

WORKER = "benchmarks.parse_worker"
COMPLETIONS_IN_PART = 40

OURS = Contestant(label="ours", task="renderer_parse")
IN_PYTHON = Contestant(label="ours, without C", task="renderer_parse_in_python")
STREAM = Contestant(label="ours, 16 tokens at a time", task="stream_chunks")
DEEP = Contestant(label=OURS.label, task="renderer_parse_deep")
TOKENS = Contestant(label="ours, one token at a time", task="stream_tokens")
DECODE = Contestant(label="tokenizers alone, text", task="raw_decode", gives_text=True)


def main() -> None:
    """Run all measurements and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=8, help="rounds, each with new processes (default: 8)")
    parser.add_argument("--completions", type=int, default=2_000, help="completions to parse (default: 2000)")
    options = parser.parse_args()
    rounds, completions = max(1, options.rounds), max(1, options.completions)
    models = available_models()
    old_release = peers_as(OURS.task, OLD_RELEASE)
    deep = [DEEP, TOKENS, *(dataclasses.replace(contestant, task=DEEP.task) for contestant in old_release), DECODE]
    race = Race(
        worker=WORKER,
        contestants=[OURS, IN_PYTHON, STREAM, *old_release, *peers_as("tml_parse", TML), DECODE],
        rounds=rounds,
        ours=OURS,
        count_tokens=lambda items, _: sum(len(item["ids"]) for item in items),
    )
    scores: Scores = {}
    for model in models:
        scores |= race.run(model, [make_workload(model, completions=completions)])
    sections = (
        table(scores),
        linearity_lines(models, deep, worker=WORKER, rounds=rounds),
        sizes(scores),
        facts(rounds=rounds),
    )
    for lines in sections:
        print(*lines, sep="\n", end="\n\n")


def make_workload(model: Model, *, completions: int) -> Workload:
    """Return completions in the format of a model."""
    renderer = create_renderer(load_tokenizer(str(model.folder)))
    return Workload(
        label="c",
        warm_up=make_completions(renderer, "c, warm-up", count=COMPLETIONS_IN_PART),
        parts=cut_into_parts(make_completions(renderer, "c", count=completions), size=COMPLETIONS_IN_PART),
    )


# ==================
# Tables
# ==================


def table(scores: Scores) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | contestant | Mtok/s | CPU seconds | CPU time / ours | read as ours |"
    yield "|---|---|--:|--:|--:|--:|"
    for (model, _), row in scores.items():
        for contestant, score in row.items():
            ratio = f"{score.seconds / row[OURS].seconds:.2f}" if OURS in row else "–"
            cells = f"{score.speed / 1e6:.2f} | {score.seconds:.2f} | {ratio} | {score.agreement}"
            yield f"| {model.label} | {contestant.label} | {cells} |"


def sizes(scores: Scores) -> Iterator[str]:
    """Yield the mean size of the completions, and the rules of the race."""
    firsts = {model: next(iter(row.values())) for (model, _), row in scores.items() if row}
    means = [f"{model.label} {score.tokens / score.items:,.0f}" for model, score in firsts.items()]
    yield f"Tokens of a completion, on average: {', '.join(means)}."
    yield RULES


if __name__ == "__main__":
    main()
