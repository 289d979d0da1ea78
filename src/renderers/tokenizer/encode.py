"""Text to token ids, piece by piece."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from renderers.tokenizer.adopt import ForeignTokenizer
from renderers.tokenizer.loaded import LoadedTokenizer

__all__ = ["encode_text"]


def encode_text(tokenizer: LoadedTokenizer | ForeignTokenizer, text: str) -> list[int]:
    """Returns the ids of a rendered text, which has all its control tokens already: nothing is added.

    Where the tokenizer has hard walls, what lies between them is encoded as pieces, all in one call that
    other threads can run beside. Else the whole text is encoded at once. The ids are the same.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> tokenizer = load_tokenizer(EMBEDDED)
    >>> encode_text(tokenizer, "<|turn|>user") == tokenizer.encode("<|turn|>user", add_special_tokens=False)
    True
    """
    if isinstance(tokenizer, ForeignTokenizer) or not tokenizer.wall_ids:
        return tokenizer.encode(text, add_special_tokens=False)
    # Texts of walls are at the odd places.
    parts = _pattern(tokenizer.wall_texts).split(text)
    ids: list[int] = []
    encoded = iter(tokenizer.encode_pieces([piece for piece in parts[::2] if piece]))
    for at, part in enumerate(parts):
        if at % 2:
            ids.append(tokenizer.added_tokens[part])
        elif part:
            ids.extend(next(encoded))
    return ids


@functools.lru_cache(maxsize=32)
def _pattern(texts: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern that finds any of the texts, the longest one where several begin at the same place."""
    return re.compile(f"({_alternatives(texts)})")


def _alternatives(texts: Iterable[str]) -> str:
    """Writes texts as a tree of their beginnings: a flat list of thousands would be tried one by one."""
    branches: dict[str, list[str]] = {}
    ends = False
    for text in texts:
        if text:
            branches.setdefault(text[0], []).append(text[1:])
        else:
            ends = True
    written = [re.escape(first) + _alternatives(rests) for first, rests in sorted(branches.items())]
    if not written:
        return ""
    if len(written) == 1 and not ends:
        return written[0]
    return f"(?:{'|'.join(written)})" + ("?" if ends else "")
