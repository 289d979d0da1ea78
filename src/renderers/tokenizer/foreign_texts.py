"""`ForeignTexts`: the texts of the tokens of a caller's own tokenizer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from renderers.core import protocols
from renderers.tokenizer.encoding.byte_text import ANCHOR, NORMAL_BYTES, UNKNOWN, from_byte_text, to_byte_text
from renderers.tokenizer.encoding.partial_characters import HALF, find_bytes

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
_CACHED_TEXTS = 2**16


class ForeignTexts(dict[int, str]):
    """The byte text of each id of a caller's own tokenizer, decoded when it is first needed.

    Ids that it cannot decode on their own are U+FFFD. Two generations of texts are kept: any number may be an id.
    """

    def __init__(self, tokenizer: protocols.Tokenizer) -> None:
        super().__init__()
        self._older: dict[int, str] = {}
        self._tokenizer = tokenizer
        self._anchor = tokenizer.encode(ANCHOR, add_special_tokens=False)
        self._anchor_text = tokenizer.decode(self._anchor)

    def text_of(self, ids: Sequence[int]) -> str:
        return from_byte_text(self[ids[0]] if len(ids) == 1 else self._decoded(ids))

    def __missing__(self, number: int) -> str:
        text = self._older.get(number)
        if text is None:
            text = self._decoded([number])
            if HALF in (decoded := from_byte_text(text)):
                text = self._find_half(number, decoded) or text
        if len(self) >= _CACHED_TEXTS:
            self._older = dict(self)
            self.clear()
        self[number] = text
        return text

    def _find_half(self, number: int, text: str) -> str | None:
        """Return the byte text of a token that holds part of a character; None if it is not found."""
        data = attempt(
            lambda: find_bytes(number, text, self._tokenizer.convert_tokens_to_ids),
            self._tokenizer,
            f"the lookup of the bytes of {number}",
        )
        return None if data is None else data.translate(NORMAL_BYTES).decode("latin-1")

    def _decoded(self, ids: Sequence[int]) -> str:
        def decoded() -> str:
            return to_byte_text(self._tokenizer.decode([*self._anchor, *ids]).removeprefix(self._anchor_text))

        text = attempt(decoded, self._tokenizer, f"decode({ids})")
        return UNKNOWN if text is None else text


def attempt(work: Callable[[], Result], wrapped: object, call: str) -> Result | None:
    """Return the result of a call of a caller's class; None, with a record in the log, if it raises.

    Classes raise different errors for an unknown id, half a character, or a text that is not a token.
    """
    try:
        return work()
    except MemoryError:
        raise
    except Exception as error:
        logger.debug("%s: %s raised %s: %s", type(wrapped).__qualname__, call, type(error).__name__, error)
        return None
