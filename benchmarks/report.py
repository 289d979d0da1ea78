"""The results of benchmarks as Markdown: tables, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.race import UNEQUAL, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a title."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table in Markdown. Columns of numbers are aligned to the right."""
        yield f"{self.title}:"
        yield ""
        right = [all(row[index][:1] in "0123456789–" for row in self.rows) for index in range(len(self.header))]
        yield f"| {' | '.join(self.header)} |"
        yield f"|{'|'.join('--:' if flag else '---' for flag in right)}|"
        for row in self.rows:
            yield f"| {' | '.join(row)} |"
        yield ""


class SummaryRow(NamedTuple):
    """A ratio of the summary: the workload, the model, the peer, and the ratio with its range."""

    workload: str
    model: str
    peer: str
    ratio: str


ANY = "any model"
"""The column of figures that do not depend on a model."""


class OtherRow(NamedTuple):
    """A figure that compares this package with itself or with the machine: its name, the model, and the value."""

    name: str
    model: str
    value: str


Bar = tuple[str, str, Spread]
"""A bar of the plot: the model, the workload, and the ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the report."""

    title: str
    text: str
    tables: Sequence[Table]
    summary: Sequence[SummaryRow] = ()
    others: Sequence[OtherRow] = ()
    bars: Sequence[Bar] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the section in Markdown."""
        yield f"## {self.title}"
        yield ""
        yield self.text
        yield ""
        for table in self.tables:
            if table.rows:
                yield from table.lines()


Cells = dict[tuple[tuple[str, ...], str], str]
"""The cells of a table by row and model."""


MARKED = (
    f"{UNEQUAL} marks ratios of workloads in which not all outputs of the peer are equal to ours; the "
    "[tables](tables/benchmarks.md) count the equal ones."
)
"""The sentence before a summary that has the mark."""


def summary(sections: Sequence[Section]) -> str:
    """Return the ratios to peers and the other figures in Markdown, with the models in columns."""
    ratios: Cells = {
        ((row.workload, row.peer), row.model): row.ratio for section in sections for row in section.summary
    }
    others: Cells = {((row.name,), row.model): row.value for section in sections for row in section.others}
    title = "Times as fast as the peer, by CPU time: median of the rounds (lowest–highest)"
    tables = (
        _by_model(ratios, title=title, header=["workload", "peer"]),
        _by_model(others, title="Other figures: median of the rounds (lowest–highest)", header=["figure"]),
    )
    note = [MARKED, ""] if any(UNEQUAL in ratio for ratio in ratios.values()) else []
    return "\n".join([*note, *(line for table in tables if table.rows for line in table.lines())])


def _by_model(cells: Cells, *, title: str, header: Sequence[str]) -> Table:
    models = list(dict.fromkeys(model for _, model in cells))
    names = dict.fromkeys(name for name, _ in cells)
    rows = [[*name, *(cells.get((name, model), "–") for model in models)] for name in names]
    return Table(title=title, header=[*header, *models], rows=rows)
