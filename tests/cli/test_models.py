"""`renderers models` lists the families, or shows one of them."""

from __future__ import annotations

import pytest

import renderers
from renderers.cli import main


def test_models_are_listed_with_their_level_of_verification(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["family", "checked", "against"]
    assert len(lines) == len(renderers.FAMILIES) + 1
    rows = {line.split()[0]: line for line in lines[1:]}
    assert "template, vocabulary" in rows["qwen3"]
    assert "encoder (text)" in rows["inkling"]
    assert "nothing" in rows["glm-4.7"]
    assert " gemma " in rows["gemma4"]


@pytest.mark.parametrize("name", ["qwen3", "Qwen/Qwen3-8B"])
def test_one_family_is_shown_in_full(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("renderers.cli.models._learned", lambda _: {})
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

    monkeypatch.setattr("renderers.cli.models.load_model", load)
    assert main(["models", "Qwen/Qwen3-8B"]) == 0
    assert "not known, because the template cannot be read (Qwen/Qwen3-8B: is not in" in capsys.readouterr().out


def test_an_unknown_family_is_an_error_that_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "nope"]) == 1
    assert "'nope' is neither a family nor a model. The families are command-a, " in capsys.readouterr().err


def test_the_default_family_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "default"]) == 0
    assert capsys.readouterr().out.startswith("default\n")


@pytest.mark.parametrize("name", ["example", str(renderers.EXAMPLE_MODEL)])
def test_a_path_is_shown_with_the_drops_of_its_template(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", name]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("default\n")
    assert "\ndrops           " in shown


@pytest.mark.parametrize("name", ["Qwen/Qwen3-88B", "qwen3-88b"])
def test_close_names_of_models_are_suggested(hub: object, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", name]) == 1
    assert "Did you mean Qwen/Qwen3-8B" in capsys.readouterr().err


def test_a_family_is_shown_with_the_drops_of_a_cached_model(hub: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "qwen3"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "drops messages with unknown roles, names of messages, reasoning of earlier turns" in shown
    assert "learned from Qwen/Qwen3-" in shown
    assert "completions reasoning in <think> </think>, tool calls as hermes in <tool_call> </tool_call>" in shown
    assert (
        "round trips 12 of 14 classes of turns are exact; lost by the template: spaces around content, spaces" in shown
    )
