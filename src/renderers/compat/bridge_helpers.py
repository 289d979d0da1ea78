"""Helpers for the bridge of a custom renderer, as in release 0.1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from renderers.core.messages import list_mappings
from renderers.core.token_ids import as_ids

ResolvedThinkingRetention = Literal["template", "tool_cycle", "all"]
"""How much past reasoning is kept: as in the template, up to the next user message, or all of it."""


def trim_to_turn_close(
    previous_prompt_ids: Sequence[int],
    previous_completion_ids: Sequence[int],
    close_token_ids: Collection[int],
    *,
    synthesize_close: int | None = None,
) -> list[int] | None:
    """Return the prompt and the completion up to the last closing token in the completion.

    If there is no closing token, append `synthesize_close`, or return None without it. Tokens sampled
    after the closing token are dropped, so the result may not start with the whole completion. The
    bridge of the renderers in this package keeps them.

    >>> trim_to_turn_close([1], [2, 9, 3], {9}), trim_to_turn_close([1], [2], {9}, synthesize_close=9)
    ([1, 2, 9], [1, 2, 9])
    """
    prompt = as_ids(previous_prompt_ids, name="previous_prompt_ids")
    completion = as_ids(previous_completion_ids, name="previous_completion_ids")
    for end in range(len(completion), 0, -1):
        if completion[end - 1] in close_token_ids:
            return [*prompt, *completion[:end]]
    if synthesize_close is None:
        return None
    return [*prompt, *completion, synthesize_close]


def reject_assistant_in_extension(new_messages: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a message is an assistant message, which was sampled and cannot be rendered as an extension.

    >>> reject_assistant_in_extension([{"role": "tool", "content": "ok"}])
    False
    """
    return any(message.get("role") == "assistant" for message in list_mappings(new_messages))


def _is_user(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user"


def introduces_user_query(
    new_messages: Iterable[Mapping[str, Any]], *, is_user_query: Callable[[Any], bool] = _is_user
) -> bool:
    """Return True if a message is a user query, after which a template may drop past reasoning.

    >>> introduces_user_query([{"role": "tool", "content": "ok"}, {"role": "user", "content": "And now?"}])
    True
    """
    return any(is_user_query(message) for message in new_messages)


def resolve_thinking_retention(config: object, implied: ResolvedThinkingRetention) -> ResolvedThinkingRetention:
    """Return the `thinking_retention` of a config, or the implied one if it is not set.

    >>> resolve_thinking_retention(None, "tool_cycle")
    'tool_cycle'
    """
    chosen = getattr(config, "thinking_retention", None)
    return implied if chosen is None else cast(ResolvedThinkingRetention, chosen)


def should_rerender_for_thinking_retention(
    thinking_retention: ResolvedThinkingRetention,
    new_messages: Iterable[Mapping[str, Any]],
    *,
    is_user_query: Callable[[Any], bool] = _is_user,
) -> bool:
    """Return True if new messages may change the reasoning rendered before them, which makes a bridge invalid.

    >>> should_rerender_for_thinking_retention("tool_cycle", [{"role": "tool", "content": "ok"}])
    False
    """
    if thinking_retention in ("template", "all"):
        return thinking_retention == "template"
    return introduces_user_query(new_messages, is_user_query=is_user_query)
