"""Conversations, and a renderer that returns fixed tokens, for tests of training data."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.core.tokens import RenderedTokens

STOP = 9
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": {"word": "tea"}}}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is tea?"},
    {"role": "assistant", "content": "Let me see.", "reasoning_content": "A word.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "look_up", "content": "A drink."},
    {"role": "assistant", "content": "It is a drink."},
]


@dataclass
class FixedRenderer:
    """A renderer that returns fixed tokens and records its arguments."""

    rendered: RenderedTokens
    stops: list[int] = field(default_factory=lambda: [STOP])
    prompt: list[int] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)

    def render(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> RenderedTokens:
        self.calls.append((len(messages), tools, add_generation_prompt))
        return self.rendered

    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]:
        self.calls.append((len(messages), tools, add_generation_prompt))
        return self.prompt

    def get_stop_token_ids(self) -> list[int]:
        return self.stops


def messages_of(*roles: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": "x"} for role in roles]


def lists(**changes: Any) -> RenderedTokens:
    """Return tokens of a system, a user and an assistant message, with a token before and after them."""
    fields: dict[str, Any] = {
        "token_ids": [1, 2, 3, 4, 5, 6, 7, 8, STOP, 10],
        "message_indices": [-1, 0, 0, 1, 1, 1, 2, 2, 2, -1],
        "sampled_mask": [at in (7, 8) for at in range(10)],
        "is_content": [at in (2, 4, 5, 7, 8) for at in range(10)],
    }
    return RenderedTokens(**{**fields, **changes})


@functools.cache
def embedded() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))
