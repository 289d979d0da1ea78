"""Compare attribution with release 0.1 on every model that both releases can render, and print tables.

    python -m scripts.ledger

Fail if a difference is in no entry of the ledger (`tests/support/ledger.py`), or if an entry explains none. Release
0.1 runs in an environment of its own, which is created if it is missing.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import OLD_RELEASE, child_environment, find_python
from renderers import TemplateMissingError, create_renderer, load_tokenizer
from tests.support.harmony_reference import harmony_vocabulary
from tests.support.ledger import CASES, CONVENTIONS, DATES, FIELDS, Comparison, Difference, Judged, compare_model, judge
from tests.support.models import hub_models, unpack_hub
from tests.support.settings import with_settings

TODAY = datetime.date.today().isoformat()
WORKER = Path(__file__).with_name("ledger_worker.py")


def main() -> int:
    """Compare all models and print the tables. Return the exit status."""
    if not hub_models():
        print("no real models available: set SHARED")
        return 0
    unpack_hub()
    python = find_python(OLD_RELEASE)
    if python is None:
        return 1
    families: dict[str, Comparison] = {}
    models: Counter[str] = Counter()
    left_out: list[str] = []
    moved: dict[str, Comparison] = {}
    for answer in answers(python):
        family, reason = answer["family"], exclusion_reason(answer)
        if family is None:
            continue
        if reason is None:
            try:
                renderer = create_renderer(
                    load_tokenizer(answer["model"]), date=DATES.get(family, TODAY), on_loss="ignore"
                )
            except TemplateMissingError:
                reason = "no chat template"
        if reason is not None:
            left_out.append(f"- {answer['model']} ({family}): {reason}")
            continue
        models[family] += 1
        families.setdefault(family, Comparison()).add(compare_model(renderer, answer["renders"], family=family))
        if family in CONVENTIONS:
            old_rules = with_settings(renderer, conventions=CONVENTIONS[family])
            moved.setdefault(family, Comparison()).add(compare_model(old_rules, answer["renders"], family=family))
    judged = judge(difference for comparison in families.values() for difference in comparison.differences)
    parts = (
        table(families, models),
        not_judged(families, left_out),
        entries(judged),
        verdict(judged),
        conventions(families, moved),
    )
    for lines in parts:
        print(*lines, sep="\n", end="\n\n")
    unexplained = sum(map(differing_masks, moved.values()))
    return 1 if judged.unknown or judged.unused or unexplained else 0


# ==================
# Release 0.1
# ==================


def answers(python: str) -> Iterator[dict[str, Any]]:
    """Yield the renders of release 0.1 for all cases, model by model."""
    job = json.dumps({"models": list(hub_models()), "cases": [case.job() for case in CASES]})
    environment = child_environment(TIKTOKEN_ENCODINGS_BASE=str(harmony_vocabulary()))
    # -I keeps the package of the same name in this directory from being imported.
    command = [python, "-I", str(WORKER)]
    result = subprocess.run(command, input=job, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    for line in result.stdout.splitlines():
        yield json.loads(line)


def exclusion_reason(answer: dict[str, Any]) -> str | None:
    """Return the reason why a model cannot be compared; None if it can."""
    if "error" in answer:
        return f"release 0.1 does not load it ({answer['error']})"
    if all("error" in render for render in answer.get("renders", [])):
        return "release 0.1 renders nothing"
    return None


# ==================
# Tables
# ==================


def table(families: dict[str, Comparison], models: Counter[str]) -> Iterator[str]:
    """Yield the agreement of each family as a table."""
    yield f"| family of {OLD_RELEASE.label} | models | renders | same ids | tokens compared | {' | '.join(FIELDS)} |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    total = Comparison()
    for family, comparison in sorted(families.items()):
        total.add(comparison)
        yield row(family, models[family], comparison)
    yield row("all", models.total(), total)


def row(family: str, models: int, comparison: Comparison) -> str:
    tokens = comparison.tokens
    renders = comparison.same + comparison.other_ids.total()
    shares = (f"{100 * comparison.agreeing[name] / tokens:.2f} %" if tokens else "–" for name in FIELDS)
    return f"| {family} | {models} | {renders} | {comparison.same} | {tokens:,} | {' | '.join(shares)} |"


def not_judged(families: dict[str, Comparison], left_out: list[str]) -> Iterator[str]:
    """Yield the renders and models that could not be compared, with the reasons."""
    yield "| family | different ids, by cause | 0.2 refuses | 0.1 refuses | both refuse |"
    yield "|---|---|--:|--:|--:|"
    for family, comparison in sorted(families.items()):
        causes = ", ".join(f"{cause} {count}" for cause, count in comparison.other_ids.most_common())
        refused = " | ".join(str(comparison.refused[side]) for side in ("0.2", "0.1", "both"))
        yield f"| {family} | {causes} | {refused} |"
    yield "\nLeft out:\n"
    yield from left_out


def entries(judged: Judged) -> Iterator[str]:
    """Yield the used entries of the ledger, each with an example."""
    yield "| cause | family | field | used | example | 0.2 | 0.1 |"
    yield "|---|---|---|--:|---|---|---|"
    for entry, count in sorted(judged.used.items(), key=lambda item: (item[0].cause, item[0].family, item[0].field)):
        example = judged.examples[entry]
        new = describe(example, example.value, example.role)
        old = describe(example, example.old_value, example.old_role)
        cells = f"{count} | {quote(example.text)} | {new} | {old}"
        yield f"| {entry.cause} | {entry.family} | {entry.field} | {cells} |"


def conventions(families: dict[str, Comparison], moved: dict[str, Comparison]) -> Iterator[str]:
    """Yield the differences in sampled_mask by default, and with the conventions of release 0.1."""
    yield "| family | conventions | differences in sampled_mask by default | with these conventions |"
    yield "|---|---|--:|--:|"
    for family, comparison in sorted(moved.items()):
        chosen = CONVENTIONS[family]
        settings = ", ".join(
            f"{field.name} {quote(getattr(chosen, field.name))}"
            for field in dataclasses.fields(chosen)
            if getattr(chosen, field.name) is not None
        )
        yield f"| {family} | {settings} | {differing_masks(families[family])} | {differing_masks(comparison)} |"


def differing_masks(comparison: Comparison) -> int:
    """Return the number of token runs with a different sampled_mask."""
    return sum(difference.field == "sampled_mask" for difference in comparison.differences)


def describe(difference: Difference, value: int, role: str | None) -> str:
    """Return the value of a field in words."""
    if difference.field == "message_indices":
        return "no message" if role is None else f"{role} ({value})"
    return "yes" if value else "no"


def quote(text: str) -> str:
    """Return a text as a table cell. A long text is shortened in the middle."""
    short = text if len(text) <= 40 else f"{text[:20]}…{text[-15:]}"
    return f"`{short!r}`".replace("|", "\\|")


def verdict(judged: Judged) -> Iterator[str]:
    """Yield the unexplained differences and the unused entries."""
    for difference in judged.unknown[:20]:
        yield f"unknown: {difference}"
    for entry in judged.unused:
        yield f"unused: {entry}"
    yield f"{len(judged.unknown)} differences that no entry explains, {len(judged.unused)} entries that explain none"


if __name__ == "__main__":
    sys.exit(main())
