"""Translate the split patterns of tokenizers to Python's `re`, which lacks Unicode properties, for ASCII text."""

from __future__ import annotations

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from renderers.core.lazy import lazy_pattern

Split = Callable[[str], list[str]]
"""A function that splits an ASCII text into words."""

_ASCII = frozenset(map(chr, range(128)))
_SPACES = frozenset("\t\n\v\f\r ")
_DIGITS = frozenset("0123456789")
_ESCAPED = {"s": _SPACES, "S": _ASCII - _SPACES, "d": _DIGITS, "D": _ASCII - _DIGITS}
_ESCAPED |= {letter: frozenset(control) for letter, control in zip("tnvfr", "\t\n\v\f\r", strict=True)}
_PROPERTY = lazy_pattern(r"\\p\{(\w+)\}")
_CATEGORY = lazy_pattern(r"[LMNPSZC][a-z]?\Z")
_SCRIPTS_WITHOUT_ASCII = frozenset({"Han", "Hiragana", "Katakana", "Hangul"})
_TO_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
_LETTER = lazy_pattern("[A-Za-z]")
_LETTERS_OF_ANY_CASE = lazy_pattern(r"\(\?i:([A-Za-z'|]*)\)")
_SYNTAX = lazy_pattern(r"\((?:\?(?:[:!=]|i:)|(?!\?))|[|)]|[*+?][+?]?|\{\d+(?:,\d*)?\}(?![+?])")
"""Groups, alternatives and quantifiers, which mean the same in `re`."""


class _UnsupportedError(ValueError):
    """A pattern is not supported."""


def ascii_split(pre_tokenizer: dict[str, Any] | None) -> Split | None:
    """Return the split of a pre-tokenizer for ASCII text, from its JSON; None if it is not supported.

    >>> letters = {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": False}
    >>> to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    >>> split = ascii_split({"type": "Sequence", "pretokenizers": [letters, to_bytes]})
    >>> split("to be")
    ['to', ' ', 'be']
    """
    match pre_tokenizer:
        case {"pretokenizers": [*splits, {**last}]} if splits and last.items() >= _TO_BYTES.items():
            with contextlib.suppress(_UnsupportedError):
                return _composed(*map(_split, splits))
    return None


def _composed(first: Split, *others: Split) -> Split:
    if not others:
        return first
    rest = _composed(*others)
    return lambda text: [word for part in first(text) for word in rest(part)]


def _split(json: Any) -> Split:
    if json["type"] != "Split" or (json["behavior"], json["invert"]) not in (("Isolated", False), ("Removed", True)):
        raise _UnsupportedError
    pattern = ascii_pattern(json["pattern"].get("Regex", ""))
    if pattern is None:
        raise _UnsupportedError
    if _is_total(re.compile(pattern)):
        return re.compile(pattern).findall
    if json["invert"]:
        raise _UnsupportedError
    # The text between two matches is a word too.
    parts = re.compile(f"({pattern})").split
    return lambda text: list(filter(None, parts(text)))


def _is_total(pattern: re.Pattern[str]) -> bool:
    """Return True if a pattern matches at every position. One that matches the empty text is not supported."""
    matches = [pattern.match(text) for text in ("", *_ASCII, *map("".join, itertools.product(_ASCII, repeat=2)))]
    if any(match is not None and not match[0] for match in matches):
        raise _UnsupportedError
    return None not in matches[1:]


def ascii_pattern(source: str) -> str | None:
    """Translate a pattern of the Rust library to Python's `re` for ASCII text; None if it is not supported.

    >>> print(ascii_pattern(r"\\p{Sc}{1,3}|[\\p{Pc}\\p{Han}~]+"))
    [\\x24]{1,3}|[\\x5f\\x7e]+
    """
    # Sets with both cases match faster than the flag.
    source = _LETTERS_OF_ANY_CASE.sub(lambda group: f"(?:{_LETTER.sub(_both_cases, group[1])})", source)
    parts, at = [], 0
    try:
        while at < len(source):
            if match := _SYNTAX.match(source, at):
                # A group that captures would change the result of `findall`.
                parts.append("(?:" if match[0] == "(" else match[0])
                at = match.end()
            elif source[at] in "(.^${}*+?":
                return None
            else:
                characters, at = _character_set(source, at)
                parts.append(_as_class(characters))
    except (_UnsupportedError, IndexError):
        return None
    return "".join(parts)


def _both_cases(letter: re.Match[str]) -> str:
    return f"[{letter[0].lower()}{letter[0].upper()}]"


def _character_set(source: str, at: int) -> tuple[frozenset[str], int]:
    """Return the characters that match a class, an escape or a literal, and its end."""
    if source[at] == "[":
        return _class(source, at + 1)
    if source[at] != "\\":
        return _ASCII & {source[at]}, at + 1
    if match := _PROPERTY.match(source, at):
        return _with_property(match[1]), match.end()
    letter = source[at + 1]
    if letter in _ESCAPED:
        return _ESCAPED[letter], at + 2
    if letter.isalnum():
        raise _UnsupportedError
    return _ASCII & {letter}, at + 2


def _class(source: str, at: int) -> tuple[frozenset[str], int]:
    """Return the characters of a class after its opening bracket, and its end."""
    negated = source[at] == "^"
    at += negated
    characters: frozenset[str] = frozenset()
    while source[at] != "]":
        if source.startswith("&&", at):
            others, at = _class(source, at + 2)
            characters &= others
            break
        members, end = _character_set(source, at)
        if source[end] == "-" and source[end + 1] != "]":
            last = source[end + 1]
            if source[at] in "[\\" or last in "[\\":
                raise _UnsupportedError
            members, end = _ASCII & set(map(chr, range(ord(source[at]), ord(last) + 1))), end + 2
        characters |= members
        at = end
    else:
        at += 1
    return (_ASCII - characters if negated else characters), at


def _with_property(name: str) -> frozenset[str]:
    if name in _SCRIPTS_WITHOUT_ASCII:
        return frozenset()
    if not _CATEGORY.match(name):
        raise _UnsupportedError
    return frozenset(character for character in _ASCII if unicodedata.category(character).startswith(name))


def _as_class(characters: frozenset[str]) -> str:
    """Return a character class for a set; one that matches no ASCII character for the empty set."""
    codes = "".join(rf"\x{ord(character):02x}" for character in sorted(characters))
    return f"[{codes}]" if codes else r"[^\x00-\x7f]"
