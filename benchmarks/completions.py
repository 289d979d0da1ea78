"""Completions to parse: the last messages of conversations, as a model would sample them."""

from __future__ import annotations

import itertools

from benchmarks.chats import Chat, completion_chat
from benchmarks.worker import Item
from renderers import ChatRenderer

SIZES = range(500, 4_001)


def make_completions(renderer: ChatRenderer, seed: str, *, count: int) -> list[Item]:
    """Return completions of 500 to 4,000 tokens. Another seed gives others."""
    completions = (make_completion(renderer, completion_chat(f"{seed} {number}")) for number in itertools.count())
    return list(itertools.islice((completion for completion in completions if len(completion["ids"]) in SIZES), count))


def make_completion(renderer: ChatRenderer, chat: Chat) -> Item:
    """Return the sampled `ids` of the last message of a chat, the `prompt_ids` before them, and the `tools`."""
    rendered = renderer.render(chat["messages"], tools=chat["tools"])
    last = len(chat["messages"]) - 1
    origins = zip(rendered.message_indices, rendered.sampled_mask, strict=True)
    positions = [index for index, (message, sampled) in enumerate(origins) if message == last and sampled]
    ids = list(rendered.token_ids)
    return {"ids": ids[positions[0] : positions[-1] + 1], "prompt_ids": ids[: positions[0]], "tools": chat["tools"]}
