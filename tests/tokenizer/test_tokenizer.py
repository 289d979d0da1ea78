"""A loaded tokenizer has the surface that users know, cannot be changed, and survives pickle, copy and fork."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from renderers import (
    EMBEDDED,
    LoadedTokenizer,
    TokenIdError,
    TokenizerFileError,
    UnencodableTextError,
    adopt_tokenizer,
    load_tokenizer,
)
from renderers.core.protocols import OffsetTokenizer, Tokenizer
from renderers.core.text import describe_type
from tests.support.corpus import nasty_texts

TEXT = "<|turn|>user\nHello, wörld! 🙂<|end|>"


@pytest.fixture(scope="module")
def ours() -> LoadedTokenizer:
    return load_tokenizer(EMBEDDED)


@pytest.fixture(scope="module")
def theirs() -> AutoTokenizer:
    return AutoTokenizer.from_pretrained(EMBEDDED)


# ==================
# The surface
# ==================


def test_it_is_what_the_protocols_ask_for(ours: LoadedTokenizer) -> None:
    assert isinstance(ours, Tokenizer)
    assert isinstance(ours, OffsetTokenizer)


DOCUMENTED = "added_tokens bpe_engine chat_templates revision source stop_token_ids takes_audio takes_images".split()


def test_public_names_are_those_of_transformers_and_those_in_the_docs(
    ours: LoadedTokenizer, theirs: AutoTokenizer
) -> None:
    api = Path(__file__).parent.parent.parent / "docs" / "reference" / "api.md"
    row = next(line for line in api.read_text(encoding="utf-8").splitlines() if line.startswith("| `LoadedTokenizer`"))
    assert all(f"`{name}`" in row for name in DOCUMENTED)
    public = {name for name in dir(ours) if not name.startswith("_")}
    assert sorted(name for name in public if not hasattr(theirs, name)) == DOCUMENTED


def test_attributes_are_those_of_transformers(ours: LoadedTokenizer, theirs: AutoTokenizer) -> None:
    names = "bos_token eos_token pad_token unk_token bos_token_id eos_token_id pad_token_id unk_token_id vocab_size"
    for name in (*names.split(), "chat_template"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours) == len(theirs)
    assert ours.get_vocab() == theirs.get_vocab()
    assert dict(ours.added_tokens) == theirs.get_added_vocab()
    assert str(ours.name_or_path) == str(theirs.name_or_path)


def test_conversions_are_those_of_transformers(ours: LoadedTokenizer, theirs: AutoTokenizer) -> None:
    for tokens in ("<|end|>", "Ġthe", "no such token", ["<|end|>", "no such token"]):
        assert ours.convert_tokens_to_ids(tokens) == theirs.convert_tokens_to_ids(tokens)
    for ids in (870, 5, 99_999, [870, 5, 99_999]):
        assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert ours.convert_ids_to_tokens([5, 870], skip_special_tokens=True) == ["&"]


def test_batches_and_added_tokens_are_those_of_transformers(ours: LoadedTokenizer, theirs: AutoTokenizer) -> None:
    batch = [[1, 2, 3], [], list(ours.added_tokens.values())[:5]]
    assert ours.batch_decode(batch) == theirs.batch_decode(batch)
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    assert ours.is_fast == theirs.is_fast


def test_encoding_and_decoding_are_those_of_transformers(ours: LoadedTokenizer, theirs: AutoTokenizer) -> None:
    for text in nasty_texts(code_files=5):
        ids = ours.encode(text)
        assert ids == theirs.encode(text)
        assert ours.decode(ids) == theirs.decode(ids) == text
    ids = ours.encode(TEXT)
    assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
    assert "<|end|>" not in ours.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("text", [TEXT, [TEXT, "Hello"], []])
def test_a_call_gives_what_transformers_gives(ours: LoadedTokenizer, theirs: AutoTokenizer, text: str) -> None:
    got = ours(text, return_offsets_mapping=True, add_special_tokens=False)
    if text:
        assert got == dict(theirs(text, return_offsets_mapping=True, add_special_tokens=False))
    assert got.input_ids == got["input_ids"]
    assert "offset_mapping" not in ours(text)
    with pytest.raises(AttributeError, match="offset_mapping"):
        _ = ours(text).offset_mapping


def test_decoding_takes_arrays_and_single_ids(ours: LoadedTokenizer) -> None:
    ids = ours.encode(TEXT)
    assert ours.decode(np.array(ids)) == ours.decode(iter(ids)) == ours.decode(tuple(ids)) == TEXT
    assert ours.decode(870) == ours.decode(np.int64(870)) == "<|end|>"  # type: ignore[arg-type]
    assert ours.decode([]) == ""


class Tensor:
    """A number as tensors have them: equal and hashed by identity, but an index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_ids_may_be_anything_that_is_an_index(ours: LoadedTokenizer) -> None:
    ids: list[Any] = [Tensor(number) for number in ours.encode(TEXT)]
    assert ours.decode(ids) == TEXT
    assert ours.decode(ids, skip_special_tokens=True) == "user\nHello, wörld! 🙂"
    assert ours.convert_ids_to_tokens(ids[:1]) == ["<|turn|>"]
    assert ours.decode(np.array(870)) == "<|end|>"


