"""`RenderedTrainingSample`: a row of training data, with labels, arrays and a limit of its length."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from renderers.core.importing import import_numpy
from renderers.core.tokens import MultiModalData

if TYPE_CHECKING:
    import numpy as np

IGNORE_INDEX = -100
"""The label of a token that is not trained on, as in PyTorch and transformers."""

Overlong = Literal["error", "drop", "cut"]
"""What to do with a sample that is longer than `max_length`."""

_TYPE_IDS = {"image": 1, "video": 2}


class TrainedTurn(NamedTuple):
    """A turn that a sample trains: the tokens from `start` up to `end`."""

    message: int
    """The index of the message."""
    start: int
    end: int
    has_stop: bool
    """True if the last token is a stop token."""
    follows_prompt: bool | None = None
    """Whether the text before the turn is the generation prompt of the messages before it. None if not compared."""


class SampleArrays(NamedTuple):
    """The lists of a sample as numpy arrays. Ids, labels and positions are int64."""

    token_ids: np.ndarray[Any, np.dtype[np.int64]]
    labels: np.ndarray[Any, np.dtype[np.int64]]
    position_ids: np.ndarray[Any, np.dtype[np.int64]]
    loss_mask: np.ndarray[Any, np.dtype[np.bool_]]
    loss_weights: np.ndarray[Any, np.dtype[np.float32]]


class TrainingRow:
    """A row of training data: ids with a loss mask, loss weights and positions."""

    if TYPE_CHECKING:
        # Fields or properties of a subclass.
        @property
        def token_ids(self) -> list[int]: ...
        @property
        def loss_mask(self) -> list[bool]: ...
        @property
        def loss_weights(self) -> list[float]: ...
        @property
        def position_ids(self) -> list[int]: ...
        @property
        def columns(self) -> dict[str, list[float]]: ...

    def labels(self, ignore_index: int = IGNORE_INDEX) -> list[int]:
        """Return the id of each trained token, and `ignore_index` for other tokens.

        The labels are not shifted: models of transformers shift them.
        """
        pairs = zip(self.token_ids, self.loss_mask, strict=True)
        return [token if trained else ignore_index for token, trained in pairs]

    def arrays(self, *, copy: bool = True) -> SampleArrays:
        """Return ids, labels, positions, loss mask and loss weights as numpy arrays, read-only with `copy=False`.

        Raises:
            ImportError: numpy is not installed.
        """
        np = import_numpy()
        ids, mask = np.array(self.token_ids, dtype=np.int64), np.array(self.loss_mask, dtype=np.bool_)
        arrays = SampleArrays(
            token_ids=ids,
            labels=np.where(mask, ids, IGNORE_INDEX),
            position_ids=np.array(self.position_ids, dtype=np.int64),
            loss_mask=mask,
            loss_weights=np.array(self.loss_weights, dtype=np.float32),
        )
        for values in arrays:
            values.flags.writeable = copy
        return arrays


@dataclass(frozen=True)
class RenderedTrainingSample(TrainingRow):
    """The tokens of a conversation with their loss mask and loss weights: one row of training data.

    >>> sample = RenderedTrainingSample([5, 6, 7], [False, True, True])
    >>> sample.loss_weights, sample.labels()
    ([0.0, 1.0, 1.0], [-100, 6, 7])
    """

    token_ids: list[int]
    loss_mask: list[bool]
    """Whether a token is trained on."""
    multi_modal_data: MultiModalData | None = None
    """The media of the conversation. None if there are none."""
    mm_token_type_ids: list[int] | None = None
    """1 for placeholders of images, 2 for those of videos, 0 for other tokens. None without placeholders."""
    loss_weights: list[float] = field(default_factory=list)
    """The weight of each token in the loss. 0.0 for tokens that are not trained on. By default 1.0 for others."""
    message_indices: list[int] = field(default_factory=list)
    """The message of each token. -1 for tokens of no message."""
    turns: tuple[TrainedTurn, ...] = ()
    """The messages with trained tokens, in order."""
    lost_reasoning: tuple[int, ...] = ()
    """The messages with reasoning that the template does not write in this sample."""

    def __post_init__(self) -> None:
        if not self.loss_weights:
            object.__setattr__(self, "loss_weights", [float(trained) for trained in self.loss_mask])

    @property
    def position_ids(self) -> list[int]:
        """The position of each token, from 0 on."""
        return list(range(len(self.token_ids)))

    @property
    def columns(self) -> dict[str, list[float]]:
        """Other numbers of each token by name, such as the logprobs of a rollout. `pack` and `collate` keep them."""
        return {}


def check_overlong(max_length: int | None, overlong: str) -> None:
    """Raise a `ValueError` if a limit of the length, or the policy for longer samples, is invalid."""
    if overlong not in get_args(Overlong):
        raise ValueError(f"overlong must be one of {', '.join(map(repr, get_args(Overlong)))}, not {overlong!r}")
    if max_length is not None:
        check_positive("max_length", max_length)


def check_positive(name: str, value: object) -> None:
    """Raise a `ValueError` if an option is not a positive number of tokens."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive number of tokens, not {value!r}")


def fit(sample: RenderedTrainingSample, max_length: int | None, overlong: Overlong) -> RenderedTrainingSample | None:
    """Return a sample with at most `max_length` tokens; None if nothing is left of it.

    Raises:
        ValueError: The sample is longer and `overlong` is `"error"`, or has media and would have to be cut.
    """
    if max_length is None or len(sample.token_ids) <= max_length:
        return sample
    if overlong == "drop":
        return None
    messages = ", ".join(str(turn.message) for turn in sample.turns)
    place = f"the sample that trains message {messages}" if len(sample.turns) == 1 else "the sample"
    size = f"{place} has {len(sample.token_ids)} tokens, and max_length is {max_length}"
    if overlong == "error":
        raise ValueError(
            f'{size}. Pass overlong="drop" to leave it out, overlong="cut" to end it before the first turn that does '
            "not fit, or a larger max_length."
        )
    if sample.multi_modal_data is not None:
        raise ValueError(f'{size}. It has media, so it cannot be cut. Pass overlong="drop" to leave it out.')
    return _cut(sample, max_length)


def _cut(sample: RenderedTrainingSample, max_length: int) -> RenderedTrainingSample | None:
    """Return the sample up to the end of the last turn before the first that does not fit; None if there is none."""
    kept: list[TrainedTurn] = []
    for turn in sample.turns:
        if turn.end > max_length:
            break
        kept.append(turn)
    if not kept:
        return None
    end, last = kept[-1].end, kept[-1].message
    return replace(
        sample,
        token_ids=sample.token_ids[:end],
        loss_mask=sample.loss_mask[:end],
        loss_weights=sample.loss_weights[:end],
        message_indices=sample.message_indices[:end],
        turns=tuple(kept),
        lost_reasoning=tuple(message for message in sample.lost_reasoning if message <= last),
    )


def media_type_ids(media: MultiModalData | None, count: int) -> list[int] | None:
    """Return the type of each of `count` tokens; None without placeholders."""
    if media is None or not media.mm_placeholders:
        return None
    types = [0] * count
    for modality, ranges in media.mm_placeholders.items():
        for placeholder in ranges if modality in _TYPE_IDS else ():
            start, end = placeholder.offset, min(placeholder.offset + placeholder.length, count)
            types[start:end] = [_TYPE_IDS[modality]] * (end - start)
    return types
