"""How each template's rollouts are extended, and why not, as a table.

    python -m scripts.bridge_table

Every assistant's turn of the tests' conversations that others follow is extended, with tools and without, with the
default policy and with `thinking_retention="all"`. A result that is not what rendering the whole conversation adds ends
the run with an error. The last column counts the turns that are not extended though rendering would keep them. Below
the table stands with how many templates the plainest turns are extended, and why not with the others.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterable

from renderers import BridgeReason
from tests.support.bridging import TEMPLATES, cases, keeping_all, outcome_of, renderer_of
from tests.support.models import HUB_AT_HAND, unpack_hub

PLAIN = {"a user's message": "three, message 1", "a tool's result": "cycle, message 1"}
"""The plainest turns that are followed by something."""
EXTENDED = ("extended", "kept")


Outcomes = dict[str, tuple[str, str]]
"""What came of something with the default policy, and with all reasoning kept."""


def main() -> None:
    """Prints the table."""
    print("| template | extended | refused | kept with `all` | refused with `all` | refused though append-only |")
    print("|---|--:|---|--:|---|---|")
    totals: Counter[str] = Counter()
    plain: dict[str, Outcomes] = {name: {} for name in PLAIN}
    if HUB_AT_HAND:
        unpack_hub()
    with multiprocessing.get_context("spawn").Pool() as pool:
        for template, outcomes in zip(TEMPLATES, pool.imap(outcomes_of, TEMPLATES), strict=True):
            if outcomes is None:
                continue
            found, kept = (Counter(both[at] for both in outcomes.values()) for at in range(2))
            for name, turn in PLAIN.items():
                if turn in outcomes:
                    plain[name][template] = outcomes[turn]
            totals.update(found)
            false = _reasons(found, false=True)
            cells = (found["extended"], _reasons(found), kept["kept"], _reasons(kept), false)
            print(f"| {template} | {' | '.join(map(str, cells))} |", flush=True)
    refused = sum(count for name, count in totals.items() if name.startswith("false"))
    share = refused / max(1, refused + totals["extended"])
    print(f"\n{totals['extended']:,} turns extended; {refused:,} ({share:.1%}) refused though append-only; none wrong.")
    for name, of_templates in plain.items():
        print(f"\nBefore {name}: {_shares(of_templates)}")


def outcomes_of(template: str) -> Outcomes | None:
    """Extends all turns with a template; None for a model that comes without one."""
    default = renderer_of(template)
    if default is None:
        return None
    everything = keeping_all(default)
    return {case.name: (outcome_of(default, case), outcome_of(everything, case)) for case in cases(default)}


def _shares(outcomes: Outcomes) -> str:
    """Returns with how many templates a turn is extended, and the others with their reasons."""
    default, everything = ([both[at] for both in outcomes.values()] for at in range(2))
    others: dict[str, list[str]] = {}
    for template, (_, outcome) in outcomes.items():
        if outcome not in EXTENDED:
            others.setdefault(outcome.removeprefix("false: "), []).append(template)
    said = "; ".join(f"{reason}: {', '.join(templates)}" for reason, templates in others.items())
    return (
        f"{_extended(default)} of {len(outcomes)} templates by default, {_extended(everything)} with `all`."
        f" Not with `all`: {said or 'none'}."
    )


def _extended(outcomes: Iterable[str]) -> int:
    return sum(outcome in EXTENDED for outcome in outcomes)


def _reasons(found: Counter[str], *, false: bool = False) -> str:
    named = {reason: found[f"false: {reason}" if false else reason] for reason in BridgeReason}
    return ", ".join(f"{reason} {count}" for reason, count in named.items() if count)


if __name__ == "__main__":
    main()
