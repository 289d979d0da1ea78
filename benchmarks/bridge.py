"""Benchmark of bridging to the next turn of a rollout: ours, release 0.1, and the encoding of the new text alone.

    python -m benchmarks.bridge [--rounds 3]

The workload (d) bridges every turn of the agentic conversations of `benchmarks.render`. The prompt and completion are
passed as ids, the tool result as a message. All reasoning is kept: without it the turns of a reasoning model would be
rewritten, and no contestant could bridge them.

The rules are those of `benchmarks.race`; a part is a turn. Ours and `renderers 0.1.12` are called in the same way.
`tokenizers` alone encodes the added text, split at special tokens, in one call. One more row is ours with all lists,
which release 0.1 always builds.

The last column counts the turns for which a contestant added the same ids as ours in every round.

A second table has the cost of a turn by the number of ids before it, beside the cost of a list copy of that size. A
user turn has its own row, because the way a template renders the history may then depend on its contents.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.chats import Chat, agentic_chat, short_chat
from benchmarks.models import available_models
from benchmarks.peers import OLD_RELEASE, facts
from benchmarks.race import (
    RULES,
    Contestant,
    Race,
    Score,
    Scores,
    WorkerError,
    Workload,
    peers_as,
)
from benchmarks.worker import Item
from renderers import Bridge, ChatRenderer, create_renderer, load_tokenizer

WORKER = "benchmarks.bridge_worker"
CONVERSATIONS = 3
LAST = 10
SIZES = (3_000, 100_000, 1_000_000)
TURNS_BY_SIZE = 5

OURS = Contestant(label="ours", task="bridge_runs")
LISTS = Contestant(label="ours, all lists", task="bridge_lists")
USER = Contestant(label="ours, a user's turn", task="bridge_user")
PIECES = Contestant(label="tokenizers alone, pieces", task="text_pieces")
COPY = Contestant(label="a list copy alone", task="list_copy")


def main() -> None:
    """Run all measurements and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new processes (default: 3)")
    rounds = max(1, parser.parse_args().rounds)
    old_release = peers_as("old_release_bridge", OLD_RELEASE)
    turns = race_of([OURS, LISTS, *old_release, PIECES], rounds=rounds)
    sizes = race_of([OURS, USER, *old_release, COPY], rounds=rounds)
    by_turn: Scores = {}
    by_size: Scores = {}
    try:
        for model in available_models():
            renderer = create_renderer(load_tokenizer(str(model.folder)), thinking_retention="all")
            by_turn |= turns.run(model, [make_workload(renderer)])
            by_size |= sizes.run(model, make_sizes(renderer))
    except WorkerError as error:
        raise SystemExit(f"ours failed: {error}") from None
    last = last_turns(by_turn)
    sections = (
        table({**by_turn, **last}),
        size_table(by_size),
        [RULES],
        facts(rounds=rounds),
    )
    for lines in sections:
        print(*lines, sep="\n", end="\n\n")


def race_of(contestants: list[Contestant], *, rounds: int) -> Race:
    """Return a race on turns. Its tokens are the added ones."""
    return Race(
        worker=WORKER,
        contestants=contestants,
        rounds=rounds,
        ours=OURS,
        needed={OURS},
        count_tokens=lambda _, answers: sum(map(len, answers[OURS].outputs)),
    )


# ==================
# Turns
# ==================


def make_workload(renderer: ChatRenderer) -> Workload:
    """Return every turn of a few long conversations."""
    return Workload(
        label="d",
        warm_up=make_turns(renderer, agentic_chat("a, warm-up")),
        parts=[[turn] for number in range(CONVERSATIONS) for turn in make_turns(renderer, agentic_chat(f"a {number}"))],
    )


def make_turns(renderer: ChatRenderer, chat: Chat) -> list[Item]:
    """Return the turns of a conversation as a rollout, each with the ids before it."""
    messages, tools = chat["messages"], chat["tools"]
    turns: list[Item] = []
    ids = renderer.render_ids(messages[:2], tools=tools, add_generation_prompt=True)
    for index in range(2, len(messages) - 1, 2):
        turn = make_turn(renderer, ids, messages[index : index + 2], tools)
        turns.append(turn)
        ids = [*ids, *turn["completion_ids"], *renderer.tokenizer.encode(turn["text"], add_special_tokens=False)]
    return turns


