"""The page with the table of differences, and the problems of a comparison."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers import OLD_RELEASE
from renderers.families import FAMILIES
from scripts.compare.differences import Difference
from scripts.compare.entries import TOPICS
from scripts.compare.judge import Agreement, Verdict
from scripts.compare.notes import NOTES

__all__ = ["PAGE", "page", "problems"]

PAGE = Path(__file__).parents[2] / "docs" / "tables" / "differences.md"
_NAMED = 8
"""How many families are named in a row."""
_SHOWN = 40
"""How many unexplained differences are printed."""

_HEAD = f"""# Differences from release 0.1

`make compare` writes this page. It runs {OLD_RELEASE.label}, in an environment of its own, and this release on the
same generated cases: conversations, completions, bridges and training samples, for each family that both load, with
the settings of its config. Both get the same messages and the same ids. Where the ids of a render differ, the ids of
this release equal those of the model's own template (`make parity`) or of the vendor's encoder (`make stress`).

Each difference is explained by an entry in `scripts/compare/entries`. The command fails if a difference has no entry,
or if an entry explains none. "seen" counts differences: for ids and masks, runs of tokens; else values.
[Migrating](../migrating.md) lists the steps of an upgrade.
"""
_AGREEMENT = """\
The number of cases, and the share without any difference. Completions are clean, truncated, damaged and odd, with and
without the ids of the prompt.
"""
_CONVENTIONS = """\
The rules of release 0.1 for sampled tokens differ between families: `<think>` in the generation prompt counts as
sampled for Qwen3.5, and `</think>` in the same place does not for GLM-5. This release uses one rule for all. To get
the masks of release 0.1, set `conventions="0.1"` in any config, or pass
`conventions=SamplingConventions(sampled_from="<think>")` to `create_renderer`. The sampled masks of all other families
agree without conventions. Masks are compared where the ids agree. Those of gpt-oss are the masks of release
0.1 only if `program="harmony-0.1"` is set too, which this table does not measure.
"""
_KINDS = (("render", "renders"), ("parse", "completions"), ("bridge", "bridges"), ("sample", "training samples"))


def page(verdict: Verdict) -> str:
    """Return the text of the page."""
    parts = (agreement(verdict), topics(verdict), conventions(verdict), notes(), left_out(verdict))
    return "\n".join([_HEAD, *(line for part in parts for line in part)]).rstrip() + "\n"


def agreement(verdict: Verdict) -> Iterator[str]:
    """Yield the number of cases of each family and kind, and the share that agrees in every field."""
    yield "## Agreement\n"
    yield _AGREEMENT
    titles = " | ".join(f"{title} | same" for _, title in _KINDS)
    yield f"| family of release 0.1 | models | settings | {titles.replace('same', 'same ids | same', 1)} |"
    yield f"|---|--:|--:|{'--:|' * (1 + 2 * len(_KINDS))}"
    for family, counts in sorted(verdict.families.items()):
        yield _row([family, len(counts.models), len(counts.settings), *_shares(counts)])
    yield ""


def _shares(counts: Agreement) -> Iterator[str]:
    for kind, _ in _KINDS:
        cases = counts.cases[kind]
        same = [counts.same_ids, counts.same[kind]] if kind == "render" else [counts.same[kind]]
        yield f"{cases:,}"
        yield from (f"{100 * count / cases:.0f} %" if cases else "–" for count in same)


def topics(verdict: Verdict) -> Iterator[str]:
    """Yield a table of differences for each topic."""
    for topic in TOPICS:
        yield f"## {topic.title}\n"
        yield "| difference | release 0.1 | this release | reason | to get the old behavior | seen |"
        yield "|---|---|---|---|---|---|"
        for entry in topic.entries:
            families = sorted(verdict.used_by.get(entry, ()))
            few = ", ".join(families) if len(families) <= _NAMED else f"{len(families)} families"
            yield _row(
                [entry.name, entry.old, entry.new, entry.reason, entry.remedy, f"{verdict.used[entry]:,}: {few}"]
            )
        yield ""


def conventions(verdict: Verdict) -> Iterator[str]:
    """Yield the differences in sampled masks by default, and with the conventions of release 0.1."""
    yield "## Conventions of release 0.1\n"
    yield _CONVENTIONS
    yield "| family | conventions | differences in `sampled_mask` by default | with these conventions |"
    yield "|---|---|--:|--:|"
    for family, (default, moved) in sorted(verdict.sampled.items()):
        chosen = FAMILIES[family].conventions
        names = [field.name for field in dataclasses.fields(chosen) if getattr(chosen, field.name) is not None]
        settings = ", ".join(f"{name} `{getattr(chosen, name)!r}`" for name in names)
        yield _row([family, settings, default, moved])
    yield ""


def notes() -> Iterator[str]:
    """Yield the differences that are not measured."""
    yield "## Not measured\n"
    yield "Differences that the cases cannot show.\n"
    for topic, rows in NOTES.items():
        yield f"### {topic}\n"
        yield "| topic | release 0.1 | this release | to get the old behavior |"
        yield "|---|---|---|---|"
        yield from (_row(note) for note in rows)
        yield ""


def left_out(verdict: Verdict) -> Iterator[str]:
    """Yield the models and families that were not compared."""
    yield "## Not compared\n"
    yield from (f"- {reason}" for reason in verdict.left_out)
    missing = sorted(verdict.known_families.keys() - verdict.families.keys())
    yield f"- Families of release 0.1 without a vocabulary to load here: {', '.join(missing)}."


def problems(verdict: Verdict) -> Iterator[str]:
    """Yield the unexplained differences, the unused entries and the switches that are not compared."""
    counts = Counter(map(_summary, verdict.unknown))
    yield from (f"unexplained: {count} x {summary}" for summary, count in counts.most_common(_SHOWN))
    yield from (f"unused: {entry.name}" for entry in verdict.unused)
    yield from (f"not compared: {switch}" for switch in verdict.uncovered)
    for family, (_, moved) in verdict.sampled.items():
        if moved:
            yield f"{family}: {moved} differences in sampled_mask with the conventions of release 0.1"
    yield f"{len(verdict.unknown)} unexplained differences, {len(verdict.unused)} unused entries"


def _summary(difference: Difference) -> str:
    """Return a difference in one line, without settings and surrounding text, so that equal ones can be counted."""
    case, run = difference.case, difference.run
    owners = f", in {run.text!r} of {run.role} after {run.before[-20:]!r}" if run.before else ""
    values = f"new {difference.new!r}, old {difference.old!r}"
    return f"{difference.family}, {case.kind} {case.name!r}, {difference.field}: {values}{owners}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
