"""How a tokenizer splits ASCII text into words, with patterns of Python's own `re`.

The Rust library's patterns have Unicode properties, such as all letters, which `re` lacks. Among the 128 characters of
ASCII each is a set, and a pattern can be written anew with these sets. What is not understood is not translated.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

__all__ = ["Split", "ascii_pattern", "ascii_split"]

Split = Callable[[str], list[str]]
"""Gives the words of a text that is ASCII."""

_ASCII = frozenset(map(chr, range(128)))
_SPACES = frozenset("\t\n\v\f\r ")
_DIGITS = frozenset("0123456789")
_ESCAPED = {"s": _SPACES, "S": _ASCII - _SPACES, "d": _DIGITS, "D": _ASCII - _DIGITS}
_ESCAPED |= {letter: frozenset(control) for letter, control in zip("tnvfr", "\t\n\v\f\r", strict=True)}
_PROPERTY = re.compile(r"\\p\{(\w+)\}")
_CATEGORY = re.compile(r"[LMNPSZC][a-z]?\Z")
_SCRIPTS_WITHOUT_ASCII = frozenset({"Han", "Hiragana", "Katakana", "Hangul"})
_GROUP = re.compile(r"\((?:\?(?::|!|=|i:)|(?!\?))")
_REPEAT = re.compile(r"[*+?][+?]?|\{\d+(?:,\d*)?\}(?![+?])")


class _UnknownError(ValueError):
    """A part of a pattern is not understood."""


def ascii_split(pre_tokenizer: dict[str, Any] | None) -> Split | None:
    """Returns how a pre-tokenizer, given as its JSON, splits ASCII text; None where that is not understood.

    >>> letters = {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": False}
    >>> to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    >>> split = ascii_split({"type": "Sequence", "pretokenizers": [letters, to_bytes]})
    >>> split("to be")
    ['to', ' ', 'be']
    """
    match pre_tokenizer:
        case {
            "type": "Sequence",
            "pretokenizers": [*splits, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}],
        } if splits:
            try:
                return _composed([_split(one) for one in splits])
            except _UnknownError:
                return None
    return None


def _composed(splits: list[Split]) -> Split:
    if len(splits) == 1:
        return splits[0]

    def split(text: str) -> list[str]:
        words = [text]
        for one in splits:
            words = list(itertools.chain.from_iterable(map(one, words)))
        return words

    return split


def _split(json: Any) -> Split:
    match json:
        case {"type": "Split", "pattern": {"Regex": str(source)}, "behavior": "Isolated", "invert": False}:
            only_matches = False
        case {"type": "Split", "pattern": {"Regex": str(source)}, "behavior": "Removed", "invert": True}:
            only_matches = True
        case _:
            raise _UnknownError
    pattern = ascii_pattern(source)
    if pattern is None:
        raise _UnknownError
    if _is_total(re.compile(pattern)):
        return re.compile(pattern).findall
    if only_matches:
        raise _UnknownError
    # What is between two matches is a word too.
    parts = re.compile(f"({pattern})").split
    return lambda text: list(filter(None, parts(text)))


def _is_total(pattern: re.Pattern[str]) -> bool:
    """Says whether a pattern matches something wherever it is tried, so that its matches are all of a text.

    Raises:
        _UnknownError: It matches nothing at all somewhere, where it is not said what becomes of it.
    """
    found = [pattern.match(text) for text in ("", *_ASCII, *map("".join, itertools.product(_ASCII, repeat=2)))]
    if any(one is not None and not one[0] for one in found):
        raise _UnknownError
    return None not in found[1:]


def ascii_pattern(source: str) -> str | None:
    """Returns a pattern of the Rust library as one of Python's for ASCII text; None where it is not understood.

    >>> print(ascii_pattern(r"\\p{N}{1,3}|[\\p{Lu}\\p{Han}]+"))
    [\\x30-\\x39]{1,3}|[\\x41-\\x5a]+
    """
    written, at = [], 0
    # For each group that is open, and for all of the pattern, whether upper and lower case are alike.
    alike = [False]
    try:
        while at < len(source):
            if found := _GROUP.match(source, at):
                alike.append(alike[-1] or found[0] == "(?i:")
                # Sets of both cases are found faster than with the flag.
                written.append("(?:" if found[0] in ("(", "(?i:") else found[0])
                at = found.end()
            elif found := _REPEAT.match(source, at):
                written.append(found[0])
                at = found.end()
            elif source[at] in "|)":
                written.append(source[at])
                alike = alike[:-1] if source[at] == ")" else alike
                at += 1
            elif source[at] in "(.^${}*+?":
                return None
            else:
                characters, at = _one(source, at)
                written.append(_written(_both_cases(characters) if alike[-1] else characters))
    except (_UnknownError, IndexError):
        return None
    return "".join(written)


def _both_cases(characters: frozenset[str]) -> frozenset[str]:
    return frozenset(map(str.lower, characters)) | frozenset(map(str.upper, characters))


def _one(source: str, at: int) -> tuple[frozenset[str], int]:
    """Returns the characters that a class, an escape or a letter stands for, and where it ends."""
    if source[at] == "[":
        return _class(source, at + 1)
    if source[at] != "\\":
        return _ASCII & {source[at]}, at + 1
    found = _PROPERTY.match(source, at)
    if found is not None:
        return _with_property(found[1]), found.end()
    letter = source[at + 1]
    if letter in _ESCAPED:
        return _ESCAPED[letter], at + 2
    if letter.isalnum():
        raise _UnknownError
    return _ASCII & {letter}, at + 2


def _class(source: str, at: int) -> tuple[frozenset[str], int]:
    """Returns the characters of a class whose bracket is open, and where it ends."""
    negated = source[at] == "^"
    at += negated
    characters: frozenset[str] = frozenset()
    while source[at] != "]":
        if source.startswith("&&", at):
            others, at = _class(source, at + 2)
            characters &= others
            break
        some, end = _one(source, at)
        if source[end] == "-" and source[end + 1] != "]":
            last = source[end + 1]
            if source[at] in "[\\" or last in "[\\":
                raise _UnknownError
            some, end = _ASCII & set(map(chr, range(ord(source[at]), ord(last) + 1))), end + 2
        characters |= some
        at = end
    else:
        at += 1
    return (_ASCII - characters if negated else characters), at


def _with_property(name: str) -> frozenset[str]:
    if name in _SCRIPTS_WITHOUT_ASCII:
        return frozenset()
    if not _CATEGORY.match(name):
        raise _UnknownError
    return frozenset(character for character in _ASCII if unicodedata.category(character).startswith(name))


def _written(characters: frozenset[str]) -> str:
    """Writes a set of characters as a class; no ASCII character is in that of an empty set."""
    codes = sorted(map(ord, characters))
    if not codes:
        return r"[^\x00-\x7f]"
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    ranges = (
        f"\\x{start:02x}" + (f"-\\x{end:02x}" if start < end else "") for start, end in zip(starts, ends, strict=True)
    )
    return f"[{''.join(ranges)}]"
