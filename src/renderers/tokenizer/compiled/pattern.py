"""Parse the split patterns of pre-tokenizers: the part of Oniguruma's syntax that a finite automaton can match."""

from __future__ import annotations

import re
from dataclasses import dataclass

from renderers.tokenizer.compiled.block import UnfitVocabularyError

_ESCAPED = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_ATOM = re.compile(r"\\[pP]\{\w+\}|\\[sSdDwW]")
_REPEAT = re.compile(r"([*+?]|\{(\d+)(?:(,)(\d*))?\})([+?]?)")
_CASE_FOLDS = re.compile("ss|st|f[fil]", re.IGNORECASE)
"""Two letters that are equal to one character if case is ignored."""
_MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class Range:
    """The code points from `first` to `last`."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Atom:
    """A set that the tokenizer's own library defines, such as a Unicode property; by its source."""

    source: str


@dataclass(frozen=True, slots=True)
class Union:
    members: tuple[CharacterSet, ...]


@dataclass(frozen=True, slots=True)
class Intersection:
    members: tuple[CharacterSet, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    of: CharacterSet


CharacterSet = Range | Atom | Union | Intersection | Complement


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first alternative that leads to a match is taken."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """At least `least` and at most `most` matches of a part, as many as possible if `greedy`."""

    part: Node
    least: int
    most: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class Lookahead:
    """A condition on the next character. Without a next character, it is not in the set."""

    characters: CharacterSet
    negated: bool


Node = CharacterSet | Sequence | Alternation | Repeat | Lookahead


def parse_pattern(source: str) -> Node:
    r"""Parse a pattern.

    Raises:
        UnfitVocabularyError: The pattern has a construct that is not supported.

    >>> parse_pattern(r"\s+")
    Repeat(part=Atom(source='\\s'), least=1, most=None, greedy=True)
    """
    parser = _Parser(source)
    try:
        node = parser.alternation(ignore_case=False)
    except (IndexError, RecursionError):
        raise UnfitVocabularyError(f"its split pattern is not understood: {source}") from None
    if parser.at != len(source):
        raise parser.unsupported()
    return node


def parse_literal(text: str) -> Node:
    """Return the node that matches a text."""
    return Sequence(tuple(Range(ord(character), ord(character)) for character in text))


def is_nullable(node: Node) -> bool:
    """Return True if a node can match the empty text."""
    match node:
        case Sequence(parts):
            return all(map(is_nullable, parts))
        case Alternation(options):
            return any(map(is_nullable, options))
        case Repeat(part, least):
            return least == 0 or is_nullable(part)
        case Lookahead():
            return True
    return False


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def unsupported(self) -> UnfitVocabularyError:
        return UnfitVocabularyError(
            f"its split pattern is not supported from character {self.at} on: {self.source[self.at : self.at + 20]!r}"
        )

    def _take(self, text: str) -> bool:
        follows = self.source.startswith(text, self.at)
        self.at += len(text) if follows else 0
        return follows

    def alternation(self, *, ignore_case: bool) -> Node:
        options = [self._sequence(ignore_case=ignore_case)]
        while self._take("|"):
            options.append(self._sequence(ignore_case=ignore_case))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _sequence(self, *, ignore_case: bool) -> Node:
        parts: list[Node] = []
        start = self.at
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts += self._repeated(self._part(ignore_case=ignore_case))
        if ignore_case and _CASE_FOLDS.search(self.source[start : self.at]):
            raise self.unsupported()
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _part(self, *, ignore_case: bool) -> Node:
        if self._take("("):
            return self._group(ignore_case=ignore_case)
        if self.source[self.at] in "^$.*+?{}":
            raise self.unsupported()
        characters = self._characters()
        if not ignore_case:
            return characters
        if not isinstance(characters, Range) or characters.first != characters.last or characters.first > 0x7F:
            raise self.unsupported()
        letter = chr(characters.first)
        return Atom(f"(?i:{letter})") if letter.isalpha() else characters

    def _group(self, *, ignore_case: bool) -> Node:
        if self._take("?!") or self._take("?="):
            negated = self.source[self.at - 1] == "!"
            inner = self.alternation(ignore_case=ignore_case)
            if not isinstance(inner, CharacterSet):
                raise self.unsupported()
            node: Node = Lookahead(inner, negated)
        elif self._take("?i:"):
            node = self.alternation(ignore_case=True)
        else:
            if not self._take("?:") and self.source[self.at] == "?":
                raise self.unsupported()
            node = self.alternation(ignore_case=ignore_case)
        if not self._take(")"):
            raise self.unsupported()
        return node

    def _repeated(self, part: Node) -> list[Node]:
        """Return the nodes for a part and the quantifier after it, if any."""
        quantifier = _REPEAT.match(self.source, self.at)
        if quantifier is None:
            return [part]
        symbol, count, comma, most_of, suffix = quantifier.groups()
        least = 1 if symbol == "+" else int(count or 0)
        most = None
        if symbol == "?":
            most = 1
        elif count is not None:
            most = least if comma is None else int(most_of) if most_of else None
        is_set = isinstance(part, CharacterSet)
        # A counted quantifier with a suffix has another meaning, and possessive ones are understood for characters.
        odd = suffix and (count is not None or (suffix == "+" and not is_set))
        repeats_nothing = most is None and is_nullable(part)
        follows = _REPEAT.match(self.source, quantifier.end())
        if odd or repeats_nothing or follows or max(least, most or 0) > _MOST_COPIES or (most or least) < least:
            raise self.unsupported()
        self.at = quantifier.end()
        repeat = Repeat(part, least, most, greedy=suffix != "?")
        if suffix != "+":
            return [repeat]
        if most is not None:
            # One possessive character or none: a choice that is not changed later.
            raise self.unsupported()
        assert isinstance(part, CharacterSet)
        return [repeat, Lookahead(part, negated=True)]

    def _characters(self) -> CharacterSet:
        """Return the set of a class, an escape or a literal."""
        source = self.source
        if self._take("["):
            return self._class()
        if atom := _ATOM.match(source, self.at):
            self.at = atom.end()
            letter, rest = atom[0][1], atom[0][2:]
            positive = Atom(f"\\{letter.lower()}{rest}")
            return Complement(positive) if letter.isupper() else positive
        code = self._literal()
        return Range(code, code)

    def _literal(self) -> int:
        character = self.source[self.at]
        if character != "\\":
            self.at += 1
            return ord(character)
        letter = self.source[self.at + 1]
        if letter not in _ESCAPED and letter.isalnum():
            raise self.unsupported()
        self.at += 2
        return _ESCAPED.get(letter, ord(letter))

    def _class(self) -> CharacterSet:
        """Return the set of a class after its opening bracket."""
        negated = self._take("^")
        groups: list[list[CharacterSet]] = [[]]
        while not self._take("]"):
            if self._take("&&"):
                groups.append([])
                continue
            if self.source.startswith("[:", self.at) or (self.source[self.at] == "-" and groups[-1]):
                raise self.unsupported()
            member = self._characters()
            if self.source[self.at] == "-" and self.source[self.at + 1] != "]":
                self.at += 1
                last = None if self.source[self.at] == "[" or _ATOM.match(self.source, self.at) else self._literal()
                if not isinstance(member, Range) or last is None or last < member.first:
                    raise self.unsupported()
                member = Range(member.first, last)
            groups[-1].append(member)
        if not all(groups):
            raise self.unsupported()
        sets = [group[0] if len(group) == 1 else Union(tuple(group)) for group in groups]
        characters = sets[0] if len(sets) == 1 else Intersection(tuple(sets))
        return Complement(characters) if negated else characters
