"""Render turns of several classes with every template, parse them, and print a table: docs/tables/parse.md.

    python -m scripts.parse_table [--template qwen3] [-v] [--write]

A row counts the classes of turns that are parsed back exactly, those of which the template lost a part so that it
renders the given and the parsed turn alike, those that it refuses, and those that are misread. With `-v`, the
differences of misread turns are shown. With `--write`, the page is written, and a misread template without a reason,
or with one that it does not need, is an error.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from renderers.parsing.evidence import TURN_CLASSES, Evidence, RoundTrip
from tests.support.bridging import EACH_ONCE
from tests.support.models import HUB_AT_HAND, unpack_hub
from tests.support.round_trips import REASONS, evidence_of, misread_classes

PAGE = Path(__file__).parents[1] / "docs" / "tables" / "parse.md"
_HEAD = f"""# Round trips by template

Written by `make parse-table`. Each template renders an assistant turn of each of these {len(TURN_CLASSES)} classes, and
the grammar that was derived from the template parses it: {", ".join(TURN_CLASSES)}.

| column | meaning |
|---|---|
| tool-call format | the key of the [format](../reference/tool-formats.md) |
| exact | the parsed turn equals the given one |
| lost | it differs, but the template renders both alike: it trims text, or drops reasoning, content or calls |
| refused | the template rejects the turn |
| misread | the parsed turn differs otherwise |
"""

Evidences = Mapping[str, tuple[str, Mapping[str, Evidence]]]


def main() -> int:
    """Print the table, write the page if asked to, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--template", default="", help="show only the templates with this text in their names")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the page; all templates are shown")
    arguments = parser.parse_args()
    if HUB_AT_HAND:
        unpack_hub()
    names = [name for name in EACH_ONCE if arguments.write or arguments.template in name]
    with multiprocessing.get_context("spawn").Pool() as pool:
        results = dict(zip(names, pool.imap(evidence_of, names), strict=True))
    evidences = {name: result for name, result in results.items() if result is not None}
    lines = table(evidences)
    print("\n".join(lines))
    if arguments.verbose:
        print("\n".join(_differences(evidences)))
    if not arguments.write:
        return 0
    PAGE.write_text("\n".join([_HEAD, *lines, *_reasons(evidences), ""]), encoding="utf-8")
    wrong = {name for name, (_, evidence) in evidences.items() if misread_classes(evidence)} ^ REASONS.keys()
    for name in sorted(wrong):
        print(f"{name} is misread without a reason, or has a reason and is not misread", file=sys.stderr)
    return 1 if wrong else 0


def table(evidences: Evidences) -> list[str]:
    """Return the lines of the table, and one with the share of templates that are parsed back."""
    lines = ["| template | tool-call format | exact | lost | refused | misread |", "|---|---|--:|--:|--:|--:|"]
    for name, (tools, evidence) in evidences.items():
        counts = Counter(item.outcome for item in evidence.values())
        cells = (
            counts[outcome] for outcome in (RoundTrip.EXACT, RoundTrip.LOST, RoundTrip.REFUSED, RoundTrip.DIFFERENT)
        )
        lines.append(f"| {name} | {tools} | {' | '.join(map(str, cells))} |")
    right = sum(not misread_classes(evidence) for _, evidence in evidences.values())
    share = right / max(1, len(evidences))
    return [*lines, "", f"{right} of {len(evidences)} templates ({share:.1%}) are parsed back in all classes."]


def _reasons(evidences: Evidences) -> Sequence[str]:
    rows = [
        f"| {name} | {', '.join(misread_classes(evidence))} | {REASONS.get(name, '')} |"
        for name, (_, evidence) in evidences.items()
        if misread_classes(evidence)
    ]
    return ["", "## Misread turns", "", "| template | classes | reason |", "|---|---|---|", *rows] if rows else []


def _differences(evidences: Evidences) -> Sequence[str]:
    return [
        f"{name}: {kind}: {evidence[kind].difference}"
        for name, (_, evidence) in evidences.items()
        for kind in misread_classes(evidence)
    ]


if __name__ == "__main__":
    sys.exit(main())
