"""The programs in `examples/` that sample from a server run against a real vLLM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.evidence import assert_logprobs_match
from tests.engine.installation import TOKENIZER
from tests.engine.server import EngineServer
from tests.support.models import ROOT

EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if "--base-url" in path.read_text()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_writes_rows_with_the_ids_and_logprobs_of_the_engine(
    path: Path, server: EngineServer, record_property: Any, tmp_path: Path
) -> None:
    target = tmp_path / "rows.jsonl"
    sizes = ["--tasks", "2", "--group", "2", "--turns", "2", "--max-tokens", "40"]
    before = len(server.prompts())
    command = [sys.executable, str(path), TOKENIZER, str(target), "--base-url", server.url, *sizes]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(rows) >= 4
    for prompt in server.prompts()[before:]:
        assert any(row["input_ids"][: len(prompt)] == prompt for row in rows)
    for row in rows:
        flags = [label != -100 for label in row["labels"]]
        start = flags.index(True)
        ids, logprobs = row["input_ids"][start:], row["logprobs"][start:]
        assert_logprobs_match(server, row["input_ids"][:start], ids, logprobs, only=flags[start:])
    record_property("rows", len(rows))
