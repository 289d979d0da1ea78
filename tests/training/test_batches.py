"""Packed samples keep every row whole, and collated rows are padded."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import (
    MultiModalData,
    PackedSample,
    RenderedTrainingSample,
    build_training_samples,
    collate,
    pack,
)
from tests.support.training import MESSAGES, TOOLS, embedded

SIZES = st.lists(st.integers(0, 12), max_size=30)


def row_of(size: int, first: int = 0) -> RenderedTrainingSample:
    return RenderedTrainingSample([*range(first, first + size)], [place % 2 == 1 for place in range(size)])


# ==================
# Rows
# ==================


def test_labels_are_the_trained_ids() -> None:
    sample = RenderedTrainingSample([5, 6, 7], [False, True, False])
    assert sample.labels() == [-100, 6, -100]
    assert sample.labels(ignore_index=-1) == [-1, 6, -1]


def test_arrays_are_writable_copies_or_read_only() -> None:
    sample = RenderedTrainingSample([5, 6, 7], [False, True, True], loss_weights=[0.0, 0.5, 1.0])
    arrays = sample.arrays()
    assert [values.tolist() for values in arrays] == [
        [5, 6, 7],
        [-100, 6, 7],
        [0, 1, 2],
        [False, True, True],
        [0.0, 0.5, 1.0],
    ]
    assert [values.dtype for values in arrays] == [np.int64, np.int64, np.int64, np.bool_, np.float32]
    assert all(values.flags.writeable for values in arrays)
    assert not any(values.flags.writeable for values in sample.arrays(copy=False))
    arrays.token_ids[0] = 9
    assert sample.token_ids[0] == 5


# ==================
# Packing
# ==================


@given(SIZES)
def test_every_row_is_in_one_sequence_and_whole(sizes: list[int]) -> None:
    rows = [row_of(size, first=100 * index) for index, size in enumerate(sizes)]
    sequences = pack(rows, 12)
    assert sorted(itertools.chain.from_iterable(sequence.samples for sequence in sequences)) == [*range(len(rows))]
    for sequence in sequences:
        assert len(sequence.token_ids) <= 12
        borders = itertools.pairwise(sequence.boundaries)
        for index, (start, end) in zip(sequence.samples, borders, strict=True):
            assert sequence.token_ids[start:end] == rows[index].token_ids
            assert sequence.loss_mask[start:end] == rows[index].loss_mask
            assert sequence.loss_weights[start:end] == rows[index].loss_weights
            assert sequence.position_ids[start:end] == [*range(end - start)]
            assert sequence.labels()[start:end] == rows[index].labels()
    assert sequences == pack(rows, 12)


@given(SIZES)
def test_packing_leaves_no_two_sequences_that_fit_into_one(sizes: list[int]) -> None:
    lengths = sorted(len(sequence.token_ids) for sequence in pack([row_of(size) for size in sizes], 12))
    assert len(lengths) < 2 or lengths[0] + lengths[1] > 12 or lengths[0] == 0


def test_a_row_that_is_longer_than_the_sequences_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"sample 1 has 5 tokens, and length is 4.*max_length"):
        pack([row_of(4), row_of(5)], 4)


def test_rows_with_media_are_neither_packed_nor_collated() -> None:
    row = RenderedTrainingSample([1], [True], multi_modal_data=MultiModalData(mm_hashes={"image": ["h"]}))
    for action in (lambda: pack([row], 9), lambda: collate([row])):
        with pytest.raises(ValueError, match="row 0 has media"):
            action()


def test_a_packed_sample_can_be_pickled() -> None:
    (sequence,) = pack([row_of(3), row_of(2)], 5)
    assert isinstance(sequence, PackedSample)
    assert pickle.loads(pickle.dumps(sequence)) == sequence


# ==================
# Collating
# ==================


def test_rows_are_padded_on_the_right() -> None:
    batch = collate([row_of(3, first=5), row_of(1, first=8)], pad_token_id=2, pad_to_multiple_of=4)
    assert {name: values.tolist() for name, values in batch.items()} == {
        "input_ids": [[5, 6, 7, 2], [8, 2, 2, 2]],
        "labels": [[-100, 6, -100, -100], [-100, -100, -100, -100]],
        "position_ids": [[0, 1, 2, 0], [0, 0, 0, 0]],
        "attention_mask": [[1, 1, 1, 0], [1, 0, 0, 0]],
    }
    assert {values.dtype for values in batch.values()} == {np.dtype(np.int64)}
    assert collate([row_of(3), row_of(1)])["input_ids"].shape == (2, 3)
    assert collate([row_of(8)], pad_to_multiple_of=4)["input_ids"].shape == (1, 8)


def test_weights_are_collated_if_they_are_not_the_mask() -> None:
    weighted = RenderedTrainingSample([1, 2], [True, True], loss_weights=[0.5, 1.0])
    batch = collate([weighted, row_of(1)])
    assert batch["loss_weights"].tolist() == [[0.5, 1.0], [0.0, 0.0]]
    assert batch["loss_weights"].dtype == np.float32


def test_packed_rows_have_positions_and_no_attention_mask() -> None:
    sequences = pack([row_of(3), row_of(2), row_of(4)], 5)
    batch = collate(sequences, ignore_index=-1)
    assert "attention_mask" not in batch
    assert batch["position_ids"].tolist() == [[0, 1, 2, 0, 1], [0, 1, 2, 3, 0]]
    assert batch["labels"][1].tolist() == [-1, 1, -1, 3, -1]


@pytest.mark.parametrize("length", [0, None, "9"])
def test_an_invalid_length_is_an_error(length: Any) -> None:
    with pytest.raises(ValueError, match="length must be a positive number"):
        pack([row_of(1)], length)


@pytest.mark.parametrize(
    ("rows", "options", "fault"),
    [
        ([], {}, "no rows"),
        ([1], {"pad_to_multiple_of": 0}, "pad_to_multiple_of must be"),
        ([1], {"pad_token_id": None}, "pad_token_id is None. Any token id"),
    ],
)
def test_invalid_options_are_errors(rows: list[int], options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        collate([row_of(size) for size in rows], **options)


# ==================
# Other processes
# ==================


def tokenize(chats: list[list[dict[str, Any]]]) -> list[RenderedTrainingSample]:
    return [sample for chat in chats for sample in build_training_samples(embedded(), chat, tools=TOOLS)]


def test_worker_processes_return_the_same_rows() -> None:
    chats = [[MESSAGES], [MESSAGES[:3], MESSAGES]]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert [*pool.map(tokenize, chats)] == [tokenize(chat) for chat in chats]


def test_datasets_map_works_with_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    # In a process of its own: the library starts threads and changes the logging.
    script = """
