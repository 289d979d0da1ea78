"""Trajectory steps: a prompt and its completion."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import MultiModalData, TokenIdError
from renderers.training import RenderedConversation, build_trajectory_step
from tests.support.training import MESSAGES, TOOLS, FixedRenderer, embedded, lists, messages_of


def test_a_step_is_a_prompt_and_its_completion() -> None:
    renderer = embedded()
    step = build_trajectory_step(renderer, MESSAGES[:2], MESSAGES[2:], tools=TOOLS)
    assert step["prompt_ids"] == renderer.render_ids(MESSAGES[:2], tools=TOOLS, add_generation_prompt=True)
    assert step["prompt_ids"] + step["completion_ids"] == renderer.render_ids(MESSAGES, tools=TOOLS)
    assert list(step) == [
        "prompt_ids",
        "prompt_mask",
        "completion_ids",
        "completion_mask",
        "completion_logprobs",
        "routed_experts",
        "sampling_mask",
    ]
    assert step["prompt_mask"] == [False] * len(step["prompt_ids"])
    assert step["completion_mask"] == [True] * len(step["completion_ids"])
    assert step["completion_logprobs"] == [0.0] * len(step["completion_ids"])
    assert step["routed_experts"] is step["sampling_mask"] is None


@pytest.mark.parametrize(("prompt", "common"), [([1, 2, 3], 3), ([1, 2, 99], 2), ([99], 0), ([], 0)])
def test_a_step_is_split_where_the_renders_differ(prompt: list[int], common: int) -> None:
    step = build_trajectory_step(FixedRenderer(lists(), prompt=prompt), messages_of("user"), messages_of("assistant"))
    assert step["prompt_ids"] == lists().token_ids[:common]
    assert step["completion_ids"] == lists().token_ids[common:]


def test_a_step_without_a_completion_has_no_generation_prompt() -> None:
    renderer = FixedRenderer(lists(), prompt=lists().token_ids)
    assert build_trajectory_step(renderer, messages_of("user"), [], tools=TOOLS)["completion_ids"] == []
    assert renderer.calls == [(1, TOOLS, False), (1, TOOLS, False)]
    build_trajectory_step(renderer, messages_of("user"), messages_of("assistant"))
    assert renderer.calls[2:] == [(1, None, True), (2, None, False)]


def test_a_step_has_the_media_of_its_messages() -> None:
    media = MultiModalData(mm_hashes={"image": ["h"]})
    step = build_trajectory_step(
        FixedRenderer(lists(multi_modal_data=media)), messages_of("user"), messages_of("assistant")
    )
    assert step["multi_modal_data"] is media
    empty = FixedRenderer(lists(multi_modal_data=MultiModalData()))
    assert "multi_modal_data" not in build_trajectory_step(empty, messages_of("user"), messages_of("assistant"))


def test_appending_a_completion_creates_a_new_conversation() -> None:
    first = RenderedConversation([1, 2], [3], [-0.5], messages=messages_of("user"))
    second = first.with_completion((4, 5), completion_logprobs=[-0.1, -0.2])
    assert second == RenderedConversation([1, 2], [4, 5], [-0.1, -0.2], messages=messages_of("user"))
    assert first.with_completion([7]).completion_logprobs == []
    second.prompt_ids.append(9)
    second.messages.clear()
    assert first == RenderedConversation([1, 2], [3], [-0.5], messages=messages_of("user"))
    assert first.token_ids == [1, 2, 3]


@pytest.mark.parametrize("ids", [[1, 2.5], [1, None], [1, "a"], [1, True], [1, -1]])
def test_a_completion_of_values_that_are_not_ids_is_rejected(ids: list[Any]) -> None:
    with pytest.raises((TypeError, TokenIdError), match=r"^completion_ids\[1\] "):
        RenderedConversation([1]).with_completion(ids)
