"""Turn a parsed pattern into a deterministic automaton that finds the match that backtracking finds first."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from renderers.tokenizer.compiled import pattern
from renderers.tokenizer.compiled.block import ACCEPT, UnfitVocabularyError
from renderers.tokenizer.compiled.pattern import CharacterSet, Node

_MOST_INSTRUCTIONS = 2_000
_MOST_PARTS = 20_000
_MOST_STATES = 4_000
_MOST_ENTRIES = 200_000
"""The most transitions: states times classes of characters. Real patterns have a tenth of that."""

Instruction = tuple[str, CharacterSet | None, tuple[int, ...], bool]
"""A kind, a set, the next instructions in order of preference, and whether a condition is negated."""


def _program(node: Node) -> list[Instruction]:
    """Return the instructions of a pattern. The last one is its match."""
    code: list[Instruction] = []
    parts_added = itertools.count()

    def emit(kind: str, characters: CharacterSet | None = None, *, negated: bool = False) -> int:
        if len(code) >= _MOST_INSTRUCTIONS:
            raise UnfitVocabularyError("its split pattern is too long")
        code.append((kind, characters, (len(code) + 1,), negated))
        return len(code) - 1

    def branch(at: int, *targets: int) -> None:
        code[at] = ("branch", None, targets, False)

    def add(node: Node) -> None:
        # Repetitions of nothing emit nothing.
        if next(parts_added) > _MOST_PARTS:
            raise UnfitVocabularyError("its split pattern is too long")
        match node:
            case pattern.Sequence(parts):
                for part in parts:
                    add(part)
            case pattern.Alternation(options):
                _add_options(options)
            case pattern.Repeat():
                _add_repeat(node)
            case pattern.Lookahead(characters, negated):
                emit("look", characters, negated=negated)
            case _:
                emit("take", node)

    def _add_options(options: tuple[Node, ...]) -> None:
        start = emit("branch")
        firsts, lasts = [], []
        for option in options:
            firsts.append(len(code))
            add(option)
            lasts.append(emit("branch"))
        branch(start, *firsts)
        for last in lasts:
            branch(last, len(code))

    def _add_repeat(node: pattern.Repeat) -> None:
        for _ in range(node.least):
            add(node.part)
        choices = []
        if node.most is None:
            choices.append(emit("branch"))
            add(node.part)
            branch(emit("branch"), choices[0])
        else:
            for _ in range(node.most - node.least):
                choices.append(emit("branch"))
                add(node.part)
        for choice in choices:
            branch(choice, *((choice + 1, len(code)) if node.greedy else (len(code), choice + 1)))

    add(node)
    emit("match")
    return code


class Automaton(NamedTuple):
    """The transitions of all states: a row for each, with a column for each class of characters and one for the end.

    An entry is the place of the row of the next state, 0 if none, plus `ACCEPT` if a match ends before the character.
    The first row is that of the state without a match.
    """

    transitions: array[int]
    start: int
    """The row of the first state."""


def build_automaton(node: Node, *, classes: int, contains: Callable[[CharacterSet, int], bool]) -> Automaton:
    """Build the automaton of a pattern for numbered classes of characters.

    `contains` returns True if the characters of a class are in a set.

    Raises:
        UnfitVocabularyError: The pattern matches the empty text, or has too many states.
    """
    code = _program(node)
    width = classes + 1
    holds = {
        characters: [*(contains(characters, number) for number in range(classes)), False]
        for _, characters, _, _ in code
        if characters is not None
    }
    columns = [{each: row[number] for each, row in holds.items()} for number in range(width)]
    rows: dict[tuple[int, ...], int] = {(): 0, (0,): 1}
    pending: list[tuple[int, ...]] = [(0,)]
    table = array("I", bytes(4 * width))
    for state in pending:
        for column in columns:
            accepts, following = _step(code, state, column)
            if accepts and state == (0,):
                raise UnfitVocabularyError("its split pattern matches the empty text")
            if following not in rows:
                if len(rows) >= min(_MOST_STATES, _MOST_ENTRIES // width):
                    raise UnfitVocabularyError("its split pattern has too many states")
                rows[following] = len(rows)
                pending.append(following)
            table.append(rows[following] * width | (ACCEPT if accepts else 0))
    return Automaton(table, width)


def _step(
    code: Sequence[Instruction], state: tuple[int, ...], holds: Mapping[CharacterSet, bool]
) -> tuple[bool, tuple[int, ...]]:
    """Return whether a match ends before a character, and the instructions after it, in order of preference."""
    seen: set[int] = set()
    following: dict[int, None] = {}
    stack = list(reversed(state))
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        kind, characters, targets, negated = code[at]
        if kind == "match":
            # What is less preferred than a match is not tried.
            return True, tuple(following)
        if kind == "branch":
            stack.extend(reversed(targets))
        elif kind == "look":
            assert characters is not None
            if holds[characters] != negated:
                stack.extend(targets)
        else:
            assert characters is not None
            if holds[characters]:
                following[targets[0]] = None
    return False, tuple(following)
