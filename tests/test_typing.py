"""A user's program passes type checkers, and its mistakes do not."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import typed_program
from tests.support.models import ROOT

PROGRAM = (ROOT / "tests" / "support" / "typed_program.py").read_text()
MISTAKES = """
def mistakes(renderer: ChatRenderer) -> Message:
    renderer.render_ids("Hi")  # error
    renderer.render_ids({"role": "user", "content": "Hi"})  # error
    renderer.render_ids([1])  # error
    renderer.render_ids([{"role": "user", "content": "Hi"}], tools="look")  # error
    renderer.render_ids([{"role": "user", "content": "Hi"}], tools=["look"])  # error
    renderer.parse_response("Hi")  # error
    renderer.parse_response([1.5])  # error
    renderer.parse_response(None)  # error
    renderer.bridge([1], [2], "Hi")  # error
    create_renderer(1)  # error
    Rollout(renderer, 3, [{"role": "user", "content": "Hi"}])  # error
    Rollout(renderer, None, "Hi")  # error
    Rollout(renderer, None, []).rows(shared="never")  # error
    InferenceClient("http://localhost", engine=3)  # error
    SyncInferenceClient("http://localhost", engines="vllm")  # error
    stream(client=None, renderer=renderer, messages=[], n=3)  # error
    return {"content": "Hi"}  # error
"""
EXPECTED = [at for at, line in enumerate((PROGRAM + MISTAKES).splitlines(), 1) if line.endswith("# error")]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a file with the program and the mistakes."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + MISTAKES)
    return path


def run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_mypy_finds_the_mistakes_of_a_program_and_no_others(program: Path) -> None:
    output = run("mypy", "--no-error-summary", "--no-pretty", program)
    lines = {int(line.split(":")[1]) for line in output.splitlines() if ": error: " in line}
    assert sorted(lines) == EXPECTED, output


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_the_mistakes_of_a_program_and_no_others(program: Path) -> None:
    output = run("pyright", "--outputjson", "--pythonpath", sys.executable, program)
    found = [issue for issue in json.loads(output)["generalDiagnostics"] if issue["severity"] == "error"]
    assert sorted({issue["range"]["start"]["line"] + 1 for issue in found}) == EXPECTED, found


def test_the_program_runs() -> None:
    ids, results = typed_program.main()
    assert bytes(ids) == b"user: Hi\n"
    assert len(results) == 4
