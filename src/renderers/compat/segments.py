"""Encode text segments with content attribution, for custom renderers, as in release 0.1."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from renderers.core.protocols import Tokenizer


class AttributedTextSegments(list[tuple[int, bool]]):
    """Pairs of a token id and a content flag. Without `has_content_attribution`, the flags are meaningless."""

    def __init__(self, values: Iterable[tuple[int, bool]] = (), *, has_content_attribution: bool) -> None:
        super().__init__(values)
        self.has_content_attribution = has_content_attribution


def attribute_text_segments(
    tokenizer: Tokenizer, segments: Iterable[tuple[str, bool]], *, overlap_is_content: bool = False
) -> AttributedTextSegments:
    """Encode text segments as one text. Each token gets the content flag of the segment it starts in.

    With `overlap_is_content`, a token is content if any of its characters is. If the tokenizer
    provides no offsets, no token is content and `has_content_attribution` is False.

    >>> from renderers import EXAMPLE_MODEL, load_tokenizer
    >>> attribute_text_segments(load_tokenizer(EXAMPLE_MODEL), [("<|turn|>", False), ("Hi", True)])
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


def _locate(tokenizer: Any, text: str) -> Sequence[tuple[int, tuple[int, int]]] | None:
    """Return the token ids of a text with their character offsets. None if the tokenizer has no offsets."""
    try:
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
    except (KeyError, NotImplementedError, TypeError, ValueError):
        # A tokenizer without offsets raises one of these, and so does one that is not callable.
        return None
    if offsets is None or len(offsets) != len(ids):
        return None
    return list(zip(ids, offsets, strict=True))
