"""A rollout's next turn: ours and the incumbent's, and what encoding the new text alone takes.

    python -m benchmarks.bridge [--rounds 3]

The workload (d) is bridging every turn of the agentic conversations of `benchmarks.render`: the prompt and completion
so far are given as ids, the tool's result as a message. All reasoning is kept, else the turns of a model that thinks
would be rewritten, and nobody bridges.

The rules are those of `benchmarks.race`; a part is a turn. Ours and `renderers 0.1.12` are called in the same way.
`tokenizers` alone is given the text that is added, in pieces between the control tokens, in one call. One more row is
ours with all lists, which the incumbent always makes.

The last column counts the turns for which a contestant added the same ids as we did, in every round.

What follows is the cost of a turn by the size of what is there, beside the cost of copying a list of that size. A
user's turn has a row of its own: what a template does with the history then may depend on what is in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.chats import Chat, agentic_chat, short_chat
from benchmarks.models import models_at_hand
from benchmarks.peers import INCUMBENT, facts
from benchmarks.race import (
    RULES,
    Contestant,
    Race,
    Score,
    Scores,
    WorkerError,
    Workload,
    goal_line,
    peers_as,
    speed_ratios,
)
from benchmarks.worker import Item
from renderers import Bridge, ChatRenderer, create_renderer, load_tokenizer

WORKER = "benchmarks.bridge_worker"
CONVERSATIONS = 3
LAST = 10
SIZES = (3_000, 100_000, 1_000_000)
TURNS_BY_SIZE = 5

INCUMBENT_GOAL = 2
"""How many times as fast as the incumbent we want to be on the last turns, at least."""
ENCODE_GOAL = 1.3
"""How many times the CPU time of encoding alone we want to take, at most."""

OURS = Contestant(label="ours", task="bridge_runs")
LISTS = Contestant(label="ours, all lists", task="bridge_lists")
USER = Contestant(label="ours, a user's turn", task="bridge_user")
PIECES = Contestant(label="tokenizers alone, pieces", task="text_pieces")
COPY = Contestant(label="a list copy alone", task="list_copy")


def main() -> None:
    """Measures everything and prints it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new processes (default: 3)")
    rounds = max(1, parser.parse_args().rounds)
    incumbent = peers_as("incumbent_bridge", INCUMBENT)
    turns = race_of([OURS, LISTS, *incumbent, PIECES], rounds=rounds)
    sizes = race_of([OURS, USER, *incumbent, COPY], rounds=rounds)
    by_turn: Scores = {}
    by_size: Scores = {}
    try:
        for model in models_at_hand():
            renderer = create_renderer(load_tokenizer(str(model.folder)), thinking_retention="all")
            by_turn |= turns.run(model, [make_workload(renderer)])
            by_size |= sizes.run(model, make_sizes(renderer))
    except WorkerError as error:
        raise SystemExit(f"We failed ourselves: {error}") from None
    last = last_turns(by_turn)
    sections = (
        table({**by_turn, **last}),
        goals(last),
        size_table(by_size),
        size_goals(by_size),
        [RULES],
        facts(rounds=rounds),
    )
    for lines in sections:
        print(*lines, sep="\n", end="\n\n")


def race_of(contestants: list[Contestant], *, rounds: int) -> Race:
    """Returns a race on turns; tokens are those that are added."""
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
    """Returns every turn of a few long conversations."""
    return Workload(
        label="d",
        warm_up=make_turns(renderer, agentic_chat("a, warm-up")),
        parts=[[turn] for number in range(CONVERSATIONS) for turn in make_turns(renderer, agentic_chat(f"a {number}"))],
    )


def make_turns(renderer: ChatRenderer, chat: Chat) -> list[Item]:
    """Returns the turns of a conversation's rollout, each with the tokens before it."""
    messages, tools = chat["messages"], chat["tools"]
    turns: list[Item] = []
    ids = renderer.render_ids(messages[:2], tools=tools, add_generation_prompt=True)
    for at in range(2, len(messages) - 1, 2):
        turn = make_turn(renderer, ids, messages[at : at + 2], tools)
        turns.append(turn)
        ids = [*ids, *turn["completion_ids"], *renderer.tokenizer.encode(turn["text"], add_special_tokens=False)]
    return turns


