"""The contestants of `benchmarks.bridge`, each in a process of its own: see `benchmarks.worker`.

An item is a turn: the `prompt_ids` and the `completion_ids` before it, the `new` messages, the `tools`, and the `text`
that is to be added. What comes out of it are the ids that are added, where those before are as they were.

This file is run by other environments than ours, so it imports nothing but what its contestant is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.render_worker import LISTS, text_pieces
from benchmarks.worker import Item, Model, Steps, serve

__all__ = ["CONTESTANTS"]

RETENTION: Any = "all"
"""All reasoning stays: else a rollout of a model that thinks is rewritten, and nobody bridges."""

USER = {"role": "user", "content": "And now?"}


def bridge_runs(model: Model) -> Steps:
    """Bridges with our renderer to ids, and where they came from as it keeps it."""
    from renderers import create_renderer, load_tokenizer

    return Steps(
        run=bridging(create_renderer(load_tokenizer(model.name), thinking_retention=RETENTION)), finish=added_ids
    )


def bridge_lists(model: Model) -> Steps:
    """Bridges with our renderer to ids and all lists that say where they came from."""
    return with_lists(bridge_runs(model))


def bridge_user(model: Model) -> Steps:
    """Bridges with our renderer to a user's message instead of the new ones."""
    steps = bridge_runs(model)
    return Steps(prepare=lambda one: {**one, "new": [USER]}, run=steps.run, finish=steps.finish)


def incumbent_bridge(model: Model) -> Steps:
    """Bridges with the incumbent, which gives all lists."""
    import renderers
    from renderers.base import load_tokenizer

    config: Any = vars(renderers)["AutoRendererConfig"](thinking_retention=RETENTION)
    create: Any = renderers.create_renderer
    return with_lists(Steps(run=bridging(create(load_tokenizer(model.name), config)), finish=added_ids))


def list_copy(_: Model) -> Steps:
    """Copies the ids that are there, and adds nothing."""
    return Steps(run=lambda one: one["prompt_ids"] + one["completion_ids"], finish=lambda *_: [])


def bridging(renderer: Any) -> Callable[[Item], Any]:
    """Returns what bridges a turn."""

    def run(one: Item) -> Any:
        tokens = renderer.bridge_to_next_turn(one["prompt_ids"], one["completion_ids"], one["new"], tools=one["tools"])
        return tokens, tokens and tokens.token_ids

    return run


def with_lists(steps: Steps) -> Steps:
    """Lets a contestant make all lists as well."""

    def run(one: Item) -> Any:
        tokens, ids = steps.run(one)
        for name in LISTS:
            getattr(tokens, name, None)
        return tokens, ids

    return Steps(run=run, finish=steps.finish)


def added_ids(one: Item, output: tuple[Any, list[int] | None]) -> list[int] | str:
    """Returns the ids that a turn adds, or what is wrong about them."""
    ids, prior = output[1], [*one["prompt_ids"], *one["completion_ids"]]
    if ids is None:
        return "refused"
    return ids[len(prior) :] if ids[: len(prior)] == prior else "rewritten"


CONTESTANTS: dict[str, Callable[[Model], Steps]] = {
    one.__name__: one for one in (bridge_runs, bridge_lists, bridge_user, incumbent_bridge, text_pieces, list_copy)
}


if __name__ == "__main__":
    serve(CONTESTANTS)
