"""`renderers inspect` shows the facts in the files of a tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

import renderers
from renderers.cli import main


def test_inspect_shows_facts_and_the_tokens_of_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--text", "Hello<|end|>"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "stop tokens     '<|end|>' 870" in lines
    assert "special tokens  eos_token <|end|>, pad_token <|pad|>" in lines
    assert lines[-1].split() == ["3", "870", "'<|end|>'"]


def test_inspect_of_a_bare_vocabulary_lists_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tokenizer.json").write_bytes((renderers.EMBEDDED / "tokenizer.json").read_bytes())
    assert main(["inspect", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for expected in ("takes images    not specified", "stop tokens     not specified", "chat templates  none"):
        assert expected in lines
    assert any(line.startswith("missing") and "tokenizer_config.json (not there)" in line for line in lines)
