"""The contestants of `benchmarks.bridge`, each in its own process: see `benchmarks.worker`.

An item is a turn: the `prompt_ids` and the `completion_ids` before it, the `new` messages, the `tools`, and the `text`
to add. The output is the list of added ids, or an error if the ids before them changed.

This file also runs in the environments of other packages, so each contestant imports only its own packages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.render_worker import LISTS, text_pieces
from benchmarks.worker import Item, Model, Steps, serve

RETENTION: Any = "all"
"""Keep all reasoning. Without it a rollout of a reasoning model is rewritten, and no contestant can bridge it."""

USER = {"role": "user", "content": "And now?"}


def bridge_runs(model: Model) -> Steps:
    """Bridge with our renderer, with attribution as runs."""
    from renderers import create_renderer, load_tokenizer

    return Steps(
        run=bridging(create_renderer(load_tokenizer(model.name), thinking_retention=RETENTION)), finish=added_ids
    )


def bridge_lists(model: Model) -> Steps:
    """Bridge with our renderer, with attribution as lists."""
    return with_lists(bridge_runs(model))


def bridge_user(model: Model) -> Steps:
    """Bridge with our renderer to a user message instead of the new ones."""
    steps = bridge_runs(model)
    return Steps(prepare=lambda turn: {**turn, "new": [USER]}, run=steps.run, finish=steps.finish)


def old_release_bridge(model: Model) -> Steps:
    """Bridge with release 0.1, with attribution as lists."""
    import renderers
    from renderers.base import load_tokenizer

    config: Any = vars(renderers)["AutoRendererConfig"](thinking_retention=RETENTION)
    create: Any = renderers.create_renderer
    return with_lists(Steps(run=bridging(create(load_tokenizer(model.name), config)), finish=added_ids))


def list_copy(_: Model) -> Steps:
    """Copy the ids before the turn."""
    return Steps(run=lambda turn: turn["prompt_ids"] + turn["completion_ids"], finish=lambda *_: [])


def bridging(renderer: Any) -> Callable[[Item], Any]:
    """Return a function that bridges a turn."""

    def run(turn: Item) -> Any:
        prompt_ids, completion_ids = turn["prompt_ids"], turn["completion_ids"]
        tokens = renderer.bridge_to_next_turn(prompt_ids, completion_ids, turn["new"], tools=turn["tools"])
        return tokens, tokens and tokens.token_ids

    return run


def with_lists(steps: Steps) -> Steps:
    """Return the steps of a contestant that also builds all attribution lists."""

    def run(turn: Item) -> Any:
        tokens, ids = steps.run(turn)
        for name in LISTS:
            getattr(tokens, name, None)
        return tokens, ids

    return Steps(run=run, finish=steps.finish)


def added_ids(turn: Item, output: tuple[Any, list[int] | None]) -> list[int] | str:
    """Return the ids that a turn adds, or an error."""
    ids, prior = output[1], [*turn["prompt_ids"], *turn["completion_ids"]]
    if ids is None:
        return "refused"
    return ids[len(prior) :] if ids[: len(prior)] == prior else "rewritten"


CONTESTANTS: dict[str, Callable[[Model], Steps]] = {
    task.__name__: task for task in (bridge_runs, bridge_lists, bridge_user, old_release_bridge, text_pieces, list_copy)
}


if __name__ == "__main__":
    serve(CONTESTANTS)
