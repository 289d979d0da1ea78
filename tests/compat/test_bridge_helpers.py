"""Helpers for authors of custom renderers with a bridge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_args

import pytest

from renderers.compat.bridge_helpers import (
    ResolvedThinkingRetention,
    introduces_user_query,
    reject_assistant_in_extension,
    resolve_thinking_retention,
    should_rerender_for_thinking_retention,
    trim_to_turn_close,
)


def messages_of(*roles: str) -> list[dict[str, Any]]:
    return [{"role": role} for role in roles]


@pytest.mark.parametrize(
    ("completion", "close", "trimmed"),
    [
        ([2, 9], None, [1, 9, 2, 9]),
        ([2, 9, 3], None, [1, 9, 2, 9]),
        ([2, 9, 3, 8, 4], None, [1, 9, 2, 9, 3, 8]),
        ([9, 2], 7, [1, 9, 9]),
        ([2], None, None),
        ([2], 7, [1, 9, 2, 7]),
        ([2], 0, [1, 9, 2, 0]),
        ([], None, None),
        ([], 7, [1, 9, 7]),
    ],
)
def test_trimming_keeps_ids_up_to_the_last_closing_token(
    completion: list[int], close: int | None, trimmed: list[int] | None
) -> None:
    assert trim_to_turn_close([1, 9], completion, {8, 9}, synthesize_close=close) == trimmed


def test_trimmed_ids_are_a_new_list() -> None:
    prompt, completion = [1], [9]
    trimmed = trim_to_turn_close(prompt, completion, {9})
    assert trimmed is not None
    trimmed.append(5)
    assert (prompt, completion) == ([1], [9])


def test_new_messages_must_not_contain_an_assistant_message() -> None:
    assert reject_assistant_in_extension(messages_of("user", "assistant"))
    assert not reject_assistant_in_extension(messages_of("user", "tool", "system"))
    assert not reject_assistant_in_extension([{}])


def test_a_user_message_starts_a_new_question_unless_the_author_overrides_it() -> None:
    assert introduces_user_query(messages_of("tool", "user"))
    assert not introduces_user_query(messages_of("tool"))
    assert introduces_user_query(messages_of("tool"), is_user_query=lambda message: message["role"] == "tool")


def test_the_retention_of_a_config_takes_precedence_over_the_implied_one() -> None:
    assert resolve_thinking_retention(SimpleNamespace(thinking_retention="all"), "tool_cycle") == "all"
    assert resolve_thinking_retention(SimpleNamespace(thinking_retention=None), "tool_cycle") == "tool_cycle"
    assert resolve_thinking_retention(object(), "template") == "template"


@pytest.mark.parametrize("retention", get_args(ResolvedThinkingRetention))
def test_the_history_is_rerendered_according_to_the_retention(retention: ResolvedThinkingRetention) -> None:
    after_tool, after_user = {"template": (True, True), "tool_cycle": (False, True), "all": (False, False)}[retention]
    assert should_rerender_for_thinking_retention(retention, messages_of("tool")) is after_tool
    assert should_rerender_for_thinking_retention(retention, messages_of("tool", "user")) is after_user
    own = should_rerender_for_thinking_retention(
        retention, messages_of("user"), is_user_query=lambda message: message["role"] == "tool"
    )
    assert own is after_tool
