"""One recorded difference for each entry, for tests that run without models and without release 0.1."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.compare.corpus import Case
from scripts.compare.differences import Difference, Run

__all__ = ["EXAMPLES", "read_examples", "to_data", "write_examples"]

EXAMPLES = Path(__file__).parents[2] / "tests" / "compare" / "examples.jsonl"


def to_data(difference: Difference) -> dict[str, Any]:
    """Return a difference as JSON data."""
    data = dataclasses.asdict(difference)
    data["run"]["channels"] = sorted(difference.run.channels)
    return data


def _from_data(data: dict[str, Any]) -> Difference:
    run = Run(**{**data["run"], "channels": frozenset(data["run"]["channels"])})
    return Difference(**{**data, "case": Case(**data["case"]), "run": run})


def write_examples(examples: Mapping[str, Difference]) -> None:
    """Write the examples by the names of their entries, one per line."""
    lines = (json.dumps({"entry": name, **to_data(examples[name])}, ensure_ascii=False) for name in sorted(examples))
    EXAMPLES.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_examples() -> dict[str, Difference]:
    """Return the recorded examples by the names of their entries."""
    records = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    return {record.pop("entry"): _from_data(record) for record in records}
