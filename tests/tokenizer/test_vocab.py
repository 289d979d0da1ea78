"""A vocabulary is shared by all tokenizers with the same files, and freed with the last of them."""

from __future__ import annotations

import json
import pickle
import shutil
import weakref
from pathlib import Path

import pytest

from renderers import EMBEDDED, LoadedTokenizer, create_renderer, load_tokenizer
from renderers.tokenizer.vocab import vocab_from_state

TEXT = "<|turn|>user\nHello, wörld! 🙂<|end|>"


@pytest.fixture(scope="module")
def ours() -> LoadedTokenizer:
    return load_tokenizer(EMBEDDED)


def test_the_state_of_a_vocabulary_is_all_that_another_process_needs(ours: LoadedTokenizer) -> None:
    state = pickle.loads(pickle.dumps(ours.vocab.state()))
    again = vocab_from_state({**state, "digest": "of another process"})
    assert again is not ours.vocab
    assert again.encode(TEXT, add_special_tokens=False).ids == ours.encode(TEXT, add_special_tokens=False)
    for name in state.keys() - {"backend", "digest"}:
        assert getattr(again, name) == getattr(ours, name), name


TABLES = (
    "plain token_sizes byte_texts isolating_texts control_texts stop_texts reserved_texts stripping _piece_cache _words"
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The snapshot of a cached repository `org/model`, different from all other models of the tests."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    root = tmp_path / "models--org--model"
    snapshot = Path(shutil.copytree(EMBEDDED, root / "snapshots" / "c0ffee"))
    (snapshot / "config.json").write_text(json.dumps({"id": str(tmp_path)}))
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text("c0ffee")
    return snapshot


def test_an_unpickled_renderer_of_a_repository_is_as_warm_as_the_first(repository: Path) -> None:
    renderer = create_renderer(load_tokenizer("org/model"))
    again = pickle.loads(pickle.dumps(renderer))
    assert again.tokenizer == renderer.tokenizer
    vocab = again.tokenizer.vocab
    assert vocab is renderer.tokenizer.vocab
    for name in TABLES.split():
        assert getattr(vocab, name) is getattr(renderer.tokenizer.vocab, name), name


def test_a_repository_its_folder_and_a_copy_share_a_vocabulary(repository: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(repository, tmp_path / "copy")
    names: list[str | Path] = ["org/model", repository, copied]
    loaded = [load_tokenizer(name) for name in names]
    assert len({id(tokenizer.vocab) for tokenizer in loaded}) == 1
    assert [tokenizer.name_or_path for tokenizer in loaded] == list(map(str, names))
    assert len(set(loaded)) == 3


def test_a_vocabulary_that_nothing_uses_is_freed_at_once(repository: Path) -> None:
    tokenizer = vocab_from_state({**load_tokenizer("org/model").vocab.state(), "digest": "used once"})
    tokenizer.encode_pieces(["some text"])
    _ = tokenizer.token_sizes
    reference = weakref.ref(tokenizer)
    del tokenizer
    assert reference() is None
