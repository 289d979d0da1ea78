"""Find turns with reasoning that a chat template does not write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Channel
from renderers.core.tokens import TokenRun
from renderers.training.loss import field_of, role_of


def find_lost_reasoning(
    messages: Sequence[Any], runs: Iterable[TokenRun], *, renderer: Any, among: Iterable[int] | None = None
) -> tuple[int, ...]:
    """Return the assistant messages with reasoning of which the runs have no token.

    `among` are the messages to check, by default all.
    """
    written = {run.message for run in runs if run.channel is Channel.REASONING}
    indices = range(len(messages)) if among is None else among
    unwritten = [index for index in indices if index not in written and role_of(messages[index]) == "assistant"]
    return tuple(index for index in unwritten if _has_reasoning(messages[index], lambda: _markers_of(renderer)))


def _has_reasoning(message: Any, markers: Callable[[], tuple[str, str] | None]) -> bool:
    if any(_has_text(field_of(message, name)) for name in REASONING_NAMES):
        return True
    content = field_of(message, "content")
    parts = content if isinstance(content, list | tuple) else [content]
    if any(_has_text(field_of(part, "thinking")) for part in parts):
        return True
    texts = [part if isinstance(part, str) else field_of(part, "text") for part in parts]
    return any(isinstance(text, str) and _has_inline_reasoning(text, markers) for text in texts)


def _has_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _has_inline_reasoning(text: str, markers: Callable[[], tuple[str, str] | None]) -> bool:
    # Most texts have no bracket, and the markers of a renderer are inferred on first use.
    pair = markers() if "<" in text or "[" in text else None
    if pair is None or pair[1] not in text:
        return False
    return bool(text.partition(pair[1])[0].replace(pair[0], "").strip())


def _markers_of(renderer: Any) -> tuple[str, str] | None:
    """Return the markers around reasoning; None if they are unknown, or are plain text in messages."""
    resolution = getattr(renderer, "resolution", None)
    if resolution is None or getattr(renderer, "content_tokens", "template") == "text":
        return None
    reasoning = resolution.grammar.reasoning
    return None if reasoning is None else reasoning.markers
