"""Run the benchmarks, print their tables, and write them to the documentation.

    python -m benchmarks [section ...] [--quick] [--rounds 7]

Without sections all are run. If the real models are available, `docs/tables/benchmarks.md`, the plot and the summary
in `docs/benchmarks.md` are written. `--quick` is for development: it takes small workloads and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import cold, concurrency, first_use, growth, losses, steady
from benchmarks.options import QUICK, Options
from benchmarks.peers import facts
from benchmarks.plot import draw
from benchmarks.race import ONE_THREAD, ROOT
from benchmarks.report import Section, summary
from tests.support.models import HUB_AT_HAND

SECTIONS: dict[str, Callable[[Options], Section]] = {
    "steady": steady.measure,
    "first-use": first_use.measure,
    "cold": cold.measure,
    "growth": growth.measure,
    "concurrency": concurrency.measure,
    "losses": losses.measure,
}
DOCS = ROOT / "docs"
PLOT = "![Times as fast as release 0.1, by workload and model](benchmarks.png)"
BEGIN, END = "<!-- written by make bench -->", "<!-- end -->"

HEAD = """\
# Benchmark tables

`make bench` writes this page and runs all libraries in the same command, each in an environment of its own.
[Benchmarks](../benchmarks.md) explains the workloads and has a summary. "ours" is this package. Every ratio is the
median of {rounds} rounds, in which the libraries take turns with input that none of them has seen, and the lowest and
the highest round are in parentheses. Times are CPU time of one thread, unless a table says otherwise.

{facts}
"""


def main() -> None:
    """Run the sections of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sections", nargs="*", help=f"{', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--rounds", type=int, help="counted rounds (default: 7)")
    parser.add_argument("--quick", action="store_true", help="small workloads, to try the code")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - SECTIONS.keys():
        parser.error(f"unknown sections: {', '.join(sorted(unknown))}")
    os.environ.update(ONE_THREAD)
    options = QUICK if arguments.quick else Options()
    if arguments.rounds:
        options = replace(options, rounds=arguments.rounds)
    sections = []
    for name in arguments.sections or SECTIONS:
        start = time.perf_counter()
        section = SECTIONS[name](options)
        print(*section.lines(), sep="\n")
        print(f"({name}: {time.perf_counter() - start:,.0f} s)\n", flush=True)
        sections.append(section)
    print(summary(sections))
    if HUB_AT_HAND and not arguments.sections and not arguments.quick:
        write(sections, rounds=options.rounds, docs=DOCS)


def write(sections: Sequence[Section], *, rounds: int, docs: Path) -> None:
    """Write the tables, the plot and the summary to the documentation."""
    head = HEAD.format(rounds=rounds, facts=facts())
    lines = [line for section in sections for line in section.lines()]
    (docs / "tables" / "benchmarks.md").write_text("\n".join([head, *lines]).rstrip() + "\n", encoding="utf-8")
    draw([bar for section in sections for bar in section.bars], docs / "benchmarks.png")
    page = docs / "benchmarks.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    written = f"{BEGIN}\n{PLOT}\n\n{facts()}\n\n{summary(sections)}{END}"
    page.write_text(before + written + after, encoding="utf-8")


if __name__ == "__main__":
    main()
