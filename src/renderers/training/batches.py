"""Pack samples into sequences, and collate rows into arrays."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from renderers.core.importing import import_numpy
from renderers.training.checks import check_rows
from renderers.training.rendered_sample import IGNORE_INDEX, RenderedTrainingSample, TrainingRow, check_positive


@dataclass(frozen=True)
class PackedSample(TrainingRow):
    """Samples in one sequence, each of them whole. Positions start at 0 with each sample."""

    token_ids: list[int]
    loss_mask: list[bool]
    """Whether a token is trained on."""
    loss_weights: list[float]
    """The weight of each token in the loss."""
    position_ids: list[int]
    boundaries: list[int]
    """Where each sample starts, and the length of the sequence: `cu_seqlens` of attention kernels."""
    samples: list[int]
    """The index of each sample among those that were packed."""
    columns: dict[str, list[float]] = field(default_factory=dict)
    """Other numbers of each token by name, such as the logprobs of rollouts."""


def pack(rows: Iterable[RenderedTrainingSample], length: int) -> list[PackedSample]:
    """Pack samples into sequences of at most `length` tokens. No sample is split.

    Each sample, the longest first, goes into the sequence with the least room that is enough. The sequences are in
    the order of their first samples, and so are the samples of a sequence. Equal samples give equal results.

    Raises:
        TypeError: A row is not a training sample.
        ValueError: A sample is longer than `length`, has media, which are located by position, or has other `columns`
            than the first one.

    >>> rows = [RenderedTrainingSample([size] * size, [True] * size) for size in (3, 2, 4, 1)]
    >>> [sequence.token_ids for sequence in pack(rows, 5)]
    [[3, 3, 3, 2, 2], [4, 4, 4, 4, 1]]
    >>> pack(rows, 5)[0].position_ids, pack(rows, 5)[0].boundaries, pack(rows, 5)[0].samples
    ([0, 1, 2, 0, 1], [0, 3, 5], [0, 1])
    """
    samples = check_rows(rows, RenderedTrainingSample)
    check_positive("length", length)
    _check_media(samples, "packed")
    names = _column_names(samples)
    for index, sample in enumerate(samples):
        if len(sample.token_ids) > length:
            raise ValueError(
                f"sample {index} has {len(sample.token_ids)} tokens, and length is {length}. No sample is split: pass "
                "max_length to build_training_samples, or a larger length."
            )
    bins = _best_fit([len(sample.token_ids) for sample in samples], length)
    return [_join(samples, sorted(members), names) for members in sorted(bins, key=min)]


def _best_fit(sizes: Sequence[int], length: int) -> list[list[int]]:
    """Return the indices of the samples of each sequence."""
    bins: list[list[int]] = []
    rooms: list[tuple[int, int]] = []
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        place = bisect.bisect_left(rooms, (sizes[index], -1))
        room, number = rooms.pop(place) if place < len(rooms) else (length, len(bins))
        if number == len(bins):
            bins.append([])
        bins[number].append(index)
        bisect.insort(rooms, (room - sizes[index], number))
    return bins


def _join(samples: Sequence[RenderedTrainingSample], members: list[int], names: Iterable[str]) -> PackedSample:
    packed = PackedSample([], [], [], [], [0], members, {name: [] for name in names})
    for sample in (samples[index] for index in members):
        packed.token_ids.extend(sample.token_ids)
        packed.loss_mask.extend(sample.loss_mask)
        packed.loss_weights.extend(sample.loss_weights)
        packed.position_ids.extend(sample.position_ids)
        packed.boundaries.append(len(packed.token_ids))
        for name, values in sample.columns.items():
            packed.columns[name].extend(values)
    return packed


def collate(
    rows: Iterable[TrainingRow],
    *,
    pad_token_id: int = 0,
    pad_to_multiple_of: int | None = None,
    ignore_index: int = IGNORE_INDEX,
) -> dict[str, Any]:
    """Return rows of the same length, padded on the right, as numpy arrays with an axis for the rows.

    Samples have `input_ids`, `labels`, `position_ids` and `attention_mask`. If there is a packed sample, there is no
    attention mask: attention must not cross the boundaries, which the positions show. `loss_weights` are added if
    any weight is neither 0 nor 1, and so are the `columns` of rows: the `logprobs` and `advantages` of rollouts. Ids,
    labels, positions and mask are int64, weights and columns are float32.

    Args:
        rows: Samples, or the results of `pack`.
        pad_token_id: The id of padding tokens. Their label is `ignore_index`, and their position is 0.
        pad_to_multiple_of: Round the length up to a multiple of this.
        ignore_index: The label of tokens that are not trained on.

    Raises:
        ImportError: numpy is not installed.
        TypeError: A row is neither a sample nor a result of `pack`.
        ValueError: There are no rows, an option is invalid, a row has media, which must be collated with the ids, or a
            row has other `columns` than the first one.

    >>> rows = [RenderedTrainingSample([5, 6, 7], [False, True, True]), RenderedTrainingSample([8], [True])]
    >>> batch = collate(rows, pad_to_multiple_of=4)
    >>> batch["labels"].tolist(), batch["attention_mask"].tolist()
    ([[-100, 6, 7, -100], [8, -100, -100, -100]], [[1, 1, 1, 0], [1, 0, 0, 0]])
    """
    np = import_numpy()
    samples = check_rows(rows, TrainingRow)
    if not samples:
        raise ValueError("there are no rows to collate")
    if pad_to_multiple_of is not None:
        check_positive("pad_to_multiple_of", pad_to_multiple_of)
    if not isinstance(pad_token_id, int):
        raise ValueError(f"pad_token_id is {pad_token_id!r}. Any token id will do, because padding is masked.")
    _check_media(samples, "collated")
    multiple = pad_to_multiple_of or 1
    width = -(-max(len(row.token_ids) for row in samples) // multiple) * multiple

    def stack(lists: Iterable[Sequence[Any]], padding: float, dtype: Any) -> Any:
        stacked = np.full((len(samples), width), padding, dtype=dtype)
        for line, values in zip(stacked, lists, strict=True):
            line[: len(values)] = values
        return stacked

    batch = {
        "input_ids": stack((row.token_ids for row in samples), pad_token_id, np.int64),
        "labels": stack((row.labels(ignore_index) for row in samples), ignore_index, np.int64),
        "position_ids": stack((row.position_ids for row in samples), 0, np.int64),
    }
    if not any(isinstance(row, PackedSample) for row in samples):
        batch["attention_mask"] = stack(([1] * len(row.token_ids) for row in samples), 0, np.int64)
    if any({*row.loss_weights} - {0.0, 1.0} for row in samples):
        batch["loss_weights"] = stack((row.loss_weights for row in samples), 0.0, np.float32)
    for name in _column_names(samples):
        batch[name] = stack((row.columns[name] for row in samples), 0.0, np.float32)
    return batch


def _column_names(rows: Sequence[TrainingRow]) -> list[str]:
    """Return the names of the columns that all rows have.

    Raises:
        ValueError: Two rows have different columns.
    """
    names = list(rows[0].columns) if rows else []
    for index, row in enumerate(rows):
        if row.columns.keys() != {*names}:
            own, first = (" and ".join(columns) or "no columns" for columns in (row.columns, names))
            raise ValueError(f"row {index} has {own}, and row 0 has {first}: pass rows of one kind")
    return names


def _check_media(rows: Sequence[TrainingRow], action: str) -> None:
    for index, row in enumerate(rows):
        if isinstance(row, RenderedTrainingSample) and row.multi_modal_data is not None:
            raise ValueError(f"row {index} has media, which cannot be {action}: use its token_ids and multi_modal_data")
