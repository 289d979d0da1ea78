"""Compares our attribution with the incumbent's on every model that both can render, and prints tables.

    python -m scripts.ledger

Fail if a difference is in no entry of the ledger (`tests/support/ledger.py`), or if an entry explains none. The
incumbent runs in an environment of its own, which is created if it is missing.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import INCUMBENT, child_environment, find_python
from renderers import TemplateMissingError, create_renderer, load_tokenizer
from renderers.tokenizer.ranks import BYTE_SYMBOLS
from tests.support.ledger import CASES, CONVENTIONS, DATES, FIELDS, Comparison, Difference, Judged, compare_model, judge
from tests.support.models import CACHE, hub_models, snapshot_of, unpack_hub

__all__ = ["main"]

WORKER = Path(__file__).with_name("ledger_worker.py")
HARMONY_MODEL = "openai/gpt-oss-20b"


def main() -> int:
    """Compares everything and prints it; returns the exit status."""
    if not hub_models():
        print("real models are not at hand (set SHARED)")
        return 0
    unpack_hub()
    python = find_python(INCUMBENT)
    if python is None:
        return 1
    families: dict[str, Comparison] = {}
    models: Counter[str] = Counter()
    left_out: list[str] = []
    moved: dict[str, Comparison] = {}
    for answer in answers(python):
        family, reason = answer["family"], left_out_for(answer)
        if family is None:
            continue
        if reason is None:
            try:
                renderer = create_renderer(load_tokenizer(answer["model"]), date=DATES.get(family))
            except TemplateMissingError:
                reason = "it has no chat template for us"
        if reason is not None:
            left_out.append(f"- {answer['model']} ({family}): {reason}")
            continue
        models[family] += 1
        families.setdefault(family, Comparison()).add(compare_model(renderer, answer["renders"], family=family))
        if family in CONVENTIONS:
            theirs = dataclasses.replace(renderer, conventions=CONVENTIONS[family])
            moved.setdefault(family, Comparison()).add(compare_model(theirs, answer["renders"], family=family))
    judged = judge(one for found in families.values() for one in found.differences)
    parts = (
        table(families, models),
        not_judged(families, left_out),
        entries(judged),
        verdict(judged),
        conventions(families, moved),
    )
    for lines in parts:
        print(*lines, sep="\n", end="\n\n")
    left = sum(map(differing_masks, moved.values()))
    return 1 if judged.unknown or judged.unused or left else 0


# ==================
# The incumbent
# ==================


def answers(python: str) -> Iterator[dict[str, Any]]:
    """Yields what the incumbent makes of all cases, model by model."""
    job = json.dumps({"models": list(hub_models()), "cases": [case.job() for case in CASES]})
    environment = child_environment(TIKTOKEN_ENCODINGS_BASE=str(harmony_vocabulary()))
    # Isolated, so that the package of the same name in this directory is not imported.
    command = [python, "-I", str(WORKER)]
    done = subprocess.run(command, input=job, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        yield json.loads(line)


def harmony_vocabulary() -> Path:
    """Returns a directory with the vocabulary that the incumbent wants to download for gpt-oss, made of its own."""
    folder = CACHE.parent / "peers" / "harmony"
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = json.loads((snapshot_of(HARMONY_MODEL) / "tokenizer.json").read_text())["model"]["vocab"]
    values = {symbol: byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
    lines = (
        f"{base64.b64encode(bytes(values[symbol] for symbol in token)).decode()} {rank}\n"
        for token, rank in sorted(vocabulary.items(), key=lambda item: item[1])
    )
    (folder / "o200k_base.tiktoken").write_text("".join(lines))
    return folder


def left_out_for(answer: dict[str, Any]) -> str | None:
    """Returns why a model cannot be compared; None where it can."""
    if "error" in answer:
        return f"the incumbent does not load it ({answer['error']})"
    if all("error" in one for one in answer.get("renders", [])):
        return "the incumbent renders nothing"
    return None


# ==================
# Showing
# ==================


def table(families: dict[str, Comparison], models: Counter[str]) -> Iterator[str]:
    """Yields how far each family agrees."""
    yield f"| family of {INCUMBENT.label} | models | renders | same ids | tokens compared | {' | '.join(FIELDS)} |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    total = Comparison()
    for family, found in sorted(families.items()):
        total.add(found)
        yield row(family, models[family], found)
    yield row("all", models.total(), total)


def row(family: str, models: int, found: Comparison) -> str:
    renders = found.same + found.other_ids.total()
    shares = (f"{100 * found.agreeing[name] / found.tokens:.2f} %" if found.tokens else "–" for name in FIELDS)
    return f"| {family} | {models} | {renders} | {found.same} | {found.tokens:,} | {' | '.join(shares)} |"


def not_judged(families: dict[str, Comparison], left_out: list[str]) -> Iterator[str]:
    """Yields what could not be compared, and why."""
    yield "| family | other ids, by cause | we refuse | they refuse | both refuse |"
    yield "|---|---|--:|--:|--:|"
    for family, found in sorted(families.items()):
        causes = ", ".join(f"{cause} {count}" for cause, count in found.other_ids.most_common())
        yield f"| {family} | {causes} | {' | '.join(str(found.refused[who]) for who in ('we', 'they', 'both'))} |"
    yield "\nLeft out:\n"
    yield from left_out


def entries(judged: Judged) -> Iterator[str]:
    """Yields the ledger's entries that were used, and an example of each."""
    yield "| cause | family | field | used | example | ours | theirs |"
    yield "|---|---|---|--:|---|---|---|"
    for entry, count in sorted(judged.used.items(), key=lambda item: (item[0].cause, item[0].family, item[0].field)):
        one = judged.examples[entry]
        sides = (said(one, one.ours, one.role), said(one, one.theirs, one.their_role))
        yield f"| {entry.cause} | {entry.family} | {entry.field} | {count} | {shown(one.text)} | {' | '.join(sides)} |"


