"""Find the end of a turn's header: the text of the generation prompt, which the model does not sample."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from renderers.core.text import LEXEME
from renderers.probing.turn_format import TurnHeader

_SPACES = re.compile(r"\s*")
_WORD = re.compile(r"\w+")
_NAME_END = re.compile(r"[:|>\]]*\s*")
"""Punctuation and spaces after the name of a role."""


class TurnPlace(NamedTuple):
    """The positions of a turn in a text, in order."""

    previous: int
    """The end of the last body before the turn."""
    start: int
    """The start of the turn's own text."""
    body: int
    """The start of its first body; `end` if it has none."""
    end: int
    """The end of the turn's own text."""
    role: int = 0
    """The end of the role before the first body; 0 if the template writes the role as its own text, or not at all."""


def header_end(text: str, place: TurnPlace, headers: Sequence[TurnHeader]) -> int:
    """Return the end of a turn's header.

    The header is the text before the first body that a generation prompt after the same role contains. A turn of the
    history may have other spaces than the prompt, and may lack parts of it. If no prompt contains any of the text, the
    turn has no header. If there are no prompts to compare with, the header extends to the body.

    The name of the role before the first body is part of the header even if the prompt has another name for it.
    """
    end = _matched_end(text, place, headers)
    if end >= place.body or not headers:
        return end
    # Without a generation prompt the model has to write its role itself.
    has_prompt = any(header.generation_prompt for header in headers)
    role = max(place.role if has_prompt else 0, _other_name_end(text, end, place, headers))
    return _NAME_END.match(text, role, place.body).end() if role > end else end  # type: ignore[union-attr]


def _other_name_end(text: str, end: int, place: TurnPlace, headers: Sequence[TurnHeader]) -> int:
    """Return the end of the word at a position if the default prompt has another word in its place; 0 if not."""
    word = _WORD.match(text, end, place.body)
    before = _lexemes(text, place.previous, end)[-1:] if word else []
    if word is None or not before:
        return 0
    known, _ = _header_lexemes(headers[0].text)
    pairs = itertools.pairwise(known)
    return word.end() if any(pair[0] == before[0].text and _WORD.fullmatch(pair[1]) for pair in pairs) else 0


def _matched_end(text: str, place: TurnPlace, headers: Sequence[TurnHeader]) -> int:
    """Return the end of the text that a prompt contains."""
    for header in headers:
        end = place.previous + len(header.text)
        # Reasoning that the prompt opens may be part of the content.
        limit = place.end if header.is_default else place.body
        is_known = header.text or header.is_default
        if is_known and end <= limit and text.startswith(header.text, place.previous):
            return max(end, place.start)
    lexemes = _lexemes(text, place.previous, place.body)
    matches = [match for header in headers for match in _matches(lexemes, header, place)]
    if not matches:
        return place.start if headers else place.body
    best = max(matches, key=lambda match: match.rank)
    spaces = _SPACES.match(text, best.end, place.body)[0]  # type: ignore[index]
    # Other spaces than those of the prompt are in their place.
    size = len(best.spaces) if spaces.startswith(best.spaces) else len(spaces)
    return max(best.end + size, place.start)


class _Lexeme(NamedTuple):
    start: int
    end: int
    text: str


class _Match(NamedTuple):
    """Consecutive lexemes of a text that a header contains in the same order."""

    end: int
    spaces: str
    """The spaces after the last of them in the header."""
    rank: tuple[bool, bool, int]
    """The best match reaches the end of a header, of the default one if possible, and has the most characters."""


def _matches(lexemes: Sequence[_Lexeme], header: TurnHeader, place: TurnPlace) -> Iterator[_Match]:
    """Yield the longest match from each lexeme on, if it reaches the turn's own text."""
    known, spaces = _header_lexemes(header.text)
    for first, lexeme in enumerate(lexemes):
        at, count = -1, 0
        while first + count < len(lexemes) and lexemes[first + count].text in known[at + 1 :]:
            at = known.index(lexemes[first + count].text, at + 1)
            count += 1
        following = lexemes[first + count].start if first + count < len(lexemes) else place.body
        if not count or following < place.start:
            continue
        matched = lexemes[first : first + count]
        # Single characters are in many texts. Before the turn's own text they end the previous message.
        if lexeme.start > place.start and all(len(each.text) == 1 for each in matched):
            continue
        end = matched[-1].end
        is_complete = at + 1 == len(known) and (end < following or not spaces[at])
        size = sum(len(each.text) for each in matched)
        yield _Match(end, spaces[at], (is_complete, is_complete and header.is_default, size))


@functools.lru_cache(maxsize=256)
def _header_lexemes(text: str) -> tuple[list[str], list[str]]:
    """Return the lexemes of a header, and the spaces after each."""
    lexemes = _lexemes(text, 0, len(text))
    spaces = [_SPACES.match(text, lexeme.end)[0] for lexeme in lexemes]  # type: ignore[index]
    return [lexeme.text for lexeme in lexemes], spaces


def _lexemes(text: str, start: int, end: int) -> list[_Lexeme]:
    """Return the lexemes in a part of a text, without spaces."""
    matches = LEXEME.finditer(text, start, end)
    return [_Lexeme(*match.span(), match[0]) for match in matches if not match[0].isspace()]
