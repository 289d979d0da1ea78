"""Text of which one knows what is content, to ids of which one knows it: for renderers that put their text together."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from renderers.core.protocols import OffsetTokenizer, Tokenizer

__all__ = ["AttributedTextSegments", "attribute_text_segments"]


class AttributedTextSegments(list[tuple[int, bool]]):
    """Ids, each with whether it is content; `has_content_attribution` says whether that is known at all."""

    def __init__(self, values: Iterable[tuple[int, bool]] = (), *, has_content_attribution: bool) -> None:
        super().__init__(values)
        self.has_content_attribution = has_content_attribution


def attribute_text_segments(
    tokenizer: Tokenizer, segments: Iterable[tuple[str, bool]], *, overlap_is_content: bool = False
) -> AttributedTextSegments:
    """Encodes texts as one, and says of each token whether it is content, as the text is in which it begins.

    With `overlap_is_content` a token is content if any of its characters is. A tokenizer that does not say
    where its tokens are in a text gives ids alone: none is content then, and `has_content_attribution` is False.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> attribute_text_segments(load_tokenizer(EMBEDDED), [("<|turn|>", False), ("Hi", True)])
    [(869, False), (39, True), (72, True)]
    """
    texts = [(text, bool(content)) for text, content in segments]
    joined = "".join(text for text, _ in texts)
    if not joined:
        return AttributedTextSegments(has_content_attribution=True)
    located = _locate(tokenizer, joined)
    if located is None:
        ids = tokenizer.encode(joined, add_special_tokens=False)
        return AttributedTextSegments(((token, False) for token in ids), has_content_attribution=False)
    flags = [content for _, content in texts]
    ends = list(itertools.accumulate(len(text) for text, _ in texts))

    def is_content(start: int, end: int) -> bool:
        first = min(bisect.bisect_right(ends, start), len(flags) - 1)
        last = bisect.bisect_left(ends, end, lo=first, hi=len(flags) - 1) if overlap_is_content else first
        return any(flags[first : last + 1])

    return AttributedTextSegments(
        ((token, is_content(start, end)) for token, (start, end) in located), has_content_attribution=True
    )


def _locate(tokenizer: Tokenizer, text: str) -> Sequence[tuple[int, tuple[int, int]]] | None:
    """Returns the ids of a text, each with its first character and the one after its last; None if it is not said."""
    if not isinstance(tokenizer, OffsetTokenizer):
        return None
    try:
        encoded: Any = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    except (KeyError, NotImplementedError, TypeError, ValueError):
        # So do tokenizers say that they cannot do it, those of transformers that are written in Python among them.
        return None
    if offsets is None or len(offsets) != len(ids):
        return None
    return list(zip(ids, offsets, strict=True))
