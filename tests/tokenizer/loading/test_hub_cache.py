"""Reading the Hugging Face cache without its client."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderers.tokenizer.loading.files import MODEL_FILES, VOCABULARY_FILES
from renderers.tokenizer.loading.hub_cache import cached_snapshot, is_repository_name
from tests.support.models import snapshot_of


def test_the_cache_is_read_as_its_own_client_reads_it(hub: Path) -> None:
    from huggingface_hub import try_to_load_from_cache

    for name, revision in (("Qwen/Qwen3-8B", "main"), ("moonshotai/Kimi-K2.5", "main"), ("Qwen/Qwen3-8B", "x")):
        snapshot = cached_snapshot(name, revision)
        for file in (*VOCABULARY_FILES, *MODEL_FILES):
            theirs = try_to_load_from_cache(name, file, revision=revision)
            ours = snapshot.directory / file if snapshot and (snapshot.directory / file).exists() else None
            assert theirs == (str(ours) if ours else None)
    assert cached_snapshot("Qwen/Qwen3-8B", snapshot_of("Qwen/Qwen3-8B").name) is not None


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("gpt2", True),
        ("Qwen/Qwen3-8B", True),
        ("a/b/c", False),
        ("/a", False),
        ("a b", False),
        ("", False),
        ("../a", False),
    ],
)
def test_repository_names(name: str, valid: bool) -> None:
    assert is_repository_name(name) is valid
