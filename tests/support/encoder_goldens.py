"""The files in `tests/program_goldens`: conversations with the ids or texts of vendors' encoders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from renderers.families import FAMILIES, Family
from tests.support.golden import has_encoder

__all__ = ["ENCODED", "encoder_row", "recorded"]

FOLDER = Path(__file__).parents[1] / "program_goldens"
ENCODED: dict[str, Family] = {key: family for key, family in FAMILIES.items() if has_encoder(family)}
"""The families with an encoder in Python as their default program."""


def recorded(family: Family) -> list[dict[str, Any]]:
    """Return the recorded conversations of a family. Those of several programs of a vendor are in one file."""
    path = FOLDER / f"{str(family.program).partition('-')[0]}.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row.get("program", family.program) == family.program]


def encoder_row(family: Family) -> str:
    """Return the required row of the changelog, with a digest of the ids or of the digests of texts."""
    expected = [row["ids"] if "ids" in row else row["digest"] for row in recorded(family)]
    return f"| {family.key} | {family.version} | `{hashlib.sha256(json.dumps(expected).encode()).hexdigest()[:16]}` |"
