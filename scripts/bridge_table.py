"""How each template's rollouts are extended, and why not, as a table.

    python -m scripts.bridge_table

Every assistant's turn of the tests' conversations that others follow is extended, with tools and without, with the
default policy and with `thinking_retention="all"`. A result that is not what rendering the whole conversation adds ends
the run with an error. The last column counts the turns that are not extended though rendering would keep them.
"""

from __future__ import annotations

from collections import Counter

from renderers import BridgeReason
from tests.bridging import TEMPLATES, cases, keeping_all, outcome_of, renderer_of


def main() -> None:
    """Prints the table."""
    print("| template | extended | refused | kept with `all` | refused with `all` | refused though append-only |")
    print("|---|--:|---|--:|---|---|")
    totals: Counter[str] = Counter()
    for template in TEMPLATES:
        default = renderer_of(template)
        if default is None:
            continue
        everything = keeping_all(default)
        turns = list(cases(default))
        found = Counter(outcome_of(default, case) for case in turns)
        kept = Counter(outcome_of(everything, case) for case in turns)
        totals.update(found)
        false = _reasons(found, false=True)
        cells = (found["extended"], _reasons(found), kept["kept"], _reasons(kept), false)
        print(f"| {template} | {' | '.join(map(str, cells))} |", flush=True)
    refused = sum(count for name, count in totals.items() if name.startswith("false"))
    share = refused / max(1, refused + totals["extended"])
    print(f"\n{totals['extended']:,} turns extended; {refused:,} ({share:.1%}) refused though append-only; none wrong.")


def _reasons(found: Counter[str], *, false: bool = False) -> str:
    named = {reason: found[f"false: {reason}" if false else reason] for reason in BridgeReason}
    return ", ".join(f"{reason} {count}" for reason, count in named.items() if count)


if __name__ == "__main__":
    main()
