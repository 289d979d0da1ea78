"""Benchmark of rendering messages to token ids with attribution: ours, release 0.1, and parts of the work.

    python -m benchmarks.render [--rounds 3] [--chats 2000]

There are two workloads: (a) agentic conversations of 50 turns and about 117,000 tokens, (b) 2,000 chats of about 1,150
tokens each. Both are generated from the source of the standard library, and all chats are different.

The rules are those of `benchmarks.race`. A part is a conversation of (a), or a few dozen chats of (b). The number of
tokens is that of our ids for all contestants.

Ours and release 0.1 give four lists with an entry for each token: its id, its message, whether it is sampled, and
whether it is content. Two more rows are ours without the lists, and ours without attribution. transformers has no
attribution. `tokenizers` alone encodes rendered text: in one piece, or split at special tokens, with all pieces of a
chat in one call. Two more contestants are parts of the work: our traced run of the template, and a plain run of the
template that transformers compiled. These two give text.

The last column counts the chats for which a contestant gave the same output as ours in every round.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.chats import agentic_chat, short_chat
from benchmarks.models import available_models
from benchmarks.peers import OLD_RELEASE, facts
from benchmarks.pool import pool_lines
from benchmarks.race import (
    RULES,
    Contestant,
    Race,
    Scores,
    WorkerError,
    Workload,
    cut_into_parts,
    peers_as,
    show_ratios,
    speed_ratios,
)

POOL_ROUNDS = 5
CONVERSATIONS = 3
CHATS_IN_PART = 40

OURS = Contestant(label="ours", task="renderer_lists")
RUNS = Contestant(label="ours, attribution as runs", task="renderer_runs")
IDS = Contestant(label="ours, ids alone", task="renderer_ids")
TRACE = Contestant(label="our traced run alone, text", task="renderer_trace", gives_text=True)
JINJA = Contestant(label="plain Jinja alone, text", task="jinja_text", gives_text=True)
TRANSFORMERS = Contestant(label="transformers", task="transformers_ids")
WHOLE = Contestant(label="tokenizers alone, whole text", task="whole_text")
PIECES = Contestant(label="tokenizers alone, pieces", task="text_pieces")


def main() -> None:
    """Run all measurements and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new processes (default: 3)")
    parser.add_argument("--chats", type=int, default=2_000, help="chats of workload b (default: 2000)")
    options = parser.parse_args()
    rounds = max(1, options.rounds)
    models = available_models()
    workloads = make_workloads(chats=max(1, options.chats))
    old_release = peers_as(OURS.task, OLD_RELEASE)
    race = Race(
        worker="benchmarks.render_worker",
        contestants=[OURS, RUNS, IDS, *old_release, TRANSFORMERS, WHOLE, PIECES, TRACE, JINJA],
        rounds=rounds,
        ours=OURS,
        leader=TRACE,
        needed={OURS, TRACE},
        count_tokens=lambda _, answers: sum(map(len, answers[OURS].outputs)),
    )
    scores: Scores = {}
    try:
        for model in models:
            scores |= race.run(model, workloads)
    except WorkerError as error:
        raise SystemExit(f"ours failed: {error}") from None
    sections = (
        table(scores),
        comparisons(scores),
        pool_lines(name=models[0].name, label=models[0].label, rounds=POOL_ROUNDS),
        sizes(scores),
        facts(rounds=rounds),
    )
    for lines in sections:
        print(*lines, sep="\n", end="\n\n")


def make_workloads(*, chats: int) -> list[Workload]:
    """Return the workloads: a few long conversations, and `chats` short ones."""
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
            parts=cut_into_parts(short, size=CHATS_IN_PART),
        ),
    ]


def table(scores: Scores) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | workload | contestant | 1,000 tokens/s | CPU time / ours | same as ours |"
    yield "|---|---|---|--:|--:|--:|"
    for (model, workload), row in scores.items():
        for contestant, score in row.items():
            ratio = row[OURS].speed / score.speed
            cells = f"{contestant.label} | {score.speed / 1_000:,.0f} | {ratio:.2f} | {score.agreement}"
            yield f"| {model.label} | {workload} | {cells} |"


def comparisons(scores: Scores) -> Iterator[str]:
    """Yield ratios that the table does not show."""
    yield comparison(scores, "CPU time of tokenizers alone, pieces, over our ids", PIECES, IDS)
    yield comparison(scores, "CPU time of our traced run over plain Jinja's", TRACE, JINJA)


def comparison(scores: Scores, text: str, over: Contestant, under: Contestant) -> str:
    """Return the time of the first contestant relative to the second, for each model and workload."""
    return f"{text}: {show_ratios(speed_ratios(scores, under.label, over.label))}"


def sizes(scores: Scores) -> Iterator[str]:
    """Yield the mean size of the chats, and the rules of the race."""
    means = [
        f"{model.label} {workload} {row[OURS].tokens / row[OURS].items:,.0f}"
        for (model, workload), row in scores.items()
    ]
    yield f"Tokens of a chat, on average: {', '.join(means)}."
    yield f"{RULES} RENDERERS_VERIFY is not set."


if __name__ == "__main__":
    main()
