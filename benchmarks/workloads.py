"""The workloads: conversations to render, completions to parse, and turns to bridge.

a   one agentic conversation of 50 turns and about 100,000 tokens
b   chats of about 1,150 tokens
c   completions of 500 to 4,000 tokens, with reasoning, content and tool calls in the format of the model
d   every turn of a rollout of `a`, extended with the tool result; all reasoning is kept
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

from benchmarks.chats import Chat, agentic_chat, completion_chat, short_chat
from benchmarks.completion_shapes import CALL_CHAT, CompletionShapes
from benchmarks.contestants import RETENTION, Item
from benchmarks.models import Model
from benchmarks.scripts import ASCII
from renderers import Bridge, ChatRenderer, LoadedTokenizer, TemplateError, create_renderer, load_tokenizer

SIZES = range(500, 4_001)


class NotBridgedError(Exception):
    """A template does not allow to bridge the turns of the workload."""


@dataclass(frozen=True)
class Items:
    """Makes the items of the workloads for a model, with our renderer."""

    model: Model

    @cached_property
    def renderer(self) -> ChatRenderer:
        return create_renderer(self.tokenizer)

    @cached_property
    def tokenizer(self) -> LoadedTokenizer:
        return load_tokenizer(str(self.model.folder))

    @cached_property
    def keeping(self) -> ChatRenderer:
        """The renderer that keeps all reasoning."""
        return create_renderer(self.tokenizer, thinking_retention=RETENTION)

    def chat(self, chat: Chat) -> Item:
        """Return a chat with its finished text and the number of its tokens."""
        text = self.renderer.trace(chat["messages"], tools=chat["tools"]).text
        return {**chat, "text": text, "tokens": self.token_count(chat)}

    def token_count(self, chat: Chat) -> int:
        return len(self.renderer.render_ids(chat["messages"], tools=chat["tools"]))

    def long_chats(self, seed: str, *, turns: int, script: str = ASCII) -> list[Item]:
        """Return the item of `a`."""
        return [self.chat(agentic_chat(seed, turns=turns, script=script))]

    def short_chats(self, seed: str, *, count: int, script: str = ASCII) -> list[Item]:
        """Return the items of `b`."""
        return [self.chat(short_chat(f"{seed} {number}", script=script)) for number in range(count)]

    def growing_chat(self, seed: str, *, turns: int, script: str = ASCII) -> list[Item]:
        """Return a conversation of `a`. Its tokens are about those of the prompts of all turns."""
        chat = agentic_chat(seed, turns=turns, script=script)
        rendered = self.renderer.render(chat["messages"], tools=chat["tools"])
        spans = zip(chat["messages"], rendered.message_token_spans(), strict=True)
        starts = [span[0] for message, span in spans if message["role"] == "assistant" and span is not None]
        return [{**chat, "tokens": sum(starts)}]

    # ==================
    # Completions
    # ==================

    def completions(self, seed: str, *, count: int, script: str = ASCII) -> list[Item]:
        """Return the items of `c`."""
        chats = (completion_chat(f"{seed} {number}", script=script) for number in itertools.count())
        made = (self.completion(chat) for chat in chats if self._accepts(chat))
        return list(itertools.islice((item for item in made if item["tokens"] in SIZES), count))

    def _accepts(self, chat: Chat) -> bool:
        """Return False if the template refuses a chat. Some allow only one call in a message."""
        try:
            self.renderer.render_ids(chat["messages"], tools=chat["tools"])
        except TemplateError:
            return False
        return True

    def completion(self, chat: Chat) -> Item:
        """Return the sampled `ids` of the last message of a chat, the `prompt_ids` before them, and the `tools`."""
        rendered = self.renderer.render(chat["messages"], tools=chat["tools"])
        last = len(chat["messages"]) - 1
        origins = zip(rendered.message_indices, rendered.sampled_mask, strict=True)
        positions = [index for index, (message, sampled) in enumerate(origins) if message == last and sampled]
        ids = list(rendered.token_ids)
        start, end = positions[0], positions[-1] + 1
        return {"ids": ids[start:end], "prompt_ids": ids[:start], "tools": chat["tools"], "tokens": end - start}

    def marker_completions(self, seed: str, *, count: int) -> list[Item]:
        """Return completions of 2,000 random markers of the format, without stop tokens."""
        return [self.shapes.with_markers(2_000, seed=f"{seed} {number}") for number in range(count)]

    @cached_property
    def shapes(self) -> CompletionShapes:
        return CompletionShapes(self.tokenizer, self.completion(CALL_CHAT))

    # ==================
    # Turns
    # ==================

    def turns(self, seed: str, *, turns: int, script: str = ASCII) -> list[Item]:
        """Return the items of `d`: the turns of a conversation as a rollout, each with the ids before it."""
        chat = agentic_chat(seed, turns=turns, script=script)
        messages, tools = chat["messages"], chat["tools"]
        made: list[Item] = []
        ids = self.keeping.render_ids(messages[:2], tools=tools, add_generation_prompt=True)
        for index in range(2, len(messages) - 1, 2):
            turn, ids = self.turn(ids, messages[index : index + 2], tools)
            made.append(turn)
        return made

    def turn(self, ids: list[int], messages: list[Item], tools: list[Item]) -> tuple[Item, list[int]]:
        """Return a turn with the completion of the model and the tool result, and the ids after it."""
        assistant, result = messages
        rendered = self.keeping.render([{"role": "user", "content": "Hello!"}, assistant, result], tools=tools)
        origins = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
        # Rendered with the result, because in some formats its first token ends the assistant turn.
        completion = [token_id for token_id, message, sampled in origins if message == 1 and sampled]
        bridged = self.keeping.bridge(ids, completion, [result], tools=tools)
        if not isinstance(bridged, Bridge):
            raise NotBridgedError(f"The bridge is refused: {bridged.reason}: {bridged.detail}")
        after = list(bridged.tokens.token_ids)
        added = after[len(ids) + len(completion) :]
        turn = {"prompt_ids": ids, "completion_ids": completion, "new": [result], "tools": tools}
        return {**turn, "text": self.tokenizer.decode(added), "tokens": len(added)}, after
