"""Benchmark of parsing time by completion length, for completions in which nearly every token is a delimiter.

A linear parser takes ten times as long for ten times as many tokens. The rules are those of `benchmarks.race`, except
that every kind of completion has its own processes: a contestant that fails on one still runs the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.completions import make_completion
from benchmarks.models import Model
from benchmarks.race import Contestant, Worker, WorkerError
from benchmarks.worker import Item
from renderers import LoadedTokenizer, create_renderer, load_tokenizer

SIZES = (20_000, 200_000)
WARM_UP = 1_000
VALUE = 31415926
CALL = {"type": "function", "function": {"name": "store", "arguments": {"value": VALUE}}}
PARAMETERS = {"type": "object", "properties": {"value": {"description": "Any value."}}}
CHAT = {
    "messages": [
        {"role": "user", "content": "Store it."},
        {"role": "assistant", "reasoning_content": "I can do that.", "content": "Yes.", "tool_calls": [CALL]},
    ],
    "tools": [{"type": "function", "function": {"name": "store", "description": "Stores.", "parameters": PARAMETERS}}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTemplate:
    """A completion with a tool call in the format of a model. The value of its argument can be replaced."""

    tokenizer: LoadedTokenizer
    item: Item

    @classmethod
    def of(cls, model: Model) -> CallTemplate:
        tokenizer = load_tokenizer(str(model.folder))
        return cls(tokenizer=tokenizer, item=make_completion(create_renderer(tokenizer), CHAT))

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def with_value(self, ids: list[int]) -> Item:
        """Return the completion with the ids in place of the value."""
        before, _, after = self.tokenizer.decode(self.item["ids"]).partition(str(VALUE))
        return {**self.item, "ids": [*self.encode(before), *ids, *self.encode(after)]}

    def with_calls(self, size: int) -> Item:
        """Return the completion repeated up to `size` tokens, without stop tokens."""
        ids = [token for token in self.item["ids"] if token not in self._stop_ids]
        return {**self.item, "ids": ids * (size // len(ids))}

    @property
    def _stop_ids(self) -> set[int | None]:
        return {self.tokenizer.eos_token_id, *(self.tokenizer.stop_token_ids or ())}

    def with_markers(self, size: int) -> Item:
        """Return `size` random markers of the format, except stop tokens."""
        markers = sorted(set(self.tokenizer.added_tokens.values()).intersection(self.item["ids"]) - self._stop_ids)
        return {**self.item, "ids": random.Random(size).choices(markers, k=size)}

    def with_nesting(self, size: int) -> Item:
        """Return the completion with a value of nested JSON objects of `size` tokens."""
        opening, closing = self.encode('{"a":'), self.encode("}")
        depth = size // (len(opening) + len(closing))
        return self.with_value([*opening * depth, *self.encode("1"), *closing * depth])


SHAPES: dict[str, Callable[[CallTemplate, int], Item]] = {
    "braces": lambda template, size: template.with_value(template.encode("{") * size),
    "brackets": lambda template, size: template.with_value(template.encode("[") * size),
    "calls": CallTemplate.with_calls,
    "markers": CallTemplate.with_markers,
    "nested JSON": CallTemplate.with_nesting,
}


def linearity_lines(
    models: Sequence[Model], contestants: Sequence[Contestant], *, worker: str, rounds: int
) -> Iterator[str]:
    """Run the measurements and yield the lines of a Markdown table."""
    sizes = " | ".join(f"{size:,} tokens" for size in SIZES)
    yield f"| model | completion | contestant | {sizes} | ratio |"
    yield "|---|---|---|--:|--:|--:|"
    for model in models:
        template = CallTemplate.of(model)
        for name, shape in SHAPES.items():
            items = [shape(template, size) for size in (WARM_UP, *SIZES)]
            for contestant in contestants:
                cells = _cells(model, contestant, items, worker=worker, rounds=rounds)
                yield f"| {model.label} | {name} | {contestant.label} | {cells} |"


def _cells(model: Model, contestant: Contestant, items: Sequence[Item], *, worker: str, rounds: int) -> str:
    """Return the time for each size except the first, which warms up, and the ratio of the two times."""
    best = [math.inf] * len(items)
    try:
        for _ in range(rounds):
            with Worker(model, contestant, module=worker) as process:
                times = [process.measure([item]).seconds for item in items]
            best = list(map(min, best, times))
    except WorkerError as error:
        return f"– | – | {error.reason}"
    _, small, large = best
    return f"{small:.3f} s | {large:.3f} s | {large / small:.1f}"
