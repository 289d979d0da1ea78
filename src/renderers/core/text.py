"""Compare, quote, hash and match texts."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Sequence

LEXEME = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\w+|\s|.", re.DOTALL)
"""A unit of template text: a marker, a word, or a single character."""
_QUOTED = 60
"""How many characters of each end of a long text are quoted."""


def common_prefix_length(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the length of the common prefix of two texts or lists.

    >>> common_prefix_length("river", "rift")
    2
    """
    if isinstance(first, str) and isinstance(second, str):
        return _common_text_length(first, second)
    pairs = enumerate(zip(first, second, strict=False))
    return next((offset for offset, (a, b) in pairs if a != b), min(len(first), len(second)))


def _common_text_length(first: str, second: str) -> int:
    """Return the length of the common prefix of two texts, by comparing halves."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def first_difference(text: str, other: str) -> int:
    """Return the offset of the first lexeme of a text that is not in the other text at the same offset.

    >>> first_difference("a <think>", "a <tool>")
    2
    """
    common = common_prefix_length(text, other)
    # A space is a lexeme of its own wherever the search begins.
    start = max(text.rfind(" ", 0, common), 0)
    return next((lexeme.start() for lexeme in LEXEME.finditer(text, start) if lexeme.end() > common), len(text))


def quote_short(text: str) -> str:
    r"""Return a text in quotes. The middle of a long text is left out.

    >>> quote_short("a\n")
    "'a\\n'"
    """
    return repr(text if len(text) <= 2 * _QUOTED else f"{text[:_QUOTED]} ... {text[-_QUOTED:]}")


def digest_of(text: str) -> str:
    """Return 16 hex digits of the SHA-256 of a text.

    >>> digest_of("{{ messages }}")
    'f24189f08c85a1eb'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@functools.lru_cache(maxsize=64)
def compile_alternation(texts: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches any of the texts, the longest first. None if there are no texts.

    >>> compile_alternation(frozenset({"<a>", "<a><b>"})).findall("<a><b> <a>")
    ['<a><b>', '<a>']
    """
    return re.compile(_alternatives(texts, {})) if texts else None


def _alternatives(texts: frozenset[str], known: dict[frozenset[str], str]) -> str:
    """Return an expression that shares prefixes and suffixes. `re` would try a flat list of thousands one by one.

    A vocabulary may number thousands of unused tokens, with the same ends after each digit. So results are `known`.
    """
    result = known.get(texts)
    if result is not None:
        return result
    branches: dict[str, list[str]] = {}
    for text in texts:
        branches.setdefault(text[:1], []).append(text)
    optional = branches.pop("", None) is not None
    firsts: dict[str, list[str]] = {}
    for first, branch in sorted(branches.items()):
        if len(branch) == 1:
            rest = re.escape(branch[0][1:])
        else:
            # The first and the last text in sorted order share only the prefix that all share.
            shared = common_prefix_length(min(branch), max(branch))
            ends = frozenset([text[shared:] for text in branch])
            rest = re.escape(branch[0][1:shared]) + _alternatives(ends, known)
        firsts.setdefault(rest, []).append(re.escape(first))
    # Characters with the same rest are a set.
    patterns = [(first[0] if len(first) == 1 else f"[{''.join(first)}]") + rest for rest, first in firsts.items()]
    if len(patterns) == 1 and not optional:
        result = patterns[0]
    else:
        result = f"(?:{'|'.join(patterns)})" + "?" * optional if patterns else ""
    known[texts] = result
    return result


def describe_type(value: object) -> str:
    """Return the type of a value for an error message.

    >>> describe_type(3), describe_type("a"), describe_type(None), describe_type(str)
    ('an int', 'a str', 'None', 'the class str')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return "None" if value is None else f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def align_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a line per row of a table, with columns of equal width.

    >>> align_columns([("a", "b"), ("aaa", "bbb")])
    ['a    b', 'aaa  bbb']
    """
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
