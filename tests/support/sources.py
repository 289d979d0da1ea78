"""Malformed completions for real models, and worker processes to run millions of them."""

from __future__ import annotations

import functools
import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import Grammar
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.completions import HUB, completions
from tests.support.conversations import TOOLS
from tests.support.models import CACHE, HUB_AT_HAND

__all__ = ["MODELS", "Source", "Task", "source_of", "spread", "wrong_in"]

MODELS = [str(EMBEDDED), *(HUB.values() if HUB_AT_HAND else ())]
MOST = 60
"""The maximum number of tokens of a completion."""
PORTION = 5_000

Task = tuple[str, int, int]
"""A model, a seed, and the number of cases."""

WORDS = (
    *(
        "\n",
        "\n\n",
        " ",
        "  ",
        "é",
        "🙂",
        "a",
        "<",
        "</",
        "<|",
        '"',
        "{",
        "}",
        "; ",
        ", ",
        ": ",
        '">',
        "```json\n",
        "\n```",
    ),
    *("assistant", "analysis", "commentary", "final", " to=functions.a", "functions.a:0", "function", "search", "1"),
    *('{"name": "a", "arguments": {"x": 1}}', '{"name": "a"}', '{"x": [1]}', "<function=search>", "</function>"),
    *("<parameter=query>", "</parameter>", '<parameter name="query">', '<invoke name="search">', "</invoke>"),
)


ANSWER = {"role": "assistant", "reasoning_content": "Hm.", "content": "It is é."}


@dataclass(frozen=True)
class Source:
    """A model, and the parts of random completions for it."""

    renderer: ChatRenderer
    size: int
    """The number of ids of the model."""
    bits: list[list[int]]
    """The ids of markers and short words."""
    real: list[list[int]]
    """Well-formed completions."""
    prompts: list[list[int]]

    def completion(self, chance: random.Random) -> list[int]:
        """Return a random completion."""
        make: Callable[[random.Random], list[int]] = chance.choice(
            (self._any_ids, self._any_bits, self._any_bits, self._mutated, self._mutated, self._cut_off)
        )
        return make(chance)[:MOST]

    def prompt(self, chance: random.Random) -> list[int]:
        """Return a prompt: a real one, a broken one, or random ids."""
        kind = chance.randrange(3)
        if kind == 2:
            return self._any_ids(chance)
        prompt = chance.choice(self.prompts)
        return prompt if kind else [*prompt[: chance.randrange(len(prompt)) + 1], *self._any_bits(chance)]

    def _any_ids(self, chance: random.Random) -> list[int]:
        # Some are too large, and some are negative.
        return [chance.randrange(-2 * self.size, 3 * self.size) for _ in range(chance.randrange(MOST))]

    def _any_bits(self, chance: random.Random) -> list[int]:
        return [number for _ in range(chance.randrange(24)) for number in chance.choice(self.bits)]

    def _cut_off(self, chance: random.Random) -> list[int]:
        real = chance.choice(self.real)
        return real[: chance.randrange(len(real) + 1)]

    def _mutated(self, chance: random.Random) -> list[int]:
        ids = list(chance.choice(self.real))
        for _ in range(chance.randint(1, 4)):
            at, other = (chance.randrange(len(ids) + 1) for _ in range(2))
            match chance.randrange(4):
                case 0:
                    del ids[at : at + 1]
                case 1:
                    ids[at:at] = ids[other : other + chance.randint(1, 3)]
                case 2:
                    ids[at : at + 1], ids[other : other + 1] = ids[other : other + 1], ids[at : at + 1]
                case _:
                    ids[at : at + 1] = chance.choice([*self.bits, [chance.randrange(self.size)]])
        return ids


@functools.lru_cache(maxsize=1)
def source_of(name: str) -> Source:
    """Return the source for a model. Only the last one is cached."""
    renderer = create_renderer(load_tokenizer(name))
    grammar, tokenizer = renderer.resolution.grammar, renderer.tokenizer
    stop = tokenizer.decode([renderer.get_stop_token_ids()[0]])

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    texts = [_in_markers_of(grammar, text.replace("<|stop|>", stop)) for text in completions(grammar.tools or "hermes")]
    bits = [*sorted(markers_within(grammar)), *sorted(tokenizer.vocab.control_texts)[:10], grammar.header, stop, *WORDS]
    ask = {"role": "user", "content": "What is the weather?"}
    prompt = renderer.render_ids([ask], add_generation_prompt=True)
    later = renderer.render_ids([ask, ANSWER, ask], tools=TOOLS[1:], add_generation_prompt=True)
    opened = encode(grammar.reasoning.markers[0]) if grammar.reasoning else []
    return Source(
        renderer,
        len(tokenizer.vocab.byte_texts or ()),
        [encode(text) for text in bits if text],
        [ids for ids in map(encode, texts) if 0 < len(ids) <= MOST],
        [prompt, later, [*prompt, *opened, *encode("Hm é")]],
    )


def _in_markers_of(grammar: Grammar, text: str) -> str:
    """Return a text with the default markers of the tool-call format replaced by those of the model."""
    tool_format = TOOL_FORMATS[grammar.tools or "hermes"]
    reasoning = grammar.reasoning.markers if grammar.reasoning else ()
    for default, own in zip(("<think>", "</think>"), reasoning, strict=False):
        text = text.replace(default, own)
    for default, own in zip(tool_format.call or (), grammar.call or (), strict=False):
        text = text.replace(default, own)
    return text


def spread(
    run: Callable[[Task], Counter[str]],
    cases: int,
    *,
    models: Sequence[str],
    processes: int | None = None,
    portion: int = PORTION,
) -> dict[str, Counter[str]]:
    """Run `cases` cases in total, in one process per core, and return the sums of the counts by model.

    A process runs `portion` cases at a time.
    """
    totals: dict[str, Counter[str]] = {}
    with multiprocessing.get_context("spawn").Pool(processes or os.cpu_count(), _offline) as pool:
        for name in models:
            totals[name] = sum(pool.imap_unordered(run, _portions(name, -(-cases // len(models)), portion)), Counter())
    return totals


def wrong_in(counts: Counter[str]) -> list[str]:
    """Return the outcomes that are errors."""
    return [outcome for outcome in counts if outcome.startswith("WRONG")]


def _portions(name: str, cases: int, portion: int) -> Iterator[Task]:
    for seed, start in enumerate(range(0, cases, portion)):
        yield name, seed, min(portion, cases - start)


def _offline() -> None:
    """Make a new process load models from the cache of the tests."""
    from huggingface_hub import constants

    constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE = str(CACHE / "hub"), True
