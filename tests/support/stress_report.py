"""Run the long form of a stress test from the command line and print a table."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.support.models import HUB_AT_HAND, unpack_hub
from tests.support.sources import wrong_in

__all__ = ["run_long_form"]

Outcomes = dict[str, Counter[str]]
"""The number of cases by outcome, for each model."""


def run_long_form(
    stress: Callable[[int], Outcomes],
    *,
    description: str | None,
    cases: int,
    what: str,
    columns: Callable[[Outcomes], Sequence[str]],
) -> int:
    """Run `cases` cases, or as many as the command line sets, and print a table. Return 1 if one was wrong.

    `what` is the name of the cases and the title of their column; `columns` returns the titles of the next columns.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=cases)
    count = parser.parse_args().cases
    if HUB_AT_HAND:
        unpack_hub()
    started = time.perf_counter()
    outcomes = stress(count)
    took = time.perf_counter() - started
    shown = [what, *columns(outcomes), "milliseconds", "wrong"]
    print(f"| model | {' | '.join(shown)} |")
    print(f"|---|{'---:|' * len(shown)}")
    for name, counts in outcomes.items():
        counts["wrong"] = len(wrong_in(counts))
        print(f"| {name.rpartition('/')[2]} | {' | '.join(f'{counts[column]:,}' for column in shown)} |")
    wrong = [key for counts in outcomes.values() for key in wrong_in(counts)]
    print("\n".join(wrong[:20]))
    print(f"{sum(counts[what] for counts in outcomes.values()):,} {what} in {took:,.0f} seconds, {len(wrong)} wrong")
    return 1 if wrong else 0
