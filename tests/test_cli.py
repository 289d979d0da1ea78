"""The command line prints facts about models, and errors in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import renderers
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


def test_an_error_is_one_line_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "/no/such/place"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("renderers: '/no/such/place' is neither")
    assert captured.err.count("\n") == 1


def test_a_terminal_that_cannot_show_a_character_gets_its_escape() -> None:
    command = [str(Path(sys.executable).parent / "renderers"), "demo"]
    done = subprocess.run(command, check=True, capture_output=True, env={"PYTHONIOENCODING": "ascii"})
    assert b"\\ufffd" in done.stdout


def test_the_installed_command_runs() -> None:
    command = Path(sys.executable).parent / "renderers"
    done = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == renderers.__version__


def test_models_are_listed_with_their_level_of_verification(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["family", "checked", "against"]
    assert len(lines) == len(renderers.FAMILIES) + 1
    rows = {line.split()[0]: line for line in lines[1:]}
    assert "template, vocabulary" in rows["qwen3"]
    assert "nothing" in rows["inkling"]
    assert "not parsed" in rows["gemma4"]


@pytest.mark.parametrize("name", ["qwen3", "Qwen/Qwen3-8B"])
def test_one_family_is_shown_in_full(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("renderers.cli.models._drops", lambda _: "")
    assert main(["models", name]) == 0
    shown = capsys.readouterr().out
    classes = "classes         Qwen3Renderer, Qwen3RendererConfig"
    for expected in (
        classes,
        "<think>",
        "stops           <|im_end|> <|endoftext|>",
        "switches        enable_thinking=True",
    ):
        assert expected in shown


def test_the_input_that_a_models_template_drops_is_shown(hub: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "Qwen/Qwen3-8B"]) == 0
    shown = capsys.readouterr().out
    assert "drops           messages with unknown roles, names of messages, reasoning of earlier turns" in shown


def test_a_template_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(name: str) -> object:
        raise renderers.TokenizerLoadError("is not in the cache", name=name)

    monkeypatch.setattr("renderers.cli.models.load_tokenizer", load)
    assert main(["models", "Qwen/Qwen3-8B"]) == 0
    assert "not known, because the template cannot be read (Qwen/Qwen3-8B: is not in" in capsys.readouterr().out


def test_an_unknown_family_is_an_error_that_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "nope"]) == 1
    assert "'nope' is neither a family nor a model with a record" in capsys.readouterr().err


def test_a_closed_pipe_ends_the_command_without_an_error() -> None:
    models = "from renderers.cli import main; raise SystemExit(main(['models']))"
    shown = subprocess.Popen([sys.executable, "-c", models], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shown.stdout is not None
    shown.stdout.close()
    _, errors = shown.communicate()
    assert (shown.returncode, errors) == (0, b"")


def test_the_default_family_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "default"]) == 0
    assert capsys.readouterr().out.startswith("default\n")
