"""`TemplateLiterals`: the constant texts that a chat format tests other texts against."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from renderers.core.text import compile_alternation

SHORT_TEXT = 8
"""The largest length of a text that may be tested. All words that replace texts in samples are longer."""


class TextUses(NamedTuple):
    """How a chat format uses the texts of messages, apart from tests against its literals."""

    exact_fields: frozenset[str] | None
    """The fields that may change the output in other ways than by literals; None if all may."""
    short_length: int
    """The length up to which the length of a text may change the output, at most `SHORT_TEXT`."""
    id_lengths: bool
    """True if the length of an id of a call may change the output."""
    tested: frozenset[str] | None
    """The literals that message texts are tested against; None for all literals of the format."""
    joins_texts: bool
    """True if a text that is tested may be joined from several texts."""
    tests_space: bool
    """True if a text may be tested for whitespace at its start or end."""
    counts: frozenset[int]
    """The numbers that the format compares a number of messages with."""
    compares_messages: bool
    """True if messages, or texts of them other than ids and names, may be compared with each other."""

    def is_exact(self, field: str) -> bool:
        """Return True if the value of a field may not be replaced by another one with the same literals."""
        return self.exact_fields is None or field in self.exact_fields


PLAIN_USES = TextUses(
    frozenset(),
    short_length=0,
    id_lengths=False,
    tested=None,
    joins_texts=True,
    tests_space=False,
    counts=frozenset(),
    compares_messages=False,
)
"""The uses of a format that only writes texts and tests them against its literals."""


class TemplateLiterals(NamedTuple):
    """The constant texts that a chat format tests other texts against.

    Free text can change the output of the format only through such a test.
    """

    within: frozenset[str]
    """Literals that match anywhere in a text."""
    whole: frozenset[str]
    """Literals that match only a whole text: identifiers, such as role and field names."""

    def is_whole(self, text: str) -> bool:
        """Return True if a text is a literal that matches only a whole text."""
        # A set is only searched after its text is hashed, which takes long for a long text.
        return len(text) <= _longest(self.whole) and text in self.whole

    def occur_in(self, text: str) -> bool:
        """Return True if a literal that matches anywhere is in a text."""
        for first, search in _searches(self.within):  # noqa: SIM110 - a generator takes longer than most searches
            if first in text and search(text):
                return True
        return False

    def among(self, texts: frozenset[str] | None) -> TemplateLiterals:
        """Return the literals that are among some texts; all if there are none to choose from."""
        return self if texts is None else TemplateLiterals(self.within & texts, self.whole & texts)

    def find_runs(self, text: str, *, partial: bool) -> list[tuple[int, int]]:
        """Return the offsets of the parts of a text that consist of literals, overlapping ones included.

        If `partial` is True, a part of a literal counts at the start and at the end of the text.

        >>> literals = TemplateLiterals(frozenset({"<a>", "a>b"}), frozenset())
        >>> literals.find_runs("x<a>bc<", partial=False), literals.find_runs("x<a>bc<", partial=True)
        ([(1, 5)], [(1, 5), (6, 7)])
        """
        places: list[tuple[int, int]] = []
        for literal in self.within if self.occur_in(text) else ():
            place = text.find(literal)
            while place >= 0:
                places.append((place, place + len(literal)))
                place = text.find(literal, place + 1)
        if partial:
            start, end = self.find_partial(text)
            places += [place for place in ((0, start), (end, len(text))) if place[0] < place[1]]
        if not places:
            return places
        runs: list[tuple[int, int]] = []
        for first, last in sorted(places):
            if runs and first < runs[-1][1]:
                runs[-1] = runs[-1][0], max(last, runs[-1][1])
            else:
                runs.append((first, last))
        return runs

    def find_partial(self, text: str) -> tuple[int, int]:
        """Return where the end of a literal at the start of a text ends, and where the beginning of one begins.

        >>> TemplateLiterals(frozenset({"<a>"}), frozenset()).find_partial("a> and <")
        (2, 7)
        """
        longest, endings, beginnings = _partial_literals(self.within)
        start = endings.match(text) if endings else None
        end = beginnings.match(text[: -longest - 1 : -1]) if beginnings else None
        return start.end() if start else 0, len(text) - (end.end() if end else 0)

    def is_part(self, text: str) -> bool:
        """Return True if a text is a part of a literal, apart from whitespace around it."""
        body = text.strip()
        # A text is usually longer than all literals.
        return 0 < len(body) <= _longest(self.within) and any(body in literal for literal in self.within)

    def with_texts(self, texts: frozenset[str]) -> TemplateLiterals:
        """Return the literals with other texts that the template may compare with, such as its arguments.

        >>> TemplateLiterals(frozenset(), frozenset()).with_texts(frozenset({"Ada", "<s>", " "}))
        TemplateLiterals(within=frozenset({'<s>'}), whole=frozenset({'Ada'}))
        """
        names = frozenset(text for text in texts if text.isidentifier())
        others = frozenset(text for text in texts - names if text.strip())
        return TemplateLiterals(self.within | others, self.whole | (names - self.within))


@functools.lru_cache(maxsize=64)
def _longest(texts: frozenset[str]) -> int:
    """Return the length of the longest text; -1 if there is none."""
    return max(map(len, texts), default=-1)


@functools.lru_cache(maxsize=64)
def _searches(literals: frozenset[str]) -> tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]:
    """Return a search for the literals with each first character.

    A search for a pattern with a fixed first character is several times as fast as one for each literal.
    """
    by_first: dict[str, list[str]] = {}
    for literal in sorted(literals):
        by_first.setdefault(literal[:1], []).append(literal)
    return tuple((first, re.compile("|".join(map(re.escape, texts))).search) for first, texts in by_first.items())


@functools.lru_cache(maxsize=64)
def _partial_literals(literals: frozenset[str]) -> tuple[int, re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return the longest length, and patterns for the ends of literals and, in reverse, for their beginnings.

    Whitespace does not count.
    """
    ends = {literal[size:] for literal in literals for size in range(1, len(literal))}
    starts = {literal[:size] for literal in literals for size in range(1, len(literal))}
    reverse = frozenset(text[::-1] for text in starts if text.strip())
    longest = max(map(len, literals), default=0)
    return longest, compile_alternation(frozenset(text for text in ends if text.strip())), compile_alternation(reverse)
