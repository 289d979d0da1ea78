"""`RenderedTokens`: token ids with the message, the channel and the sampling flag of each token."""

from __future__ import annotations

import copy
import itertools
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from renderers.core.importing import import_numpy
from renderers.core.losses import Loss
from renderers.core.native import native
from renderers.core.plain_json import untrack
from renderers.core.spans import Channel, Path
from renderers.core.text import align_columns
from renderers.core.token_ids import equals_ids, unpack_ids

if TYPE_CHECKING:
    import numpy as np

Decode = Callable[[list[int]], str]
"""A function from token ids to their text."""

_BOLD = ("\x1b[1m", "\x1b[0m")
_CHANNEL_NUMBERS = {channel: number for number, channel in enumerate(Channel)}
_UNKNOWN: dict[str, Any] = {
    "message_indices": -1,
    "channels": Channel.SCAFFOLD,
    "sampled_mask": False,
    "is_content": False,
}
"""The attribution lists, in the order of the fields of `TokenRun` after `end`, and the entry of a token without any."""
_COLUMNS = ("token_ids", *_UNKNOWN)
_COLUMN_NUMBERS = {name: number for number, name in enumerate(_COLUMNS)}
_BUILT = ("_attribution", "injected", "losses", "message_tool_names", *_COLUMNS)
"""The attributes that are built on first access."""


class TokenRun(NamedTuple):
    """Consecutive tokens with the same attribution. `end` is the position after the last."""

    end: int
    message: int
    channel: Channel
    sampled: bool
    content: bool


class TokenArrays(NamedTuple):
    """Ids and attribution as numpy arrays. `channels` has indices into `list(Channel)`."""

    token_ids: np.ndarray[Any, np.dtype[np.int64 | np.uint32]]
    message_indices: np.ndarray[Any, np.dtype[np.int32]]
    sampled_mask: np.ndarray[Any, np.dtype[np.bool_]]
    is_content: np.ndarray[Any, np.dtype[np.bool_]]
    channels: np.ndarray[Any, np.dtype[np.uint8]]


class InjectedText(NamedTuple):
    """The text of a special token inside a caller's field: the field, and the tokens that cover it."""

    message: int
    """-1 for tools and documents."""
    path: Path
    text: str
    start: int
    end: int
    """The position after the last of its tokens."""


class Attribution(NamedTuple):
    """The attribution of the tokens of a text. Empty if a custom tokenizer provides no offsets."""

    runs: tuple[TokenRun, ...] = ()
    straddling: tuple[int, ...] = ()
    """The indices of tokens across a border of sampled text."""
    injected: Sequence[InjectedText] = ()
    tool_names: Sequence[str | None] = ()
    """The name of the tool of each message that is a result, None for other messages."""
    lists_content: bool = True
    """False if `RenderedTokens.is_content` is empty, as in release 0.1 for a custom tokenizer without offsets."""


def expand_runs(runs: tuple[TokenRun, ...], column: int) -> list[Any]:
    """Return a list with an item of each run for each of its tokens."""
    return untrack(expand_in_python(runs, column) if native is None else native.expand(runs, column))


def expand_in_python(runs: tuple[TokenRun, ...], column: int) -> list[Any]:
    """Return the same as `expand_runs`."""
    values: list[Any] = []
    for run in runs:
        values += [run[column]] * (run.end - len(values))
    return values


@dataclass
class PlaceholderRange:
    """The placeholder tokens of an image, a video or audio: `length` tokens from `offset` on."""

    offset: int
    length: int


