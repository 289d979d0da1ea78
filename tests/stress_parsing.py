"""Parse millions of malformed completions, and check that every token is accounted for.

    python -m tests.stress_parsing --cases 10000000

A completion consists of random ids, or of random markers and short words, or it is a real one with tokens removed,
doubled, swapped, replaced or cut off. Some have a prompt that is real, broken, or random. Parsing must not raise, the
parts must cover the completion, and every tenth completion must give the same result in random chunks.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from renderers.core.completions import ParsedResponse
from tests.support.completions import random_chunks
from tests.support.conversations import TOOLS
from tests.support.sources import MODELS, Source, Task, source_of, spread
from tests.support.stress_report import run_long_form

__all__ = ["problem_of", "stress"]

STREAMED = 10
"""One of this many completions is also parsed in chunks."""


def problem_of(
    source: Source, ids: Sequence[Any], prompt: Sequence[Any] | None, *, chunks: Sequence[Sequence[Any]] = ()
) -> tuple[ParsedResponse | None, str | None]:
    """Return the parsed completion, and an error description or None. Also parse the chunks if there are any."""
    try:
        parsed = source.renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt)
        if not _tiles([(start, end) for _, start, end in parsed.parts], len(ids)):
            return parsed, "the parts do not tile"
        if chunks:
            parser = source.renderer.stream(tools=TOOLS, prompt_ids=prompt)
            events = [event for chunk in chunks for event in parser.feed(chunk)]
            # Compares representations, because NaN is not equal to itself.
            if repr(parser.close()) != repr(parsed):
                return parsed, "chunks change the result"
            spans = [(event.start, event.end) for event in (*events, *parser.last_events)]
            # An event without tokens has text that the previous token began.
            if not _tiles([(start, end) for start, end in spans if start < end], len(ids)):
                return parsed, "the events do not tile"
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return parsed, None


def _tiles(spans: Sequence[tuple[int, int]], count: int) -> bool:
    at = 0
    for start, end in spans:
        if start != at or end <= start:
            return False
        at = end
    return at == count


def run(task: Task) -> Counter[str]:
    """Parse `count` completions of a model, from a seed. Return the number by outcome."""
    name, seed, count = task
    source, chance = source_of(name), random.Random(seed)
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for number in range(count):
        ids = source.completion(chance)
        prompt = source.prompt(chance) if chance.randrange(2) else None
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
    """Parse `cases` completions in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes)


def _statuses(outcomes: dict[str, Counter[str]]) -> list[str]:
    keys = {key for counts in outcomes.values() for key in counts if key not in _OTHERS and "WRONG" not in key}
    return ["with reasoning", "with calls", *sorted(keys)]


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    return run_long_form(stress, description=__doc__, cases=10_000_000, what="completions", columns=_statuses)


_OTHERS = {"completions", "with reasoning", "with calls", "milliseconds"}

if __name__ == "__main__":
    sys.exit(main())
