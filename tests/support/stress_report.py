"""The long form of a stress test: its command line, its table, and what it ends with."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.support.models import HUB_AT_HAND, unpack_hub
from tests.support.sources import wrong_in

__all__ = ["run_long_form"]

Found = dict[str, Counter[str]]
"""What came of the cases, by model."""


def run_long_form(
    stress: Callable[[int], Found],
    *,
    description: str | None,
    cases: int,
    what: str,
    columns: Callable[[Found], Sequence[str]],
) -> int:
    """Runs so many cases unless the command line says otherwise, prints a table, and returns 1 where one was wrong.

    `what` is what a case is called, and the column that counts them; `columns` gives those that follow it.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=cases)
    wanted = parser.parse_args().cases
    if HUB_AT_HAND:
        unpack_hub()
    started = time.perf_counter()
    found = stress(wanted)
    took = time.perf_counter() - started
    shown = [what, *columns(found), "milliseconds", "wrong"]
    print(f"| model | {' | '.join(shown)} |")
    print(f"|---|{'---:|' * len(shown)}")
    for name, counts in found.items():
        counts["wrong"] = len(wrong_in(counts))
        print(f"| {name.rpartition('/')[2]} | {' | '.join(f'{counts[column]:,}' for column in shown)} |")
    wrong = [key for counts in found.values() for key in wrong_in(counts)]
    print("\n".join(wrong[:20]))
    print(f"{sum(counts[what] for counts in found.values()):,} {what} in {took:,.0f} seconds, {len(wrong)} wrong")
    return 1 if wrong else 0