def make_turn(renderer: ChatRenderer, ids: list[int], messages: list[Item], tools: list[Item]) -> Item:
    """Returns a turn: what is there, what the model says, and what the tool says to that."""
    said, result = messages
    rendered = renderer.render([{"role": "user", "content": "Hello!"}, said, result], tools=tools)
    origins = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
    # With the result, as its first token is the one that ends the turn in some formats.
    completion = [number for number, message, sampled in origins if message == 1 and sampled]
    bridged = renderer.bridge(ids, completion, [result], tools=tools)
    if not isinstance(bridged, Bridge):
        raise SystemExit(f"We refuse ourselves: {bridged.reason}: {bridged.detail}")
    added = bridged.tokens.token_ids[len(ids) + len(completion) :]
    return {
        "prompt_ids": ids,
        "completion_ids": completion,
        "new": [result],
        "tools": tools,
        "text": renderer.tokenizer.decode(added),
    }


def make_sizes(renderer: ChatRenderer) -> list[Workload]:
    """Returns a few turns after as many ids as each size says; only the first size warms up, with enough for all."""
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
    """Returns the first turn of a chat, with a filler before it that makes up the size."""
    messages, tools = chat["messages"], chat["tools"]
    prompt = renderer.render_ids(messages[:2], tools=tools, add_generation_prompt=True)
    missing = size - len(prompt)
    filled = (filler * (missing // len(filler) + 1))[:missing]
    return make_turn(renderer, [*filled, *prompt], messages[2:4], tools)


def last_turns(scores: Scores) -> Scores:
    """Returns what was measured of each conversation's last turns."""
    return {
        (model, f"{label}, last {LAST}"): {one: _last_of(score) for one, score in row.items()}
        for (model, label), row in scores.items()
    }


def _last_of(score: Score) -> Score:
    turns = len(score.parts) // CONVERSATIONS
    return Score(parts={at: part for at, part in score.parts.items() if at % turns >= turns - LAST})


# ==================
# Showing
# ==================


def table(scores: Scores) -> Iterator[str]:
    """Yields the lines of a Markdown table."""
    yield "| model | workload | contestant | ms for a turn | CPU time / ours | same as ours |"
    yield "|---|---|---|--:|--:|--:|"
    for (model, workload), row in scores.items():
        for one, score in row.items():
            cells = f"{_milliseconds(score):.2f} | {score.seconds / row[OURS].seconds:.2f} | {score.agreement}"
            yield f"| {model.label} | {workload} | {one.label} | {cells} |"


def goals(scores: Scores) -> Iterator[str]:
    """Yields whether we are as fast as we want to be."""
    ratios = speed_ratios(scores, OURS.label, INCUMBENT.label)
    met = all(ratio >= INCUMBENT_GOAL for ratio in ratios.values())
    yield goal_line(f"{INCUMBENT_GOAL} times as fast as {INCUMBENT.label}", ratios, met=met)
    ratios = speed_ratios(scores, PIECES.label, OURS.label)
    met = all(ratio <= ENCODE_GOAL for ratio in ratios.values())
    yield goal_line(f"at most {ENCODE_GOAL} times the CPU time of tokenizers alone", ratios, met=met)


def size_table(scores: Scores) -> Iterator[str]:
    """Yields the lines of a Markdown table."""
    yield "| model | contestant | " + " | ".join(f"{size:,} ids" for size in SIZES) + " |"
    yield f"|---|---|{'--:|' * len(SIZES)}"
    for model in dict.fromkeys(model for model, _ in scores):
        rows = [scores[model, f"{size:,} ids"] for size in SIZES]
        for one in rows[0]:
            cells = " | ".join(f"{_milliseconds(row[one]):.2f} ms" if one in row else "–" for row in rows)
            yield f"| {model.label} | {one.label} | {cells} |"


def size_goals(scores: Scores) -> Iterator[str]:
    """Yields whether a turn costs no more after very many ids than after few, but for a copy of them."""
    few, many = (f"{size:,} ids" for size in (SIZES[0], SIZES[-1]))
    ratios = {}
    for model in dict.fromkeys(model for model, _ in scores):
        for one in (OURS, USER):
            allowed = _milliseconds(scores[model, few][one]) + _milliseconds(scores[model, many][COPY])
            ratios[model, one.label] = _milliseconds(scores[model, many][one]) / allowed
    met = all(ratio <= 1 for ratio in ratios.values())
    yield goal_line(f"a turn after {many} takes no longer than after {few} and a copy", ratios, met=met)


def _milliseconds(score: Score) -> float:
    return 1_000 * score.seconds / score.items


if __name__ == "__main__":
    main()
