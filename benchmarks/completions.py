"""Completions to parse: the last messages of conversations, as a model would have sampled them."""

from __future__ import annotations

import itertools

from benchmarks.chats import Chat, completion_chat
from benchmarks.worker import Item
from renderers import ChatRenderer

__all__ = ["make_completion", "make_completions"]

SIZES = range(500, 4_001)


def make_completions(renderer: ChatRenderer, seed: str, *, count: int) -> list[Item]:
    """Returns completions of 500 to 4,000 tokens. Every seed gives others."""
    made = (make_completion(renderer, completion_chat(f"{seed} {number}")) for number in itertools.count())
    return list(itertools.islice((one for one in made if len(one["ids"]) in SIZES), count))


def make_completion(renderer: ChatRenderer, chat: Chat) -> Item:
    """Returns the `ids` that are sampled of a chat's last message, the `prompt_ids` before them, and the `tools`."""
    rendered = renderer.render(chat["messages"], tools=chat["tools"])
    last = len(chat["messages"]) - 1
    origins = zip(rendered.message_indices, rendered.sampled_mask, strict=True)
    places = [at for at, (message, sampled) in enumerate(origins) if message == last and sampled]
    ids = list(rendered.token_ids)
    return {"ids": ids[places[0] : places[-1] + 1], "prompt_ids": ids[: places[0]], "tools": chat["tools"]}
