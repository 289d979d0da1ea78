"""A vocabulary is shared by all tokenizers with the same files, and freed with the last of them."""

from __future__ import annotations

import json
import pickle
import shutil
import weakref
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, normalizers

from renderers import EMBEDDED, LoadedTokenizer, adopt_tokenizer, create_renderer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer
from renderers.tokenizer.vocab import Vocab, vocab_from_state
from tests.support.standin import byte_tokenizer

TEXT = "<|turn|>user\nHello, wörld! 🙂<|end|>"


@pytest.fixture(scope="module")
def ours() -> LoadedTokenizer:
    return load_tokenizer(EMBEDDED)


def vocab_with(*tokens: AddedToken, **fields: Any) -> Vocab:
    backend = byte_tokenizer([])
    backend.add_tokens(list(tokens))
    added = {token.content: number for number, token in backend.get_added_tokens_decoder().items()}
    special = frozenset(added[token.content] for token in tokens if token.special)
    facts: dict[str, Any] = {
        "digest": "a test",
        "special_tokens_map": {},
        "chat_templates": {},
        "stop_token_ids": None,
        "takes_images": None,
        "takes_audio": None,
        "isolating_token_ids": frozenset(),
        "byte_level": True,
    }
    truth = LazyTokenizer("a test", lambda: backend)
    return Vocab(truth=truth, added_tokens=added, special_ids=special, **{**facts, **fields})


def test_reserved_texts_are_all_added_tokens_but_layout_and_control_texts_the_special_ones() -> None:
    vocab = vocab_with(AddedToken("<end>", special=True), AddedToken("<tool>", special=False), AddedToken("\n\n"))
    assert vocab.reserved_texts == {"<end>", "<tool>"}
    assert vocab.control_texts == {"<end>"}


def test_without_special_tokens_all_added_tokens_but_spaces_are_control_texts() -> None:
    assert vocab_with(AddedToken("<tool>"), AddedToken("\n\n")).control_texts == {"<tool>"}


def test_stop_texts_are_the_added_tokens_that_generation_stops_at() -> None:
    tokens = AddedToken("<end>", special=True), AddedToken("<turn>", special=True)
    assert vocab_with(*tokens).stop_texts == frozenset()
    assert vocab_with(*tokens, stop_token_ids=(97, 257)).stop_texts == {"<turn>"}


def test_tokens_that_absorb_spaces_are_stripping() -> None:
    vocab = vocab_with(AddedToken("<end>", rstrip=True), AddedToken("<turn>"))
    assert vocab.stripping == {"<end>": (False, True)}


def test_token_sizes_are_bytes() -> None:
    vocab = vocab_with(AddedToken("<é>"))
    assert vocab.token_sizes is not None
    assert [vocab.token_sizes[number] for number in range(257)] == [1] * 256 + [4]


def test_pieces_are_encoded_once_and_without_special_tokens(ours: LoadedTokenizer) -> None:
    first, second = ours.vocab.encode_pieces(["Hello", "Hello"])
    assert first is second
    assert list(unpack_ids(first)) == ours.encode("Hello", add_special_tokens=False)


def test_the_state_of_a_vocabulary_is_all_that_another_process_needs(ours: LoadedTokenizer) -> None:
    state = pickle.loads(pickle.dumps(ours.vocab.state()))
    again = vocab_from_state({**state, "digest": "of another process"})
    assert again is not ours.vocab
    assert again.encode(TEXT, add_special_tokens=False).ids == ours.encode(TEXT, add_special_tokens=False)
    for name in state.keys() - {"backend", "digest"}:
        assert getattr(again, name) == getattr(ours.vocab, name), name


TABLES = (
    "plain token_sizes token_texts byte_texts isolating_texts control_texts stop_texts reserved_texts stripping "
    "_piece_cache engines"
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


@pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
def test_a_token_that_other_text_is_normalized_to_is_found_by_engines() -> None:
    # NFC writes the Kelvin sign as a K.
    backend = Tokenizer.from_str(load_tokenizer(EMBEDDED).vocab.backend.to_str())
    backend.normalizer = normalizers.NFC()
    backend.add_tokens([AddedToken("[K]", normalized=True), AddedToken("[Q]", normalized=False)])
    vocab = adopt_tokenizer(backend, bpe_engine="native").vocab
    assert isinstance(vocab, Vocab)
    assert {"[K]", "[Q]"} <= vocab.isolating_texts
    (piece,) = vocab.encode_pieces(["a[\u212a]b"])
    assert list(unpack_ids(piece)) == backend.encode("a[\u212a]b", add_special_tokens=False).ids
    assert backend.token_to_id("[K]") in unpack_ids(piece)
    (plain,) = vocab.plain.encode(["a[K]b"], first={0})
    assert backend.token_to_id("[K]") not in unpack_ids(plain)
