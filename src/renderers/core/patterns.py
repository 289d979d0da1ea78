"""Compile many texts to one regular expression."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

__all__ = ["compile_alternation"]


@functools.lru_cache(maxsize=64)
def compile_alternation(texts: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches any of the texts, the longest first. None if there are no texts.

    >>> compile_alternation(frozenset({"<a>", "<a><b>"})).findall("<a><b> <a>")
    ['<a><b>', '<a>']
    """
    return re.compile(_alternatives(texts)) if texts else None


def _alternatives(texts: Iterable[str]) -> str:
    """Return an expression that shares common prefixes. `re` would try a flat list of thousands one by one."""
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
