"""Completions in which nearly every token is a delimiter, of any length, to show how parsing time grows."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.contestants import Item
from renderers import LoadedTokenizer

VALUE = 31415926
CALL = {"type": "function", "function": {"name": "store", "arguments": {"value": VALUE}}}
PARAMETERS = {"type": "object", "properties": {"value": {"description": "Any value."}}}
CALL_CHAT = {
    "messages": [
        {"role": "user", "content": "Store it."},
        {"role": "assistant", "reasoning_content": "I can do that.", "content": "Yes.", "tool_calls": [CALL]},
    ],
    "tools": [{"type": "function", "function": {"name": "store", "description": "Stores.", "parameters": PARAMETERS}}],
}


@dataclass(frozen=True, slots=True)
class CompletionShapes:
    """A completion with a tool call in the format of a model. The value of its argument can be replaced."""

    tokenizer: LoadedTokenizer
    item: Item

    def with_value(self, ids: list[int]) -> Item:
        """Return the completion with the ids in place of the value."""
        before, _, after = self.tokenizer.decode(self.item["ids"]).partition(str(VALUE))
        return self._item([*self._encode(before), *ids, *self._encode(after)])

    def with_braces(self, size: int) -> Item:
        """Return the completion with a value of opening braces."""
        return self.with_value(self._encode("{") * size)

    def with_nesting(self, size: int) -> Item:
        """Return the completion with a value of nested JSON objects of `size` tokens."""
        opening, closing = self._encode('{"a":'), self._encode("}")
        depth = size // (len(opening) + len(closing))
        return self.with_value([*opening * depth, *self._encode("1"), *closing * depth])

    def with_calls(self, size: int) -> Item:
        """Return the completion repeated up to `size` tokens, without stop tokens."""
        ids = [token for token in self.item["ids"] if token not in self._stop_ids]
        return self._item(ids * (size // len(ids)))

    def with_markers(self, size: int, *, seed: str = "") -> Item:
        """Return `size` random markers of the format, except stop tokens."""
        markers = sorted(set(self.tokenizer.added_tokens.values()).intersection(self.item["ids"]) - self._stop_ids)
        return self._item(random.Random(f"{seed} {size}").choices(markers, k=size))

    @property
    def _stop_ids(self) -> set[int | None]:
        return {self.tokenizer.eos_token_id, *(self.tokenizer.stop_token_ids or ())}

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _item(self, ids: list[int]) -> Item:
        return {**self.item, "ids": ids, "tokens": len(ids)}


SHAPES: dict[str, Callable[[CompletionShapes, int], Item]] = {
    "braces": CompletionShapes.with_braces,
    "nested JSON": CompletionShapes.with_nesting,
    "calls": CompletionShapes.with_calls,
    "markers": CompletionShapes.with_markers,
}
