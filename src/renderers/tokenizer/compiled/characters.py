"""Find the characters of sets: those of Unicode properties as the tokenizer's own library defines them."""

from __future__ import annotations

import itertools
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tokenizers import Regex, pre_tokenizers

from renderers.tokenizer.compiled.block import (
    CHANGES,
    FIRST,
    MARK,
    PAGE,
    PAGES,
    SECOND,
    UNKNOWN,
    UnfitVocabularyError,
)
from renderers.tokenizer.compiled.pattern import (
    Atom,
    CharacterSet,
    Complement,
    Intersection,
    Range,
    Union,
)

_KNOWN = (range(0xD800), range(0xE000, 0x33480), range(0xE0000, 0xE0200))
"""The code points that are looked up one by one. Others are private, or not assigned in any version of Unicode so far.
Text with those that are not assigned goes to `tokenizers`."""
_PRIVATE = (range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE))
"""Code points that are private in every version of Unicode, so a few of them are enough."""
_PRIVATE_STEP = 64
_END = 0x110000
_CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
_CATEGORY = re.compile(r"\\p\{[LMNPSZC][a-z]?\}")
DIGITS = Atom("Digits")
"""The characters that the pre-tokenizer `Digits` splits off."""
_MOST_CLASSES = 255
_MOST_SETS = 128
_REPRESENTATIVES = 4

Flags = str
"""A `1` for each code point in a set, and a `0` for each other one."""


class Classes(NamedTuple):
    """Characters that are in the same sets have one class."""

    page_numbers: array[int]
    """The number of the page of each `PAGE` code points."""
    pages: bytes
    """The class of each character of each page."""
    flags: bytes
    """`UNKNOWN`, `CHANGES`, `FIRST`, `SECOND` and `MARK` for each class."""
    orders: bytes
    """The canonical combining class of the characters of each class; 0 if texts are not composed."""
    members: dict[CharacterSet, list[bool]]
    """For each set, whether it contains the characters of each class."""
    samples: str
    """The first and the last character of each run of a class."""
    representatives: str
    """Some characters of each class."""


