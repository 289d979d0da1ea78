"""Compile a pre-tokenizer to stages, each an automaton that finds words in a text."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from renderers.tokenizer.compiled.automaton import build_automaton
from renderers.tokenizer.compiled.block import DROPS_GAPS, MOST_STAGES, NO_SCAN, PAGE, UnfitVocabularyError
from renderers.tokenizer.compiled.characters import DIGITS, Classes, classify
from renderers.tokenizer.compiled.pattern import (
    Alternation,
    CharacterSet,
    Lookahead,
    Node,
    Repeat,
    Sequence,
    parse_literal,
    parse_pattern,
)
from renderers.tokenizer.compiled.scan import build_scan

_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of the pre-tokenizer `ByteLevel` itself."""


class Stage(NamedTuple):
    """A pattern, and whether the text between its matches is dropped."""

    pattern: Node
    drops_gaps: bool = False


class Splitting(NamedTuple):
    """The sections of a block that split text."""

    classes: Classes
    stages: array[int]
    transitions: array[int]
    scans: array[int]


def compile_splitting(stages: list[Stage], *, composes: bool) -> Splitting:
    """Compile the stages of a pre-tokenizer. `composes` is True if texts are normalized to NFC.

    Raises:
        UnfitVocabularyError: They are not supported.
    """
    if len(stages) > MOST_STAGES:
        raise UnfitVocabularyError(f"its pre-tokenizer has more than {MOST_STAGES} components")
    classes = classify([each for stage in stages for each in _sets_in(stage.pattern)], composes=composes)
    rows, table, scans = array("I"), array("I"), array("I")
    ascii_classes = list(classes.pages[PAGE * classes.page_numbers[0] :][:128])
    for stage in stages:
        automaton = build_automaton(
            stage.pattern,
            classes=len(classes.flags),
            contains=lambda characters, number: classes.members[characters][number],
        )
        base = len(table)
        scan = build_scan(automaton, ascii_classes=ascii_classes)
        flags = DROPS_GAPS if stage.drops_gaps else 0
        rows.extend((base + automaton.start, flags, len(scans) if scan else NO_SCAN))
        scans.extend(scan)
        # The row of no match is 0 for all stages.
        table.extend(entry + base if entry & 0x7FFFFFFF else entry for entry in automaton.transitions)
    return Splitting(classes, rows, table, scans)


def _sets_in(node: Node) -> Iterator[CharacterSet]:
    match node:
        case Sequence(parts) | Alternation(parts):
            for part in parts:
                yield from _sets_in(part)
        case Repeat(part):
            yield from _sets_in(part)
        case Lookahead(characters):
            yield characters
        case _:
            yield node


def byte_level_stages(pre_tokenizer: Mapping[str, Any] | None) -> list[Stage]:
    """Return the stages of a pre-tokenizer that ends with a conversion to bytes, from its JSON.

    Raises:
        UnfitVocabularyError: It has a component that is not supported.
    """
    components = list(_flattened(pre_tokenizer))
    if not components or components[-1]["type"] != "ByteLevel":
        raise UnfitVocabularyError("its pre-tokenizer does not end with ByteLevel")
    return [stage for component in components for stage in _stages_of(component, is_last=component is components[-1])]


def _flattened(component: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if component is not None and component["type"] == "Sequence":
        for part in component["pretokenizers"]:
            yield from _flattened(part)
    elif component is not None:
        yield component


def _stages_of(component: Mapping[str, Any], *, is_last: bool) -> Iterator[Stage]:
    match component:
        case {"type": "ByteLevel", "add_prefix_space": False} if is_last:
            if component.get("use_regex", True):
                yield Stage(parse_pattern(_BYTE_LEVEL))
        case {"type": "Digits", "individual_digits": bool(single)}:
            yield Stage(DIGITS if single else Repeat(DIGITS, 1, None, greedy=True))
        case {"type": "Split", "pattern": pattern, "behavior": "Isolated"}:
            yield Stage(_pattern_of(pattern))
        case {"type": "Split", "pattern": pattern, "behavior": "Removed", "invert": True}:
            yield Stage(_pattern_of(pattern), drops_gaps=True)
        case _:
            raise UnfitVocabularyError(f"its pre-tokenizer has a component that is not supported: {component['type']}")


def _pattern_of(pattern: Mapping[str, str]) -> Node:
    return parse_pattern(pattern["Regex"]) if "Regex" in pattern else parse_literal(pattern["String"])
