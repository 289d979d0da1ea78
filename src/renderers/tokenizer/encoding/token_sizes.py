"""The number of bytes of each token: summed over the ids of a text, they give the place of each token."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from renderers.core.native import native
from renderers.tokenizer.engines.huggingface import component_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SPACE = "▁"
_SPACES_REPLACED = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
_SPLIT_AT_SPACES = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


class TokenSizes:
    """The bytes of the text of each token by id, known from the start, or found when an id is first used.

    >>> sizes = TokenSizes({7: "seven"})
    >>> sizes[7], list(sizes.table)
    (5, [0, 0, 0, 0, 0, 0, 0, 6])
    """

    def __init__(self, texts: Mapping[int, str], ends: memoryview[int] | array[int] | None = None) -> None:
        """Take the byte text of each token by id, and the ends of all texts in their order if these are known."""
        self._texts = texts
        self.table = array("I", b"" if ends is None else entries_of(ends))
        """The size of each token plus 1 by id; 0 if it is not known yet."""

    def __getitem__(self, number: int) -> int:
        table = self.table
        # Another thread may replace the table, so the size is not read from it after it was added.
        return (table[number] if number < len(table) and table[number] else self.learn([number])[number]) - 1

    def learn(self, ids: Iterable[int]) -> dict[int, int]:
        """Add the sizes of some ids to the table, and return its entries for them."""
        sizes = {number: len(self._texts[number]) + 1 for number in set(ids)}
        table = self.table
        missing = max(sizes, default=-1) + 1 - len(table)
        if missing > 0:
            # A new array: other threads may be reading this one. It grows by half, so that few copies are made. Sizes
            # that other threads add to the old one meanwhile are found again when they are next used.
            table = table + array("I", bytes(4 * max(missing, len(table) // 2)))
            self.table = table
        for number, size in sizes.items():
            table[number] = size
        return sizes


def entries_in_python(ends: memoryview[int] | array[int], /) -> bytes:
    """Return the table of `TokenSizes` for texts with the given ends, both as unsigned integers of 32 bits.

    >>> list(memoryview(entries_in_python(array("I", [2, 2, 7]))).cast("I"))
    [3, 1, 6]
    """
    # Raises if they are not in order.
    sizes = array("I", [end - start for start, end in itertools.pairwise((0, *ends))])
    return array("I", [size + 1 for size in sizes]).tobytes()


entries_of = entries_in_python if native is None else native.size_entries


def replaces_only_spaces(backend: Tokenizer) -> bool:
    """Return True for a vocabulary like that of Gemma: it writes spaces as U+2581, changes no other character, and
    has a token for each byte. The sizes of the tokens of a text without U+2581 then add up to its size.
    """
    from tokenizers import models

    return (
        isinstance(backend.model, models.BPE)
        and bool(backend.model.byte_fallback)
        and component_json(backend.normalizer) == _SPACES_REPLACED
        and component_json(backend.pre_tokenizer) in (None, _SPLIT_AT_SPACES)
        and None not in (backend.token_to_id(f"<0x{byte:02X}>") for byte in range(256))
    )
