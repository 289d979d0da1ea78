"""Millions of completions that no model would write are read, and every token of each has to be accounted for.

    python -m tests.stress_parsing --cases 10000000

A completion is ids at random, or markers and small words at random, or a real one with tokens taken out, doubled,
swapped, replaced, or cut off anywhere; some come with a prompt that is real, broken, or ids at random. Reading must not
raise, the parts must tile the completion, and of every tenth one it must say the same in random chunks.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.parse.grammar import Grammar
from renderers.parse.response import ParsedResponse
from renderers.parse.syntax import SYNTAXES
from renderers.parse.tables import markers_within
from tests.completions import HUB, completions, random_chunks
from tests.conversations import TOOLS
from tests.models import CACHE, HUB_AT_HAND, unpack_hub

__all__ = ["MODELS", "Source", "problem_of", "source_of", "stress"]

MODELS = [str(EMBEDDED), *(HUB.values() if HUB_AT_HAND else ())]
MOST = 60
"""How many tokens a completion has at most."""
STREAMED = 10
"""One of so many completions is also read in chunks."""
PORTION = 5_000

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


@dataclass(frozen=True)
class Source:
    """A model, and what completions for it are made of."""

    renderer: ChatRenderer
    size: int
    """How many ids it has."""
    bits: list[list[int]]
    """Markers and small words."""
    real: list[list[int]]
    """Completions as the model may write them."""
    prompts: list[list[int]]

    def completion(self, chance: random.Random) -> list[int]:
        """Returns a completion."""
        make: Callable[[random.Random], list[int]] = chance.choice(
            (self._any_ids, self._any_bits, self._any_bits, self._mutated, self._mutated, self._cut_off)
        )
        return make(chance)[:MOST]

    def prompt(self, chance: random.Random) -> list[int] | None:
        """Returns a prompt, or none."""
        kind = chance.randrange(6)
        if kind > 2:
            return None
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
    """Returns the source for a model; the last one is kept, as one at a time is worked at."""
    renderer = create_renderer(load_tokenizer(name))
    grammar, tokenizer = renderer.resolution.grammar, renderer.tokenizer
    stop = tokenizer.decode([renderer.get_stop_token_ids()[0]])

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    texts = [_in_markers_of(grammar, text.replace("<|stop|>", stop)) for text in completions(grammar.tools or "hermes")]
    bits = [*sorted(markers_within(grammar)), *sorted(tokenizer.control_texts)[:10], grammar.header, stop, *WORDS]
    ask = [{"role": "user", "content": "What is the weather?"}]
    prompt = renderer.render_ids(ask, add_generation_prompt=True)
    opened = encode(grammar.reasoning.markers[0]) if grammar.reasoning else []
    return Source(
        renderer,
        len(tokenizer.wire_texts),
        [encode(text) for text in bits if text],
        [ids for ids in map(encode, texts) if 0 < len(ids) <= MOST],
        [prompt, [*prompt, *opened, *encode("Hm é")]],
    )


def _in_markers_of(grammar: Grammar, text: str) -> str:
    """Returns a text with the markers of a model instead of those that its syntax has by default."""
    syntax = SYNTAXES[grammar.tools or "hermes"]
    reasoning = grammar.reasoning.markers if grammar.reasoning else ()
    for default, own in zip(("<think>", "</think>"), reasoning, strict=False):
        text = text.replace(default, own)
    for default, own in zip(syntax.call or (), grammar.call or (), strict=False):
        text = text.replace(default, own)
    return text


def problem_of(
    source: Source, ids: Sequence[Any], prompt: Sequence[Any] | None, *, chunks: Sequence[Sequence[Any]] = ()
) -> tuple[ParsedResponse | None, str | None]:
    """Returns what is read of a completion, and what is wrong about it; in chunks as well where some are given."""
    try:
        parsed = source.renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt)
        if not _tiles(parsed, len(ids)):
            return parsed, "the parts do not tile"
        if chunks:
            parser = source.renderer.stream(tools=TOOLS, prompt_ids=prompt)
            for chunk in chunks:
                parser.feed(chunk)
            # By their texts, as NaN is not equal to itself.
            if repr(parser.close()) != repr(parsed):
                return parsed, "chunks change it"
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return parsed, None


def _tiles(parsed: ParsedResponse, count: int) -> bool:
    at = 0
    for _, start, end in parsed.parts:
        if start != at or end <= start:
            return False
        at = end
    return at == count


def run(task: tuple[str, int, int]) -> Counter[str]:
    """Reads so many completions of a model, from a seed; counts what came of them."""
    name, seed, count = task
    source, chance = source_of(name), random.Random(seed)
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for number in range(count):
        ids, prompt = source.completion(chance), source.prompt(chance)
        chunks = list(random_chunks(ids, chance)) if number % STREAMED == 0 else ()
        parsed, problem = problem_of(source, ids, prompt, chunks=chunks)
        if problem is not None:
            counts[f"WRONG: {name}: {problem}: {ids} after {prompt}"] += 1
        if parsed is not None:
            counts["with calls"] += bool(parsed.tool_calls)
            counts["with reasoning"] += parsed.reasoning_content is not None
            counts.update(call.status.value for call in parsed.tool_calls)
    counts["completions"] = count
    counts["milliseconds"] = round(1000 * (time.perf_counter() - started))
    return counts


def stress(
    cases: int, *, models: Sequence[str] = tuple(MODELS), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Reads so many completions in all, in as many processes as there are cores; counts by model what came of them."""
    found: dict[str, Counter[str]] = {}
    with multiprocessing.get_context("spawn").Pool(processes or os.cpu_count(), _offline) as pool:
        for name in models:
            found[name] = sum(pool.imap_unordered(run, _portions(name, -(-cases // len(models)))), Counter())
    return found


def _portions(name: str, cases: int) -> Iterator[tuple[str, int, int]]:
    for seed, start in enumerate(range(0, cases, PORTION)):
        yield name, seed, min(PORTION, cases - start)


def _offline() -> None:
    """Lets a process load models from the cache that the tests have, before anything is loaded in it."""
    from huggingface_hub import constants

    constants.HF_HUB_CACHE, constants.HF_HUB_OFFLINE = str(CACHE / "hub"), True


def main() -> int:
    """Runs the long form, prints a table, and fails where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000_000)
    cases = parser.parse_args().cases
    if HUB_AT_HAND:
        unpack_hub()
    started = time.perf_counter()
    found = stress(cases)
    took = time.perf_counter() - started
    statuses = sorted({key for counts in found.values() for key in counts if key not in _OTHERS and "WRONG" not in key})
    columns = ["completions", "with reasoning", "with calls", *statuses, "milliseconds", "wrong"]
    print(f"| model | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name, counts in found.items():
        counts["wrong"] = sum(count for key, count in counts.items() if key.startswith("WRONG"))
        print(f"| {name.rpartition('/')[2]} | {' | '.join(f'{counts[column]:,}' for column in columns)} |")
    wrong = [key for counts in found.values() for key in counts if key.startswith("WRONG")]
    print("\n".join(wrong[:20]))
    total = sum(counts["completions"] for counts in found.values())
    print(f"{total:,} completions in {took:,.0f} seconds, {len(wrong)} wrong")
    return 1 if wrong else 0


_OTHERS = {"completions", "with reasoning", "with calls", "milliseconds"}

if __name__ == "__main__":
    sys.exit(main())