def conventions(families: dict[str, Comparison], moved: dict[str, Comparison]) -> Iterator[str]:
    """Yields how often what is sampled differs by our rule, and with the incumbent's conventions."""
    yield "| family | conventions | differences in sampled_mask by our rule | with these conventions |"
    yield "|---|---|--:|--:|"
    for family, found in sorted(moved.items()):
        chosen = CONVENTIONS[family]
        shown_as = ", ".join(
            f"{one.name} {shown(getattr(chosen, one.name))}"
            for one in dataclasses.fields(chosen)
            if getattr(chosen, one.name) is not None
        )
        yield f"| {family} | {shown_as} | {differing_masks(families[family])} | {differing_masks(found)} |"


def differing_masks(found: Comparison) -> int:
    """Returns on how many runs of tokens the two differ about what is sampled."""
    return sum(one.field == "sampled_mask" for one in found.differences)


def said(one: Difference, value: int, role: str | None) -> str:
    """Returns a field's value in words."""
    if one.field == "message_indices":
        return "nobody's" if role is None else f"{role}'s ({value})"
    return "yes" if value else "no"


def shown(text: str) -> str:
    """Returns a text for a cell of a table; of a long one, the beginning and the end."""
    short = text if len(text) <= 40 else f"{text[:20]}…{text[-15:]}"
    return f"`{short!r}`".replace("|", "\\|")


def verdict(judged: Judged) -> Iterator[str]:
    """Yields what is not explained, and what explains nothing."""
    for one in judged.unknown[:20]:
        yield f"unknown: {one}"
    for entry in judged.unused:
        yield f"unused: {entry}"
    yield f"{len(judged.unknown)} differences that no entry explains, {len(judged.unused)} entries that explain none"


if __name__ == "__main__":
    sys.exit(main())
