"""Make the prompt of the next turn: append messages by a bridge, or render the conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from renderers.bridging.refusal import REMEDIES, REMEDIES_AFTER_RENDER, BridgeRefusal
from renderers.bridging.result import Bridge
from renderers.core.inputs import MessageLike
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_messages
from renderers.core.protocols import Renderer
from renderers.core.text import common_prefix_length
from renderers.errors import RolloutError
from renderers.rollout.position import RolloutOptions
from renderers.rollout.trajectory import Prompt


def copy_messages(messages: Iterable[MessageLike]) -> list[JsonObject]:
    """Return messages as JSON data that shares nothing with the caller's objects.

    Raises:
        MessageError: A message cannot be rendered by any template. Names the message and the field.
    """
    copied = normalise_messages(messages)
    for message in copied:
        # Normalisation copies reasoning to this key. Rendering does so again.
        if message.get("thinking") is not None and message["thinking"] == message.get("reasoning_content"):
            del message["thinking"]
    return copied


class BridgedIds(NamedTuple):
    """All ids of a prompt with new messages, or the refusal of the bridge."""

    ids: list[int] | None
    """None if the bridge was refused."""
    refusal: BridgeRefusal | None = None
    """None if the renderer gives no reason."""


def bridge_ids(
    renderer: Renderer,
    prompt_ids: list[int],
    completion_ids: list[int],
    new: Sequence[JsonObject],
    options: RolloutOptions,
) -> BridgedIds:
    """Append new messages to the ids of a turn.

    Raises:
        RolloutError: A custom renderer returned ids that do not begin with those of the turn.
        Exception: The errors of `renderer.bridge`.
    """
    bridge: Any = getattr(renderer, "bridge", None) or renderer.bridge_to_next_turn
    bridged = bridge(prompt_ids, completion_ids, new, tools=options.tools, **options.chat_template_kwargs)
    if bridged is None or isinstance(bridged, BridgeRefusal):
        return BridgedIds(None, bridged and _after_render(bridged))
    if isinstance(bridged, Bridge):
        return BridgedIds(bridged.tokens.token_ids)
    ids = list(bridged.token_ids)
    start, end = len(prompt_ids), len(prompt_ids) + len(completion_ids)
    if ids[:start] != prompt_ids or ids[start:end] != completion_ids:
        raise RolloutError(
            f"bridge_to_next_turn of {type(renderer).__name__} returned ids that do not begin with the prompt and the "
            "completion. It must keep them, or return None."
        )
    return BridgedIds(ids)


def _after_render(refusal: BridgeRefusal) -> BridgeRefusal:
    """Return a refusal without the advice to render the whole conversation, because a rollout does so."""
    remedy = REMEDIES[refusal.reason]
    if not refusal.detail.endswith(remedy):
        # The refusal of a custom renderer.
        return refusal
    return replace(refusal, detail=refusal.detail.removesuffix(remedy) + REMEDIES_AFTER_RENDER[refusal.reason])


def render_prompt_ids(renderer: Renderer, messages: Sequence[JsonObject], options: RolloutOptions) -> list[int]:
    """Return the ids of a conversation, up to the start of the next assistant turn."""
    render: Any = renderer.render_ids
    ids: list[int] = render(
        list(messages), tools=options.tools, add_generation_prompt=True, **options.chat_template_kwargs
    )
    return ids


def check_same_prompt(renderer: Renderer, prompt: Prompt, options: RolloutOptions) -> None:
    """Check that a renderer gives the ids of a recorded prompt, which is a rendered conversation.

    Raises:
        RolloutError: It gives other ids, or cannot render the messages.
    """
    remedy = "Pass the renderer that the rollout was sampled with: the same model, template and options."
    try:
        ids = render_prompt_ids(renderer, prompt.messages, options) if prompt.token_ids else []
    except ValueError as error:
        raise RolloutError(f"the renderer cannot render the first prompt of the rollout: {error} {remedy}") from error
    if ids != prompt.token_ids:
        index = common_prefix_length(ids, prompt.token_ids)
        raise RolloutError(
            f"the renderer gives another first prompt than the rollout has: {len(ids)} ids, not "
            f"{len(prompt.token_ids)}, which differ from index {index} on. {remedy}"
        )
