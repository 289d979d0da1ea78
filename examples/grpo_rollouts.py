"""Sample groups of rollouts with a tool from an inference server, and write training rows with GRPO advantages.

    python examples/grpo_rollouts.py MODEL rows.jsonl --base-url http://localhost:8000 [--group 8] [--turns 4]

MODEL is the name or the path of the model that the server runs, for its tokenizer and its chat template. Each task is
sampled several times, in a group. The advantage of a rollout is its reward minus the mean of its group, divided by the
standard deviation. Each line of the output is a row with `input_ids`, `labels`, `logprobs`, `advantages` and `reward`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from renderers import ChatRenderer, ParsedResponse, Rollout, RolloutRow, create_renderer
from renderers.client import InferenceClient


class Task(NamedTuple):
    """A question and its answer."""

    question: str
    answer: int


def multiply(a: int, b: int) -> int:
    """Multiply two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a * b


def make_tasks(count: int) -> list[Task]:
    """Return questions that are easier with the tool."""
    chance = random.Random(0)
    pairs = [(chance.randrange(100, 1000), chance.randrange(100, 1000)) for _ in range(count)]
    return [Task(f"What is {a} times {b}? Answer with the number.", a * b) for a, b in pairs]


def run_tools(parsed: ParsedResponse) -> list[dict[str, Any]]:
    """Return a message with the result of each call of a turn."""
    results = []
    for call in parsed.tool_calls:
        try:
            if call.status != "ok" or call.name != "multiply" or not isinstance(call.arguments, dict):
                raise TypeError(f"the call is not valid: {call.status}")
            result = str(multiply(**call.arguments))
        except TypeError as error:  # other arguments than those of the tool
            result = f"Error: {error}"
        message = {"role": "tool", "name": call.name or "multiply", "content": result}
        results.append(message if call.id is None else {**message, "tool_call_id": call.id})
    return results


async def run_rollout(rollout: Rollout, task: Task, turns: int) -> None:
    """Sample turns until one calls no tool, and set the reward."""
    for _ in range(turns):
        turn = await rollout.generate()
        if turn is None:
            break
        results = run_tools(turn.parsed)
        if not results:
            break
        rollout.add(results)
    answer = rollout.turns[-1].parsed.content if rollout.turns else ""
    rollout.reward = float(str(task.answer) in answer.replace(",", ""))


async def run_group(
    renderer: ChatRenderer, client: InferenceClient, task: Task, options: argparse.Namespace
) -> list[RolloutRow]:
    """Sample a group of rollouts of one task, and return their rows."""
    group = Rollout(
        renderer,
        client,
        [{"role": "user", "content": task.question}],
        tools=[multiply],
        sampling_params={"max_tokens": options.max_tokens, "temperature": 1.0},
        max_total_tokens=options.max_total_tokens,
    )
    forks = group.fork(options.group)
    await asyncio.gather(*(run_rollout(fork, task, options.turns) for fork in forks))
    for fork, advantage in zip(forks, advantages_of([fork.reward or 0.0 for fork in forks]), strict=True):
        fork.advantage = advantage
    return group.rows()


def advantages_of(rewards: Sequence[float]) -> list[float]:
    """Return the advantage of each rollout of a group."""
    mean, deviation = statistics.fmean(rewards), statistics.pstdev(rewards)
    return [(reward - mean) / (deviation + 1e-6) for reward in rewards]


async def sample(options: argparse.Namespace) -> list[RolloutRow]:
    """Return the rows of all tasks, which are sampled at once."""
    renderer = create_renderer(options.model, thinking_retention="all")  # keep the reasoning of earlier turns
    async with InferenceClient(options.base_url) as client:
        groups = (run_group(renderer, client, task, options) for task in make_tasks(options.tasks))
        return [row for rows in await asyncio.gather(*groups) for row in rows]


def main() -> None:
    """Sample from the server of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="the name or the path of a model")
    parser.add_argument("target", type=Path)
    parser.add_argument("--base-url", default="http://localhost:8000")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--group", type=int, default=8, help="rollouts of each task (default: 8)")
    parser.add_argument("--turns", type=int, default=4, help="most turns of a rollout (default: 4)")
    parser.add_argument("--max-tokens", type=int, default=1024, help="most tokens of a turn (default: 1024)")
    parser.add_argument("--max-total-tokens", type=int, default=8192, help="most tokens of a row (default: 8192)")
    options = parser.parse_args()

    rows = asyncio.run(sample(options))
    with options.target.open("w", encoding="utf-8") as target:
        for row in rows:
            columns = {"input_ids": row.token_ids, "labels": row.labels(), **row.columns, "reward": row.reward}
            target.write(json.dumps(columns) + "\n")
    trained = sum(sum(row.loss_mask) for row in rows)
    mean = statistics.fmean(row.reward or 0.0 for row in rows)
    print(f"{len(rows)} rows, {trained} trained tokens, mean reward {mean:.2f}")


if __name__ == "__main__":
    main()