def classify(sets: Iterable[CharacterSet], *, composes: bool) -> Classes:
    """Return the classes of characters for some sets.

    With `composes`, the flags and orders of the classes tell which texts the normal form NFC keeps.

    Raises:
        UnfitVocabularyError: A property is not known to the library, or there are too many classes.
    """
    distinct = list(dict.fromkeys(sets))
    # Each takes a megabyte.
    if len(distinct) > _MOST_SETS:
        raise UnfitVocabularyError("its split patterns have too many sets of characters")
    resolve = _Resolver(itertools.chain.from_iterable(map(_atoms_in, distinct)))
    flags = [_flags_of_ranges((*_KNOWN, *_PRIVATE)), *map(resolve.flags_of, distinct)]
    planes = _composition() if composes else []
    flags += planes
    numbers: dict[tuple[str, ...], int] = {("0",) * len(flags): 0}
    by_code = bytearray()
    samples: list[str] = []
    firsts: dict[int, list[str]] = {}
    for start, end in _runs(flags):
        number = numbers.setdefault(tuple(each[start] for each in flags), len(numbers))
        by_code += bytes([min(number, _MOST_CLASSES)]) * (end - start)
        if number:
            samples += (chr(start), chr(end - 1))
            firsts.setdefault(number, []).append(chr(start))
    if len(numbers) > _MOST_CLASSES:
        raise UnfitVocabularyError("its split patterns have too many sets of characters")
    keys = list(numbers)
    members = {each: [key[at] == "1" for key in keys] for at, each in enumerate(distinct, start=1)}
    composed = [_read_planes(key[-len(planes) :]) if planes else (0, 0) for key in keys]
    marks = bytes((UNKNOWN if key[0] == "0" else 0) | own for key, (own, _) in zip(keys, composed, strict=True))
    few = (each[:: max(len(each) // _REPRESENTATIVES, 1)] for each in firsts.values())
    return Classes(
        *_paged(by_code),
        marks,
        bytes(order for _, order in composed),
        members,
        "".join(samples),
        "".join(itertools.chain.from_iterable(few)),
    )


def _paged(by_code: bytearray) -> tuple[array[int], bytes]:
    """Return the index of the pages of a table, and the different pages."""
    numbers: dict[bytes, int] = {}
    index = array("H")
    for start in range(0, PAGE * PAGES, PAGE):
        index.append(numbers.setdefault(bytes(by_code[start : start + PAGE]).ljust(PAGE, b"\0"), len(numbers)))
    return index, b"".join(numbers)


def _atoms_in(characters: CharacterSet) -> Iterator[Atom]:
    match characters:
        case Atom():
            yield characters
        case Union(members) | Intersection(members):
            for member in members:
                yield from _atoms_in(member)
        case Complement(of):
            yield from _atoms_in(of)


class _Resolver:
    """Evaluates sets. It asks the library for all atoms at once: each pass over all characters takes 0.1 s."""

    def __init__(self, atoms: Iterable[Atom]) -> None:
        self._flags: dict[Atom, int] = {}
        self._known = _as_bits(_flags_of_ranges((*_KNOWN, *_PRIVATE)))
        atoms = set(atoms)
        categories = {atom for atom in atoms if _CATEGORY.fullmatch(atom.source)}
        if categories:
            # The characters of a run have the same category, so one of them is enough.
            runs = list(_pieces(_regex_split("|".join(rf"\p{{{name}}}+" for name in _CATEGORIES)), _all_characters()))
            firsts = "".join(chr(start) for start, _ in runs)
            for atom in categories:
                matching = set(_matches(atom.source, firsts))
                self._flags[atom] = _bits_looked_up(
                    run for run, first in zip(runs, firsts, strict=True) if first in matching
                )
        others = sorted(atom.source for atom in atoms - categories - {DIGITS})
        if others:
            candidates = "".join(_matches("|".join(others), _all_characters()))
            for source in others:
                self._flags[Atom(source)] = _bits_looked_up((ord(c), ord(c) + 1) for c in _matches(source, candidates))
        if DIGITS in atoms:
            split = pre_tokenizers.Digits(individual_digits=False)
            self._flags[DIGITS] = _bits_looked_up(run for run in _pieces(split, _all_characters()) if _is_digit(run))

    def flags_of(self, characters: CharacterSet) -> Flags:
        return _as_flags(self._bits(characters))

    def _bits(self, characters: CharacterSet) -> int:
        match characters:
            case Atom():
                return self._flags[characters]
            case Range(first, last):
                return self._known & _bits_of([(first, min(last + 1, _END))])
            case Union(members):
                bits = 0
                for member in members:
                    bits |= self._bits(member)
                return bits
            case Intersection(members):
                bits = self._known
                for member in members:
                    bits &= self._bits(member)
                return bits
            case Complement(of):
                return self._known & ~self._bits(of)


def _all_characters() -> str:
    few = (each[::_PRIVATE_STEP] for each in _PRIVATE)
    return "".join(map(chr, itertools.chain(*_KNOWN, *few)))


def _regex_split(source: str) -> Any:
    try:
        return pre_tokenizers.Split(Regex(source), "isolated")
    except Exception as error:
        raise UnfitVocabularyError(f"its split pattern is not valid: {error}") from None


def _pieces(split: Any, text: str) -> Iterator[tuple[int, int]]:
    """Yield the first code point of each piece, and the one after its last. The text is in the order of code points."""
    for piece, _ in split.pre_tokenize_str(text):
        first, last = ord(piece[0]), ord(piece[-1])
        if last - first + 1 == len(piece):
            yield first, last + 1
        else:
            # The piece goes on after a gap in the text.
            for character in piece:
                yield ord(character), ord(character) + 1


def _is_digit(run: tuple[int, int]) -> bool:
    return len(pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(chr(run[0]) * 2)) == 2


def _matches(source: str, text: str) -> Iterator[str]:
    """Yield the characters of a text that a pattern for one character matches."""
    source = f"(?:{source})"
    _regex_split(source)
    kept = pre_tokenizers.Split(Regex(f"{source}+"), "removed", invert=True)
    for piece, _ in kept.pre_tokenize_str(text):
        yield from piece


def _bits_of(ranges: Iterable[tuple[int, int]]) -> int:
    data = bytearray(b"0" * _END)
    for start, end in ranges:
        data[start:end] = b"1" * (end - start)
    return int(data[::-1], 2)


def _bits_looked_up(ranges: Iterable[tuple[int, int]]) -> int:
    """Return the bits of code points that the library has in a set, with all private ones if it has the few."""
    known = list(ranges)
    looked_up = {code for start, end in known if start >= _PRIVATE[0].start for code in range(start, end)}
    for private in _PRIVATE:
        few = looked_up.intersection(private)
        if few and len(few) < len(private[::_PRIVATE_STEP]):
            raise UnfitVocabularyError("private characters do not have the same properties")
        known += [(private.start, private.stop)] if few else []
    return _bits_of(known)


def _as_bits(flags: Flags) -> int:
    return int(flags[::-1], 2)


def _as_flags(bits: int) -> Flags:
    return f"{bits:0{_END}b}"[::-1]


def _flags_of_ranges(ranges: Iterable[range]) -> Flags:
    return _as_flags(_bits_of((each.start, each.stop) for each in ranges))


def _runs(flags: Sequence[Flags]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of code points that are in the same sets."""
    changes = 0
    for each in flags:
        bits = _as_bits(each)
        changes |= bits ^ (bits << 1)
    borders = [match.start() for match in re.finditer("1", _as_flags(changes)[:_END])]
    yield from itertools.pairwise(sorted({0, *borders, _END}))


_PLANES = (CHANGES, FIRST, SECOND)
"""The flags with a plane each. Eight more planes have the bits of the combining class."""


def _composition() -> list[Flags]:
    """Return planes of flags that tell how NFC treats each character.

    Unicode guarantees that this never changes for an assigned character. The version of Unicode of the library may be
    another one than that of Python, so characters that are not assigned in this one have the flag `CHANGES`.
    """
    firsts, seconds = _composing_pairs()
    planes = [bytearray(b"0" * _END) for _ in range(len(_PLANES) + 8)]
    changes, *others = planes
    for code in itertools.chain.from_iterable(_KNOWN):
        character = chr(code)
        if unicodedata.category(character) == "Cn" or not unicodedata.is_normalized("NFC", character):
            changes[code] = ord("1")
        order = unicodedata.combining(character)
        for bit in range(8 if order else 0):
            others[2 + bit][code] = ord("1") if order >> bit & 1 else ord("0")
    for plane, characters in zip(others, (firsts, seconds), strict=False):
        for character in characters:
            plane[ord(character)] = ord("1")
    return [plane.decode() for plane in planes]


def _read_planes(bits: Sequence[str]) -> tuple[int, int]:
    """Return the flags and the combining class of characters by their bits in the planes of `_composition`."""
    order = sum(1 << at for at, bit in enumerate(bits[len(_PLANES) :]) if bit == "1")
    flags = sum(flag for flag, bit in zip(_PLANES, bits, strict=False) if bit == "1")
    return flags | (MARK if order else 0), order


def _composing_pairs() -> tuple[set[str], set[str]]:
    """Return the characters that NFC may compose with a next one, and those that it composes with one before."""
    # Hangul is composed by rule. Its syllables have no entry for their decomposition.
    firsts = set(map(chr, (*range(0x1100, 0x1113), *range(0xAC00, 0xD7A4))))
    seconds = set(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))
    for code in itertools.chain.from_iterable(_KNOWN):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            if unicodedata.normalize("NFC", first + second) == chr(code):
                # A mark after a composed character may belong before the one in it: é and a cedilla are ȩ and an acute.
                firsts.update((first, chr(code)))
                seconds.add(second)
    return firsts, seconds
