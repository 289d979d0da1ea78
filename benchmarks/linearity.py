"""How the time to parse a completion grows with its length, where nearly every token opens or closes something.

A parser that reads each token once takes ten times as long for ten times as many. The rules are those of
`benchmarks.race`, but that every completion has processes of its own: who fails at one still gets the others.
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

__all__ = ["linearity_lines"]

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
class Mold:
    """A completion that calls a tool with one value, in a model's format, to put other values into."""

    tokenizer: LoadedTokenizer
    item: Item

    @classmethod
    def of(cls, model: Model) -> Mold:
        tokenizer = load_tokenizer(str(model.folder))
        return cls(tokenizer=tokenizer, item=make_completion(create_renderer(tokenizer), CHAT))

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def with_value(self, ids: list[int]) -> Item:
        """Returns the completion with these ids where the value was."""
        before, _, after = self.tokenizer.decode(self.item["ids"]).partition(str(VALUE))
        return {**self.item, "ids": [*self.encode(before), *ids, *self.encode(after)]}

    def with_markers(self, size: int) -> Item:
        """Returns as many markers of the format at random as asked for, but for those that end a completion."""
        ends = {self.tokenizer.eos_token_id, *(self.tokenizer.stop_token_ids or ())}
        markers = sorted(set(self.tokenizer.added_tokens.values()).intersection(self.item["ids"]) - ends)
        return {**self.item, "ids": random.Random(size).choices(markers, k=size)}

    def with_nesting(self, size: int) -> Item:
        """Returns the completion with a value of objects within objects, as JSON of as many tokens as asked for."""
        opening, closing = self.encode('{"a":'), self.encode("}")
        depth = size // (len(opening) + len(closing))
        return self.with_value([*opening * depth, *self.encode("1"), *closing * depth])


SHAPES: dict[str, Callable[[Mold, int], Item]] = {
    "braces": lambda mold, size: mold.with_value(mold.encode("{") * size),
    "brackets": lambda mold, size: mold.with_value(mold.encode("[") * size),
    "markers": Mold.with_markers,
    "nested JSON": Mold.with_nesting,
}


def linearity_lines(
    models: Sequence[Model], contestants: Sequence[Contestant], *, worker: str, rounds: int
) -> Iterator[str]:
    """Measures, and yields the lines of a Markdown table."""
    sizes = " | ".join(f"{size:,} tokens" for size in SIZES)
    yield f"| model | completion | contestant | {sizes} | ratio |"
    yield "|---|---|---|--:|--:|--:|"
    for model in models:
        mold = Mold.of(model)
        for name, shape in SHAPES.items():
            items = [shape(mold, size) for size in (WARM_UP, *SIZES)]
            for one in contestants:
                cells = _cells(model, one, items, worker=worker, rounds=rounds)
                yield f"| {model.label} | {name} | {one.label} | {cells} |"


def _cells(model: Model, contestant: Contestant, items: Sequence[Item], *, worker: str, rounds: int) -> str:
    """Returns the time for each size but the first, which warms up, and how many times as long the last one takes."""
    best = [math.inf] * len(items)
    try:
        for _ in range(rounds):
            with Worker(model, contestant, module=worker) as process:
                best = [min(known, process.measure([item]).seconds) for known, item in zip(best, items, strict=True)]
    except WorkerError as error:
        return f"– | – | {error.reason}"
    _, small, large = best
    return f"{small:.3f} s | {large:.3f} s | {large / small:.1f}"