from datasets import Dataset
from renderers import EXAMPLE_MODEL, build_training_samples, create_renderer, load_tokenizer

renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
chats = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": f"Number {n}."}] * 2 for n in range(9)]

def tokenize(batch):
    rows = [row for chat in batch["messages"] for row in build_training_samples(renderer, chat)]
    return {"input_ids": [row.token_ids for row in rows], "labels": [row.labels() for row in rows]}

dataset = Dataset.from_dict({"messages": chats})
try:
    dataset.map(lambda batch: batch, batched=True, num_proc=2)
except Exception as error:
    raise SystemExit(77) from error
mapped = dataset.map(tokenize, batched=True, remove_columns=dataset.column_names, num_proc=2)
rows = [row for chat in chats for row in build_training_samples(renderer, chat)]
assert mapped["input_ids"][:] == [row.token_ids for row in rows]
assert mapped["labels"][:] == [row.labels() for row in rows]
"""
    variables = {**os.environ, "HF_HOME": str(tmp_path), "HF_DATASETS_CACHE": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", script], env=variables, timeout=120, check=False)
    if result.returncode == 77:
        pytest.skip("this version of datasets cannot map any function in two processes")
    assert result.returncode == 0


@pytest.mark.parametrize("rows", [None, 3, [1], ["row"], RenderedTrainingSample([1], [True])])
def test_rows_of_another_type_are_an_error(rows: Any) -> None:
    for join in (lambda: pack(rows, 8), lambda: collate(rows)):
        with pytest.raises(TypeError, match=r"must be a (list of )?training sample"):
            join()


@pytest.mark.parametrize("length", ["a", None, 2.5, True, 0])
def test_a_length_that_is_no_number_of_tokens_is_an_error(length: Any) -> None:
    with pytest.raises(ValueError, match="length must be a positive number of tokens"):
        pack([RenderedTrainingSample([1], [True])], length)
