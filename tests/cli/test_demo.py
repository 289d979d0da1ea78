"""The demo renders and parses with the embedded model."""

from __future__ import annotations

import pytest

from renderers.cli import main


def test_the_demo_shows_the_embedded_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    for expected in ("tokenizer.json", "byte-level      yes", "1 assistant  reasoning        * 'I have", "text: yes"):
        assert expected in shown


def test_the_demo_parses_a_completion_as_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    for expected in ("reasoning  ' compare.'", "call       get_weather {'city': 'Rome'}", "it is the same: yes"):
        assert expected in shown
