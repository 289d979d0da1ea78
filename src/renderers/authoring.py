"""What authors of a renderer of their own build its bridge with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

__all__ = [
    "ResolvedThinkingRetention",
    "introduces_user_query",
    "reject_assistant_in_extension",
    "resolve_thinking_retention",
    "should_rerender_for_thinking_retention",
    "trim_to_turn_close",
]

ResolvedThinkingRetention = Literal["template", "tool_cycle", "all"]
"""What of the reasoning in a history stays: what the template keeps, up to the user's next message, or all of it."""


def trim_to_turn_close(
    previous_prompt_ids: Sequence[int],
    previous_completion_ids: Sequence[int],
    close_token_ids: Collection[int],
    *,
    synthesize_close: int | None = None,
) -> list[int] | None:
    """Returns prompt and completion up to the last token of the completion that closes a turn.

    A completion without one is closed with `synthesize_close`; None where that is not given. What was sampled after
    the closing token is left out, so that the result does not begin with all of the completion then; the bridge of
    this package's own renderers keeps it.

    >>> trim_to_turn_close([1], [2, 9, 3], {9}), trim_to_turn_close([1], [2], {9}, synthesize_close=9)
    ([1, 2, 9], [1, 2, 9])
    """
    for end in range(len(previous_completion_ids), 0, -1):
        if previous_completion_ids[end - 1] in close_token_ids:
            return [*previous_prompt_ids, *previous_completion_ids[:end]]
    if synthesize_close is None:
        return None
    return [*previous_prompt_ids, *previous_completion_ids, synthesize_close]


def reject_assistant_in_extension(new_messages: Iterable[Mapping[str, Any]]) -> bool:
    """Says whether a message is the assistant's: its tokens were sampled, and cannot be rendered as an extension.

    >>> reject_assistant_in_extension([{"role": "tool", "content": "ok"}])
    False
    """
    return any(message.get("role") == "assistant" for message in new_messages)


def _is_user(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user"


def introduces_user_query(
    new_messages: Iterable[Mapping[str, Any]], *, is_user_query: Callable[[Any], bool] = _is_user
) -> bool:
    """Says whether a message is a question of the user's, after which a template may drop earlier reasoning.

    >>> introduces_user_query([{"role": "tool", "content": "ok"}, {"role": "user", "content": "And now?"}])
    True
    """
    return any(is_user_query(message) for message in new_messages)


def resolve_thinking_retention(config: object, implied: ResolvedThinkingRetention) -> ResolvedThinkingRetention:
    """Returns the `thinking_retention` of a config, or what is implied where it has none.

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
    """Says whether new messages may change what is written of the reasoning before them, so that no bridge holds.

    >>> should_rerender_for_thinking_retention("tool_cycle", [{"role": "tool", "content": "ok"}])
    False
    """
    if thinking_retention in ("template", "all"):
        return thinking_retention == "template"
    return introduces_user_query(new_messages, is_user_query=is_user_query)