@pytest.mark.parametrize("wrong", ["65", [0.5], None, ["a"]])
def test_what_is_no_id_is_a_type_error(ours: LoadedTokenizer, wrong: Any) -> None:
    with pytest.raises(TypeError):
        ours.decode(wrong)
    with pytest.raises(TypeError):
        ours.convert_ids_to_tokens(wrong)


def test_encoding_with_wrong_arguments_is_a_type_error(ours: LoadedTokenizer) -> None:
    with pytest.raises(TypeError):
        ours.encode("a", "b")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ours.encode("a", truncation=True)  # type: ignore[call-arg]


def test_ids_beyond_the_vocabulary_give_no_text(ours: LoadedTokenizer) -> None:
    assert ours.decode([870, 10**6, 870]) == "<|end|><|end|>"


@pytest.mark.parametrize("wrong", [-1, 2**32, -(2**70)])
def test_what_cannot_be_an_id_is_refused_with_its_place(ours: LoadedTokenizer, wrong: int) -> None:
    with pytest.raises(TokenIdError, match=rf"^token_ids\[2\] is {wrong}: "):
        ours.decode([1, 2, wrong])
    with pytest.raises(TokenIdError, match=rf"^ids\[0\] is {wrong}: "):
        ours.convert_ids_to_tokens(wrong)


