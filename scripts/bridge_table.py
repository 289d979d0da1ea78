"""Print a table of how many turns of a rollout each template lets us bridge, and why the others are refused.

    python -m scripts.bridge_table

Each assistant turn in the conversations of the tests that is followed by another message is bridged: with and without
tools, with the default policy and with `thinking_retention="all"`. The run fails if a bridge differs from a render of
the whole conversation. The last column counts the turns that are refused although a render would keep them. Below the
table: the number of templates that bridge the plainest turns, and the reasons of the others; and of the turns after
which the next prompt begins with the prompt and the completion, the share that is bridged by default.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterable

from renderers import BridgeReason
from tests.support.bridging import TEMPLATES, append_only_cases, cases, keeping_all, outcome_of, renderer_of
from tests.support.models import HUB_AT_HAND, unpack_hub

PLAIN = {"a user's message": "three, message 1", "a tool's result": "cycle, message 1"}
"""The plainest turns that are followed by another message."""
EXTENDED = ("extended", "kept")


Outcomes = dict[str, tuple[str, str]]
"""The outcome of each turn with the default policy, and with all reasoning kept."""
Shares = Counter[tuple[str, str]]
"""The number of outcomes by the role of the next message, of turns with an append-only next prompt."""


def main() -> None:
    """Print the table."""
    print("| template | extended | refused | kept with `all` | refused with `all` | refused though append-only |")
    print("|---|--:|---|--:|---|---|")
    totals: Counter[str] = Counter()
    append_only: Shares = Counter()
    plain: dict[str, Outcomes] = {name: {} for name in PLAIN}
    if HUB_AT_HAND:
        unpack_hub()
    with multiprocessing.get_context("spawn").Pool() as pool:
        for template, result in zip(TEMPLATES, pool.imap(outcomes_of, TEMPLATES), strict=True):
            if result is None:
                continue
            outcomes, shares = result
            append_only += shares
            default, kept = (Counter(pair[policy] for pair in outcomes.values()) for policy in range(2))
            for name, turn in PLAIN.items():
                if turn in outcomes:
                    plain[name][template] = outcomes[turn]
            totals.update(default)
            false = _reasons(default, false=True)
            cells = (default["extended"], _reasons(default), kept["kept"], _reasons(kept), false)
            print(f"| {template} | {' | '.join(map(str, cells))} |", flush=True)
    refused = sum(count for name, count in totals.items() if name.startswith("false"))
    share = refused / max(1, refused + totals["extended"])
    print(f"\n{totals['extended']:,} turns extended; {refused:,} ({share:.1%}) refused though append-only; none wrong.")
    for name, by_template in plain.items():
        print(f"\nBefore {name}: {_shares(by_template)}")
    for role in sorted({role for role, _ in append_only}):
        count = sum(number for (other, _), number in append_only.items() if other == role)
        bridged = append_only[role, "extended"]
        print(f"\nAppend-only before {role}: {bridged:,} of {count:,} turns bridged ({bridged / count:.1%}).")


def outcomes_of(template: str) -> tuple[Outcomes, Shares] | None:
    """Return the outcomes of all turns with a template; None for a model without a template."""
    default = renderer_of(template)
    if default is None:
        return None
    keep_all = keeping_all(default)
    outcomes = {case.name: (outcome_of(default, case), outcome_of(keep_all, case)) for case in cases(default)}
    shares = Counter((case.new[0]["role"], outcome_of(default, case)) for case in append_only_cases(default))
    return outcomes, shares


def _shares(outcomes: Outcomes) -> str:
    """Return the number of templates that bridge a turn, and the others by reason."""
    default, keep_all = ([pair[policy] for pair in outcomes.values()] for policy in range(2))
    others: dict[str, list[str]] = {}
    for template, (_, outcome) in outcomes.items():
        if outcome not in EXTENDED:
            others.setdefault(outcome.removeprefix("false: "), []).append(template)
    reasons = "; ".join(f"{reason}: {', '.join(templates)}" for reason, templates in others.items())
    return (
        f"{_extended(default)} of {len(outcomes)} templates by default, {_extended(keep_all)} with `all`."
        f" Not with `all`: {reasons or 'none'}."
    )


def _extended(outcomes: Iterable[str]) -> int:
    return sum(outcome in EXTENDED for outcome in outcomes)


def _reasons(outcomes: Counter[str], *, false: bool = False) -> str:
    counts = {reason: outcomes[f"false: {reason}" if false else reason] for reason in BridgeReason}
    return ", ".join(f"{reason} {count}" for reason, count in counts.items() if count)


if __name__ == "__main__":
    main()
