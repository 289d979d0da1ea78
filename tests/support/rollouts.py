"""The laws of rollouts, and completions in the format of a model."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from renderers import ChatRenderer, Completion, MessageError, TemplateError
from renderers.rollout import Rollout
from renderers.rollout.trajectory import Turn

__all__ = ["check_laws", "check_prompt", "sampled_ids"]


def check_laws(rollout: Rollout, completions: Iterable[Completion]) -> None:
    """Check that every sampled token is trained once, with its own logprob, after the ids that it was sampled from.

    Every token of the completions has another logprob.
    """
    rows, branches = rollout.rows(), rollout.branches
    assert len(rows) == len(branches)
    trained: Counter[tuple[float, int]] = Counter()
    for index, (row, branch) in enumerate(zip(rows, branches, strict=True)):
        assert row.token_ids == branch.token_ids
        columns = zip(row.logprobs, row.token_ids, row.sampled_mask, row.loss_mask, strict=True)
        for logprob, token, is_sampled, is_trained in columns:
            assert (logprob != 0.0) == is_sampled
            assert is_sampled or not is_trained
            trained[logprob, token] += is_trained
        for turn in branch.turns:
            assert row.token_ids[turn.prompt.end : turn.end] == turn.token_ids
            assert row.logprobs[turn.prompt.end : turn.end] == turn.logprobs
        for start, end, members in row.shared:
            assert index in members
            for other in members:
                assert rows[other].token_ids[:end] == row.token_ids[:end]
                assert rows[other].logprobs[start:end] == row.logprobs[start:end]
                assert any(rows[other].loss_mask[start:end]) == (other == members[0] and end > start)
    pairs = (zip(completion.logprobs, completion.token_ids, strict=True) for completion in completions)
    assert +trained == Counter(itertools.chain.from_iterable(pairs))
    for row in rollout.rows(shared="each"):
        assert row.loss_mask == row.sampled_mask


def check_prompt(rollout: Rollout, renderer: ChatRenderer, before: Turn | None, tools: Any = None) -> None:
    """Check the prompt of a rollout: all ids of the turn before it and more, or the rendered conversation."""
    ids, prompt = rollout.prompt_ids, rollout._position.prompt
    if prompt.parent is None:
        assert ids == renderer.render_ids(rollout.messages, tools=tools, add_generation_prompt=True)
        return
    assert before is not None
    assert prompt.parent == before.number
    earlier = rollout._trajectory.ids_before(before.prompt) + before.prompt.token_ids + before.token_ids
    assert ids[: len(earlier)] == earlier
    assert ids[len(earlier) :] == prompt.token_ids != []


def sampled_ids(renderer: ChatRenderer, turn: dict[str, Any], tools: Any = None) -> list[int] | None:
    """Return the ids that a model would sample for a turn, with the stop token; None if the template refuses it."""
    try:
        rendered = renderer.render([{"role": "user", "content": "Hi"}, turn], tools=tools)
    except (MessageError, TemplateError):
        return None
    columns = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
    ids = [token for token, message, is_sampled in columns if message == 1 and is_sampled]
    stops = renderer.get_stop_token_ids()
    return ids if ids[-1:] and ids[-1] in stops else [*ids, *stops[:1]]
