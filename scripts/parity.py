"""Compare every available chat template with transformers, in all combinations, and print a table.

    python -m scripts.parity [TEMPLATE ...]

Each conversation of the tests is rendered with and without tools, with and without a generation prompt, and with every
switch that the template reads. If both render it, the texts must be equal. If both refuse it with an error of the
template, the errors must be equal. Then every word of the conversations is replaced by a unique number, and every
character of such a word must be attributed to its field.

Fail if a text differs, if 20 % or more of all combinations are refused, or if a template of the hub attributes a
character to a wrong field.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from renderers.core.spans import Trace
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS
from tests.support.models import hub_models
from tests.support.parity import (
    CORPUS,
    TEMPLATES,
    Bodies,
    Ownership,
    difference,
    marked_runs,
    own_switches,
    rotated,
    run_reference,
    run_traced,
    variations,
)

MOST_REFUSALS = 0.20
COLUMNS = "{:<58} {:>9} {:>9} {:>7} {:>12} {:>12} {:>9}"


@dataclass(kw_only=True)
class Row:
    """The results of a template, or the sum of several."""

    name: str
    renders: int = 0
    refusals: int = 0
    skips: int = 0
    differences: list[str] = field(default_factory=list)
    owned: Ownership = field(default_factory=Ownership)

    def __add__(self, other: Row) -> Row:
        return Row(
            name=self.name,
            renders=self.renders + other.renders,
            refusals=self.refusals + other.refusals,
            skips=self.skips + other.skips,
            differences=self.differences + other.differences,
            owned=self.owned + other.owned,
        )

    @property
    def refused(self) -> float:
        """The fraction of combinations that both refuse."""
        return self.refusals / max(1, self.renders + self.refusals + self.skips + len(self.differences))

    def __str__(self) -> str:
        counts = self.renders, self.refusals, self.skips, len(self.differences), self.owned.characters
        return COLUMNS.format(self.name, *(f"{count:,}" for count in counts), f"{share_owned(self.owned):.2%}")


def share_owned(owned: Ownership) -> float:
    """Return the fraction of field characters that are attributed to their field."""
    return 1 - owned.strays.total() / owned.characters if owned.characters else 1


def compare(path: Path) -> Row:
    """Compare a template in all combinations. Skip one that transformers cannot compile."""
    source = path.read_text(encoding="utf-8")
    row = Row(name=path.stem)
    try:
        switches = own_switches(source)
    except jinja2.TemplateSyntaxError:
        row.skips = sum(1 for _ in variations())
        return row
    template = ChatTemplate(source, verify=False)
    for name, arguments in variations(switches=switches):
        got = run_traced(template, CONVERSATIONS[name], **arguments)
        mismatch = difference(run_reference(source, CONVERSATIONS[name], **arguments), got)
        if mismatch is not None:
            row.differences.append(f"{name} {arguments}: {mismatch}")
        elif isinstance(got, Trace):
            row.renders += 1
        else:
            row.refusals += 1
    for trace, messages, others in marked_runs(template, rotated(turns=3, switches=switches)):
        row.owned += Bodies(messages, tools=others["tools"], documents=others["documents"]).check(trace)
    return row


def total(name: str, rows: Iterable[Row]) -> Row:
    """Return the sum of rows."""
    return sum(rows, start=Row(name=name))


def main(names: list[str]) -> int:
    """Print the table. Return 1 if a check fails."""
    paths = [Path(name) for name in names] or TEMPLATES
    print(COLUMNS.format("template", "renders", "refusals", "skips", "differences", "characters", "owned"))
    rows: dict[Path, Row] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for path, row in zip(paths, pool.map(compare, paths), strict=True):
            rows[path] = row
            print(row, *(f"    {mismatch[:400]}" for mismatch in row.differences[:3]), sep="\n", flush=True)
    everything = total("all", rows.values())
    corpus = total("corpus", (row for path, row in rows.items() if path in CORPUS))
    others = total("hub and embedded", (row for path, row in rows.items() if path not in CORPUS))
    print("", others, corpus, everything, sep="\n")
    print(f"\nboth refuse {everything.refused:.1%} of all combinations (less than {MOST_REFUSALS:.0%} are allowed)")
    print(f"body characters with a wrong owner, in the hub: {others.owned.strays.total():,}")
    print(f"body characters with a wrong owner, in the corpus: {corpus.owned.strays.total():,}")
    for row in rows.values():
        for operation, characters in row.owned.strays.items():
            print(f"    {row.name}: {operation}: {characters:,} characters")
    without = [name for name, model in hub_models().items() if not model["template"]]
    print(f"models of the hub without a template: {', '.join(without) or 'none'}")
    return int(bool(everything.differences or others.owned.strays or everything.refused >= MOST_REFUSALS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