def make_turn(renderer: ChatRenderer, ids: list[int], messages: list[Item], tools: list[Item]) -> Item:
    """Return a turn: the ids before it, the completion of the model, and the tool result."""
    assistant, result = messages
    rendered = renderer.render([{"role": "user", "content": "Hello!"}, assistant, result], tools=tools)
    origins = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
    # Rendered with the result, because in some formats its first token ends the assistant turn.
    completion = [token_id for token_id, message, sampled in origins if message == 1 and sampled]
    bridged = renderer.bridge(ids, completion, [result], tools=tools)
    if not isinstance(bridged, Bridge):
        raise SystemExit(f"ours refused to bridge: {bridged.reason}: {bridged.detail}")
    added = bridged.tokens.token_ids[len(ids) + len(completion) :]
    return {
        "prompt_ids": ids,
        "completion_ids": completion,
        "new": [result],
        "tools": tools,
        "text": renderer.tokenizer.decode(added),
    }


def make_sizes(renderer: ChatRenderer) -> list[Workload]:
    """Return a few turns for each number of ids before them. Only the first size has warm-up turns, enough for all."""
    chats = [short_chat(f"d {number}") for number in range(TURNS_BY_SIZE)]
    others = [short_chat(f"d, warm-up {number}") for number in range(8 * TURNS_BY_SIZE)]
    filler = renderer.tokenizer.encode(chats[0]["messages"][0]["content"], add_special_tokens=False)
    return [
        Workload(
            label=f"{size:,} ids",
            warm_up=[sized_turn(renderer, chat, filler, size) for chat in others if size == SIZES[0]],
            parts=[[sized_turn(renderer, chat, filler, size)] for chat in chats],
        )
        for size in SIZES
    ]


def sized_turn(renderer: ChatRenderer, chat: Chat, filler: list[int], size: int) -> Item:
    """Return the first turn of a chat, with filler ids before it up to the size."""
    messages, tools = chat["messages"], chat["tools"]
    prompt = renderer.render_ids(messages[:2], tools=tools, add_generation_prompt=True)
    missing = size - len(prompt)
    filled = (filler * (missing // len(filler) + 1))[:missing]
    return make_turn(renderer, [*filled, *prompt], messages[2:4], tools)


def last_turns(scores: Scores) -> Scores:
    """Return the scores of the last turns of each conversation."""
    return {
        (model, f"{label}, last {LAST}"): {contestant: _last_of(score) for contestant, score in row.items()}
        for (model, label), row in scores.items()
    }


def _last_of(score: Score) -> Score:
    turns = len(score.parts) // CONVERSATIONS
    return Score(parts={turn: part for turn, part in score.parts.items() if turn % turns >= turns - LAST})


# ==================
# Tables
# ==================


def table(scores: Scores) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | workload | contestant | ms for a turn | CPU time / ours | same as ours |"
    yield "|---|---|---|--:|--:|--:|"
    for (model, workload), row in scores.items():
        for contestant, score in row.items():
            cells = f"{_milliseconds(score):.2f} | {score.seconds / row[OURS].seconds:.2f} | {score.agreement}"
            yield f"| {model.label} | {workload} | {contestant.label} | {cells} |"


def size_table(scores: Scores) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| model | contestant | " + " | ".join(f"{size:,} ids" for size in SIZES) + " |"
    yield f"|---|---|{'--:|' * len(SIZES)}"
    for model in dict.fromkeys(model for model, _ in scores):
        rows = [scores[model, f"{size:,} ids"] for size in SIZES]
        for contestant in rows[0]:
            cells = " | ".join(f"{_milliseconds(row[contestant]):.2f} ms" if contestant in row else "–" for row in rows)
            yield f"| {model.label} | {contestant.label} | {cells} |"


def _milliseconds(score: Score) -> float:
    return 1_000 * score.seconds / score.items


if __name__ == "__main__":
    main()