@dataclass
class MultiModalData:
    """The input of an engine besides the tokens, by modality: hashes, placeholders and processed items."""

    mm_hashes: dict[str, list[str]] = field(default_factory=dict)
    mm_placeholders: dict[str, list[PlaceholderRange]] = field(default_factory=dict)
    mm_items: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return True if there are no hashes, no placeholders and no items."""
        return not (self.mm_hashes or self.mm_placeholders or self.mm_items)

    def copy(self) -> Self:
        """Return a copy that shares the values of the processed items, such as tensors, and nothing else."""
        copied: dict[str, Any] = {
            name: {modality: list(map(copy.copy, values)) for modality, values in getattr(self, name).items()}
            for name in ("mm_hashes", "mm_placeholders", "mm_items")
        }
        return replace(self, **copied)


@dataclass
class RenderedTokens:
    """The token ids of a conversation, with the attribution of each token.

    Any subset of the fields may be passed. The result of a renderer stores its ids in an array and its attribution as
    runs of tokens. Each list is built on first access and is the same object from then on.

    Once built, a list takes precedence: if it is changed or replaced, all methods and training samples follow the
    lists. They treat an attribution list that is not as long as `token_ids` as not given. Without any ids, the length
    of `message_indices` counts.

    >>> rendered = RenderedTokens(token_ids=[5, 6, 7], message_indices=[-1, 0, 0], message_roles=["user"])
    >>> rendered.message_token_spans(), rendered.sampled_mask
    ([(1, 3)], [])
    """

    token_ids: list[int] = field(default_factory=list)
    message_indices: list[int] = field(default_factory=list)
    """The message of each token. -1 for tokens of no message."""
    sampled_mask: list[bool] = field(default_factory=list)
    """Whether the model samples the token."""
    is_content: list[bool] = field(default_factory=list)
    """Whether the token is part of a message's body. In an assistant message: whether it is sampled, or is text of the
    message that the template writes after the turn. Empty for a custom tokenizer without offsets: `runs` has it."""
    message_roles: list[str] = field(default_factory=list)
    message_tool_names: list[str | None] = field(default_factory=list)
    multi_modal_data: MultiModalData | None = None
    channels: list[Channel] = field(default_factory=list)
    """The channel of each token: content, reasoning, tool name, scaffold, ..."""
    injected: list[InjectedText] = field(default_factory=list)
    """Texts of special tokens in the bodies, in order. `content_tokens` decides how they are encoded."""
    losses: list[Loss] = field(default_factory=list, compare=False)
    """The parts of the input that the chat template did not write, in order: tools first, then messages.

    They are computed on first access or when the tokens are pickled. Comparisons ignore them."""

    @classmethod
    def of_encoded(
        cls,
        ids: array[int],
        attribute: Callable[[], Attribution],
        *,
        message_roles: list[str],
        decode: Decode | None = None,
        find_losses: Callable[[], list[Loss]] = list,
    ) -> RenderedTokens:
        """Create an instance from ids, which must not change later, and functions that return attribution and losses.

        A function is called when its result is first needed.
        """
        tokens = cls.__new__(cls)
        tokens.__dict__.update(
            _ids=ids,
            _attribute=attribute,
            _decode=decode,
            _find_losses=find_losses,
            message_roles=message_roles,
            multi_modal_data=None,
        )
        return tokens

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that are not set.
        values = self.__dict__
        if name not in _BUILT or "_ids" not in values:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        # Another thread may have built it first: all have to get the same object.
        built = values.setdefault(name, self._build(name))
        if name == "_attribution":
            # The function holds the conversation, its text and its trace.
            values.pop("_attribute", None)
        elif name == "losses":
            values.pop("_find_losses", None)
        return built

    def _build(self, name: str) -> Any:
        """Return an attribute from the stored ids or the attribution."""
        if name == "token_ids":
            return untrack(unpack_ids(self._ids))
        if name == "_attribution":
            attribute: Callable[[], Attribution] | None = self.__dict__.get("_attribute")
            # None if another thread has just built it.
            return self.__dict__["_attribution"] if attribute is None else attribute()
        if name == "losses":
            find_losses: Callable[[], list[Loss]] | None = self.__dict__.get("_find_losses")
            return self.__dict__["losses"] if find_losses is None else find_losses()
        if name == "injected":
            return list(self._attribution.injected)
        if name == "message_tool_names":
            return list(self._attribution.tool_names)
        if name == "is_content" and not self._attribution.lists_content:
            return []
        return expand_runs(self._attribution.runs, _COLUMN_NUMBERS[name])

    def _is_unchanged(self) -> bool:
        """Return True if this is the result of a renderer, and every list that was built still has its first values."""
        values = self.__dict__
        if "_ids" not in values or ("token_ids" in values and not equals_ids(values["token_ids"], self._ids)):
            return False
        return all(values[name] == self._build(name) for name in _COLUMNS if name in values and name != "token_ids")

    def known_lists(self) -> frozenset[str]:
        """Return the names of the attribution lists that are given: those with one entry per token.

        >>> sorted(RenderedTokens(token_ids=[5], channels=[Channel.CONTENT], is_content=[True]).known_lists())
        ['channels', 'is_content']
        """
        if self._is_unchanged():
            return frozenset(_UNKNOWN if self._attribution.runs or not self._ids else ())
        count = len(self.token_ids) or len(self.message_indices)
        return frozenset(name for name in _UNKNOWN if len(getattr(self, name)) == count)

    @property
    def runs(self) -> tuple[TokenRun, ...]:
        """The attribution as runs of tokens: those of the renderer, or of the lists if these were changed."""
        if self._is_unchanged() and self._attribution.runs:
            rendered: tuple[TokenRun, ...] = self._attribution.runs
            return rendered
        known, count = self.known_lists(), len(self.token_ids) or len(self.message_indices)
        lists = (getattr(self, name) if name in known else [_UNKNOWN[name]] * count for name in _UNKNOWN)
        runs, end = [], 0
        for row, same in itertools.groupby(zip(*lists, strict=True)):
            end += sum(1 for _ in same)
            runs.append(TokenRun(end, *row))
        return tuple(runs)

    def _located_runs(self) -> Iterator[tuple[int, TokenRun]]:
        """Yield each run after the position of its first token."""
        runs = self.runs
        return zip([0, *(run.end for run in runs)], runs, strict=False)

    def arrays(self, *, copy: bool = True) -> TokenArrays:
        """Return ids and attribution as numpy arrays: ids as int64, all of them writable.

        With `copy=False` all arrays are read-only, and the ids are a view of the stored ones as uint32.

        Raises:
            ImportError: numpy is not installed.
        """
        np = import_numpy()
        runs = self.runs
        stored = self._ids if self._is_unchanged() else self.token_ids
        sizes = np.diff([0, *(run.end for run in runs)])
        messages, channels, sampled, content = zip(*(run[1:] for run in runs), strict=True) if runs else [()] * 4
        numbers = [_CHANNEL_NUMBERS[channel] for channel in channels]
        arrays = TokenArrays(
            token_ids=np.array(stored, dtype=np.int64) if copy else np.asarray(stored, dtype=np.uint32),
            message_indices=np.repeat(np.array(messages, dtype=np.int32), sizes),
            sampled_mask=np.repeat(np.array(sampled, dtype=np.bool_), sizes),
            is_content=np.repeat(np.array(content, dtype=np.bool_), sizes),
            channels=np.repeat(np.array(numbers, dtype=np.uint8), sizes),
        )
        for values in arrays:
            values.flags.writeable = copy
        return arrays

    def explain(self, decode: Decode | None = None) -> None:
        """Print the tokens with their messages and channels. Sampled tokens are marked.

        `decode` turns ids into text. The result of a renderer has one already; its copies and pickles do not.

        Raises:
            TypeError: `decode` is missing.
        """
        decode = decode or self.__dict__.get("_decode")
        if decode is None:
            raise TypeError("these tokens have no tokenizer. Pass its decode method as decode=")
        print("\n".join(self.explanation(decode, colours=sys.stdout.isatty())))  # noqa: T201

    def explanation(self, decode: Decode, *, colours: bool = False) -> list[str]:
        """Return a line per run of tokens: positions, message, channel and text.

        Sampled runs have an asterisk, and are bold with `colours`.

        >>> tokens = RenderedTokens([72, 105], message_indices=[0, 0], message_roles=["user"])
        >>> tokens.explanation(lambda ids: "".join(map(chr, ids)))
        ["0-1  0 user  scaffold    'Hi'"]
        """
        roles, located = dict(enumerate(self.message_roles)), list(self._located_runs())
        rows = [
            (
                f"{start}-{run.end - 1}" if run.end - start > 1 else str(start),
                f"{run.message} {roles.get(run.message, '?')}" if run.message >= 0 else "-",
                str(run.channel),
                f"{'*' if run.sampled else ' '} {decode(self.token_ids[start : run.end])!r}",
            )
            for start, run in located
        ]
        pairs = zip(align_columns(rows), located, strict=True)
        return [line.join(_BOLD) if colours and run.sampled else line for line, (_, run) in pairs]

    def __getstate__(self) -> dict[str, Any]:
        if "_ids" in self.__dict__:
            # The functions that compute them are not pickled.
            _ = self._attribution, self.injected, self.losses, self.message_tool_names
        # Unchanged lists are built again from the ids and the runs.
        left_out = {"_decode", "_attribute", "_find_losses", *(_COLUMNS if self._is_unchanged() else ())}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def straddling_tokens(self) -> list[int]:
        """Return the positions of tokens that are only partly sampled: a model might not emit them.

        Each is sampled, and is attributed by its first sampled character.

        Raises:
            TypeError: This is not the unchanged result of a renderer, or a copy or pickle of one.
        """
        if not self._is_unchanged():
            raise TypeError("straddling tokens are known only for an unmodified render result")
        return list(self._attribution.straddling)

    def tokens_per_message(self, n_messages: int | None = None, *, sampled_only: bool = False) -> list[int]:
        """Return the number of tokens of each message, of the first `n_messages` or of all."""
        counts: Counter[int] = Counter()
        for start, run in self._located_runs():
            counts[run.message] += run.end - start if run.sampled or not sampled_only else 0
        return [counts[index] for index in range(len(self.message_roles[:n_messages]))]

    def message_token_spans(self) -> list[tuple[int, int] | None]:
        """Return the span of each message: its first token and the position after its last. None if it has no token."""
        spans: dict[int, tuple[int, int]] = {}
        for start, run in self._located_runs():
            spans[run.message] = (spans.get(run.message, (start, run.end))[0], run.end)
        return [spans.get(index) for index in range(len(self.message_roles) or max(spans, default=-1) + 1)]

    def role_token_spans(self) -> dict[str, list[tuple[int, int]]]:
        """Return the spans of all messages with tokens, by role."""
        spans: dict[str, list[tuple[int, int]]] = {role: [] for role in self.message_roles}
        for role, span in zip(self.message_roles, self.message_token_spans(), strict=False):
            if span is not None:
                spans[role].append(span)
        return spans

    def tokens_by_role(self, *, sampled_only: bool = False) -> dict[str, int]:
        """Return the number of tokens of the messages of each role."""
        totals = dict.fromkeys(self.message_roles, 0)
        for role, count in zip(self.message_roles, self.tokens_per_message(sampled_only=sampled_only), strict=True):
            totals[role] += count
        return totals

    def content_token_spans_by_role(self) -> dict[str, list[tuple[int, int]]]:
        """Return the spans of content within each message, by role. Empty if `is_content` is not given."""
        if "is_content" not in self.known_lists() or not self.token_ids:
            return {}
        content = expand_runs(self.runs, _COLUMN_NUMBERS["is_content"])
        spans: dict[str, list[tuple[int, int]]] = {role: [] for role in self.message_roles}
        for role, span in zip(self.message_roles, self.message_token_spans(), strict=False):
            start, end = span or (0, 0)
            for is_content, same in itertools.groupby(content[start:end]):
                end = start + sum(1 for _ in same)
                if is_content:
                    spans[role].append((start, end))
                start = end
        return spans

    def content_mask_for_roles(self, roles: Collection[str]) -> list[bool]:
        """Return a mask of the tokens that are content of a message with one of the roles."""
        wanted = {index for index, role in enumerate(self.message_roles) if role in roles}
        mask: list[bool] = []
        for run in self.runs:
            mask += [run.content and run.message in wanted] * (run.end - len(mask))
        return mask[: len(self.token_ids)]
