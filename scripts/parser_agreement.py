"""Compare our parsers with vLLM's on recorded completions, and print a table: docs/tables/parsers.md.

    python -m scripts.parser_agreement [--format mistral] [-v] [--write]

A row counts the cases of a format: those that agree, those of them with a call that only vLLM returns for execution,
those that differ for a reason that we stand by, and those that
differ without one. With `--format`, only these formats are compared. With `-v`, the cases that differ without a reason
are shown, with `-vv` also those with one. With `--write`, the page is written, and a reason that explains no case is an
error.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support.normalise import AssistantTurn
from tests.support.parser_agreement import CASES_AT_HAND, Outcome, cases, compare, unmatched_reasons

PAGE = Path(__file__).parents[1] / "docs" / "tables" / "parsers.md"
_HEAD = """# Agreement with vLLM's parsers

Written by `make parser-table`. Completions that vLLM's own tests of its tool and reasoning parsers use, with the
reading of its parsers, are parsed by ours. Content and reasoning are compared without whitespace around them, calls
by name and arguments, and numbers by value. Of cases for a reasoning parser, the calls are not compared: the record
does not state them. Arguments in a stream of vLLM that ends early are compared as far as they go.

A call that ours reports as broken, or as one of a tool that the prompt does not have, is not to be executed. It counts
as a call, as content or as no call, whichever vLLM has; the text of such a call is never lost in ours. A column counts
the cases that agree although vLLM returns a call with an object as arguments and ours has another status than `ok`:
most are calls of tools that the prompt does not have, or calls without a name.
"""


def main() -> int:
    """Print the table, write the page, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", action="append", dest="formats", help="compare only this format; can be repeated")
    parser.add_argument("-v", "--verbose", action="count", default=0)
    parser.add_argument("--write", action="store_true", help="write the page; all formats are compared")
    arguments = parser.parse_args()
    if not CASES_AT_HAND:
        parser.error("there are no recorded cases: set SHARED to the folder that contains parser_cases/vllm.json")
    unknown = sorted({*(arguments.formats or ())} - {*cases()})
    if unknown:
        parser.error(f"unknown format {', '.join(unknown)}: the formats are {', '.join(cases())}")
    outcomes: list[Outcome] = []
    for outcome in compare(None if arguments.write else arguments.formats):
        outcomes.append(outcome)
        if not outcome.agrees and arguments.verbose > (outcome.reason is not None):
            print(_describe(outcome))
    table = _table(outcomes)
    print("\n".join(table))
    if not arguments.write:
        return 0
    unmatched = unmatched_reasons(outcomes)
    PAGE.write_text("\n".join([_HEAD, *table, *_reasons(outcomes), ""]), encoding="utf-8")
    for reason in unmatched:
        print(f"the reason {reason.key!r} explains no case", file=sys.stderr)
    return 1 if unmatched else 0


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    rows: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        rows.setdefault(outcome.case.format, Counter()).update([_column(outcome)])
    total: Counter[str] = sum(rows.values(), Counter())
    not_ok = Counter(outcome.case.format for outcome in outcomes if outcome.not_ok)
    not_ok["all"] = not_ok.total()
    lines = [
        "| format | cases | agree | of these not `ok` in ours | differ, with a reason | differ |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in [*sorted(rows.items()), ("all", total)]:
        counts = row.total(), row["agree"], not_ok[name], row["reason"], row["differ"]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    return lines


def _column(outcome: Outcome) -> str:
    if outcome.agrees:
        return "agree"
    return "differ" if outcome.reason is None else "reason"


def _reasons(outcomes: Sequence[Outcome]) -> list[str]:
    counts = Counter(outcome.reason.text for outcome in outcomes if outcome.reason is not None)
    if not counts:
        return []
    rows = [f"| {text} | {count} |" for text, count in counts.most_common()]
    by_rule = sum(outcome.by_rule for outcome in outcomes)
    note = f"{by_rule} of the cases agree only if calls that are not `ok` count as content or as no call."
    return ["", note, "", "## Differences that we stand by", "", "| reason | cases |", "|---|--:|", *rows]


def _describe(outcome: Outcome) -> str:
    case = outcome.case
    lines = [
        f"--- {case.id} ({case.kind}, {case.state}) {case.test}",
        f"    text      {outcome.text!r}",
        *(f"    {label:<9} {line}" for label, line in _differing(outcome.expected, outcome.actual)),
        *(f"    call      {call.status}: {call.name!r} {call.raw!r}" for call in outcome.parsed.tool_calls),
        *(f"    skipped   {skipped.text!r} ({skipped.reason})" for skipped in outcome.parsed.skipped),
    ]
    if outcome.reason is not None:
        lines.append(f"    reason    {outcome.reason.key}")
    return "\n".join(lines)


def _differing(expected: AssistantTurn, actual: AssistantTurn) -> Iterable[tuple[str, str]]:
    for name in ("content", "reasoning_content", "tool_calls"):
        theirs, ours = getattr(expected, name), getattr(actual, name)
        if repr(theirs) != repr(ours):
            yield "vllm", f"{name} {theirs!r}"
            yield "ours", f"{name} {ours!r}"


if __name__ == "__main__":
    sys.exit(main())