@pytest.mark.parametrize("wrong", [None, "a", 1.5, True, [1], {}, object()])
def test_a_value_that_is_not_an_int_is_rejected_with_its_position(ours: LoadedTokenizer, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^token_ids\[1\] must be an int, not "):
        ours.decode([1, wrong])
    with pytest.raises(TypeError, match=r"^ids\[1\] must be an int, not "):
        ours.convert_ids_to_tokens([1, wrong])
    with pytest.raises(TypeError, match=r"^token_ids\[0\] must be an int, not "):
        ours.batch_decode([[1], [wrong]])


@pytest.mark.parametrize("wrong", [None, "a", 1.5, True, {}, object()])
def test_an_argument_that_is_neither_an_id_nor_a_sequence_is_rejected(ours: LoadedTokenizer, wrong: Any) -> None:
    for call in (ours.decode, ours.convert_ids_to_tokens):
        with pytest.raises(TypeError, match=r"ids must be a list, an array or a tensor of ints, not "):
            call(wrong)
    with pytest.raises(TypeError, match=r"^sequences must be a list with the ids of each sequence, not "):
        ours.batch_decode(wrong)


@given(before=st.text(max_size=5), surrogate=st.integers(0xD800, 0xDFFF), after=st.text(max_size=5))
def test_a_lone_surrogate_is_refused_with_its_place(before: str, surrogate: int, after: str) -> None:
    with pytest.raises(UnencodableTextError, match=f"character {len(before)} .*U\\+{surrogate:04X}"):
        load_tokenizer(EMBEDDED).encode(before + chr(surrogate) + after)


@pytest.mark.parametrize("wrong", [None, 5, b"text", ["text"]])
def test_what_is_no_text_is_a_type_error(ours: LoadedTokenizer, wrong: str) -> None:
    with pytest.raises(TypeError, match=f"must be a str, not {describe_type(wrong)}"):
        ours.encode(wrong)


@given(text=st.text())
def test_decoding_gives_back_any_text(text: str) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    assert tokenizer.decode(tokenizer.encode(text)) == text


# ==================
# Immutability
# ==================


def test_nothing_can_be_changed(ours: LoadedTokenizer) -> None:
    for field in dataclasses.fields(ours):
        with pytest.raises(AttributeError):
            setattr(ours, field.name, None)
    with pytest.raises(AttributeError):
        ours.chat_template = "another"
    for mapping in (ours.special_tokens_map, ours.added_tokens, ours.chat_templates, ours.source.missing):
        with pytest.raises(TypeError):
            mapping["x"] = "y"  # type: ignore[index]


def test_changing_what_was_given_changes_nothing(ours: LoadedTokenizer) -> None:
    ids = ours.encode(TEXT)
    expected = list(ids)
    ids.clear()
    ours.get_vocab().clear()
    assert ours.encode(TEXT) == expected


def test_threads_share_it_without_a_lock(ours: LoadedTokenizer) -> None:
    texts = list(nasty_texts(code_files=3, random_texts=100))
    expected = [ours.encode(text) for text in texts]
    start = threading.Barrier(8)

    def work(_: int) -> bool:
        start.wait()
        return all(ours.encode(text) == ids for text, ids in zip(texts, expected, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


# ==================
# Pickle, copy, fork
# ==================


def test_a_pickle_by_name_is_small_and_gives_the_shared_object(ours: LoadedTokenizer) -> None:
    data = pickle.dumps(ours)
    assert len(data) < 1000
    assert pickle.loads(data) is ours
    assert copy.copy(ours) is copy.deepcopy(ours) is ours


def test_a_pickle_keeps_the_name_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(load_tokenizer("model"))
    monkeypatch.chdir("/")
    assert pickle.loads(data).name_or_path == "model"


def test_a_pickle_whose_files_changed_is_refused(tmp_path: Path) -> None:
    model = shutil.copytree(EMBEDDED, tmp_path / "model")
    data = pickle.dumps(load_tokenizer(model))
    (model / "tokenizer_config.json").write_text('{"eos_token": "<|pad|>"}')
    with pytest.raises(TokenizerFileError, match="changed since this tokenizer was pickled"):
        pickle.loads(data)


def test_a_pickle_by_content_needs_no_files(ours: LoadedTokenizer, theirs: AutoTokenizer) -> None:
    adopted = adopt_tokenizer(theirs)
    again = pickle.loads(pickle.dumps(adopted))
    assert again == adopted
    assert again.encode(TEXT) == ours.encode(TEXT)
    assert again.vocab is adopted.vocab


def encode_with(tokenizer: LoadedTokenizer) -> list[int]:
    return tokenizer.encode(TEXT)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_give_the_same_ids_however_they_are_started(ours: LoadedTokenizer, method: str) -> None:
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(encode_with, [ours] * 4)) == [ours.encode(TEXT)] * 4


def test_the_representation_says_where_it_came_from(ours: LoadedTokenizer) -> None:
    assert repr(ours) == f"LoadedTokenizer({str(EMBEDDED)!r}, 879 tokens, from {EMBEDDED})"


def test_two_are_equal_that_read_the_same_under_the_same_name(tmp_path: Path) -> None:
    loaded = load_tokenizer(EMBEDDED)
    again = dataclasses.replace(loaded)
    assert again is not loaded
    assert again == loaded
    assert hash(again) == hash(loaded)
    assert dataclasses.replace(loaded, name_or_path="other") != loaded
    assert loaded != "other"


def test_the_position_of_a_number_that_is_no_id_counts_skipped_tokens(ours: LoadedTokenizer) -> None:
    ids = [ours.all_special_ids[0], 2**40]
    with pytest.raises(TokenIdError, match=r"^token_ids\[1\] is 1099511627776"):
        ours.decode(ids, skip_special_tokens=True)
    with pytest.raises(TokenIdError, match=r"^ids\[1\] is 1099511627776"):
        ours.convert_ids_to_tokens(ids, skip_special_tokens=True)
