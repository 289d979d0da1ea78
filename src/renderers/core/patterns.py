"""A pattern that finds any of many texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

__all__ = ["compile_alternation"]


@functools.lru_cache(maxsize=64)
def compile_alternation(texts: frozenset[str]) -> re.Pattern[str] | None:
    """Returns a pattern that finds any of some texts, the longest where several begin; None where there are none.

    >>> compile_alternation(frozenset({"<a>", "<a><b>"})).findall("<a><b> <a>")
    ['<a><b>', '<a>']
    """
    return re.compile(_alternatives(texts)) if texts else None


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
