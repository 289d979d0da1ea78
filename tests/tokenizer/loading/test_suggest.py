"""Close matches for a misspelt name come from the cache and from the records of families."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderers.tokenizer.loading.suggest import cached_names, close_names, did_you_mean

NAMES = ["Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-32B", "microsoft/phi-4", "unsloth/phi-4"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen3-8b", ["Qwen/Qwen3-8B"]),
        ("qwen3-8b", ["Qwen/Qwen3-8B"]),
        ("QwenLM/Qwen3-8B", ["Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "Qwen/Qwen3-32B"]),
        ("phi-4", ["microsoft/phi-4", "unsloth/phi-4"]),
        ("my-org/my-model", []),
        ("", []),
    ],
)
def test_close_names(name: str, expected: list[str]) -> None:
    assert close_names(name, NAMES) == expected


def test_cached_repositories_are_named_as_on_the_hub(cache: Path) -> None:
    for folder in ("models--org--my-model", "models--gpt2", "datasets--org--data", ".locks"):
        (cache / folder).mkdir()
    assert cached_names() == ["gpt2", "org/my-model"]


def test_without_a_cache_there_are_no_cached_names(cache: Path) -> None:
    cache.rmdir()
    assert cached_names() == []
    cache.write_text("a file")
    assert cached_names() == []


def test_the_question_marks_cached_models(cache: Path) -> None:
    (cache / "models--Qwen--Qwen3-8B").mkdir()
    assert did_you_mean("Qwen/Qwen3-8b") == " Did you mean Qwen/Qwen3-8B (in the cache)?"
    assert did_you_mean("openai/gpt-oss-20B") == " Did you mean openai/gpt-oss-20b?"


def test_a_known_name_has_no_close_matches(cache: Path) -> None:
    assert did_you_mean("Qwen/Qwen3-8B") == ""
    (cache / "models--org--Qwen3-8C").mkdir()
    assert did_you_mean("org/Qwen3-8C") == ""
