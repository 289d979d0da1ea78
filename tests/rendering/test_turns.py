"""Turns are found by C as by Python."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.native import COMPILED, native
from renderers.core.spans import Path, Span, TokenMatch, Trace
from renderers.core.special_tokens import find_special_tokens
from renderers.probing.turn_format import TurnHeader
from renderers.rendering.span_labels import MessageSpans, Region, Turn, index_spans
from renderers.rendering.turns import TurnRules, are_disjoint, find_turns

needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
TOKENS = frozenset({"<e>", "<u>", "<a>", "<t>", "</t>"})
SPECIAL = frozenset({"<e>", "<u>", "<a>"})
PARTS = (*sorted(TOKENS), "x", "ai", " ", "\n", "é", "\u3000", "", ":")
PATHS: list[Path] = [(), (), (), ("role",), ("content",), ("reasoning_content",)]
MESSAGES = 3
TEXT = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)
ROWS = st.lists(st.tuples(TEXT, st.integers(-1, MESSAGES - 1), st.sampled_from(PATHS)), min_size=1, max_size=12)
HEADERS = st.lists(st.builds(TurnHeader, TEXT, TEXT, st.booleans()), max_size=3).map(tuple)
RULES = st.builds(
    TurnRules,
    special_tokens=st.sampled_from([SPECIAL, frozenset[str]()]),
    end_token=st.sampled_from([None, "<e>"]),
    stop_tokens=st.sampled_from([frozenset[str](), frozenset({"<u>"}), frozenset({"<e>", "<a>"})]),
    think_markers=st.sampled_from([None, ("<t>", "</t>"), ("x", "ai")]),
    inline_reasoning=st.just(True),
)


def trace_of(rows: list[tuple[str, int, Path]]) -> Trace:
    ends = list(itertools.accumulate((len(text) for text, _, _ in rows), initial=0))
    places = zip(itertools.pairwise(ends), rows, strict=True)
    spans = tuple(Span(start, end, message, path) for (start, end), (_, message, path) in places)
    return Trace("".join(text for text, _, _ in rows), spans)


@needs_c
@given(ROWS, st.lists(HEADERS, min_size=MESSAGES, max_size=MESSAGES), RULES, st.booleans())
def test_c_finds_turns_as_python_does(
    rows: list[tuple[str, int, Path]], headers: list[Any], rules: TurnRules, takes_text: bool
) -> None:
    trace = trace_of(rows)
    _, places = index_spans(trace.spans, [False] * MESSAGES)
    if takes_text:
        # A header that is in the text is more likely to be a turn's.
        header = TurnHeader(trace.text[: len(trace.text) // 2], "", True)
        headers = [(header, *own) for own in headers]
    given_headers = [None if own is None else found for own, found in zip(places, headers, strict=True)]
    tokens = find_special_tokens(trace.text, TOKENS)
    expected = find_turns(trace, places, given_headers, rules=rules)
    assert find_turns(trace, places, given_headers, rules=rules, tokens=tokens) == expected


def usual_arguments() -> dict[str, Any]:
    text = "<a>Hi<t>Hm</t>.<e>"
    return {
        "text": text,
        "spans": (Span(0, 3, 0, ()), Span(3, 15, 0, ("content",)), Span(15, 18, 0, ())),
        "places": [MessageSpans(0, 18, 3, 0, 3, 15, 0, 3)],
        "headers": [(TurnHeader("<a>", "<a>", True),)],
        "marks": find_special_tokens(text, TOKENS),
        "rules": (SPECIAL, frozenset({"<e>"}), "<e>", ("<t>", "</t>")),
        "types": (Turn, Region),
    }


@needs_c
def test_a_turn_is_found_in_c() -> None:
    arguments = usual_arguments()
    assert native.find_turns(*arguments.values()) == [Turn(0, 3, 18)]
    arguments["places"] = [MessageSpans(0, 18, 3, 0, 3, 15, 0, -1)]
    assert native.find_turns(*arguments.values()) == [Turn(0, 3, 18, (), Region(5, 8, 10, 14))]
    arguments["headers"] = [None]
    assert native.find_turns(*arguments.values()) == [None]


@needs_c
@pytest.mark.parametrize(
    "header",
    [("<u>", "", True), ("", "", False), ("<a>Hi<t>Hm</t>.<e>?", "", True), ("<a>", "Hm", True), ("", "", True)],
)
def test_turns_that_need_more_rules_are_left_to_python(header: tuple[str, str, bool]) -> None:
    arguments = usual_arguments() | {"headers": [(header,)]}
    expected = [Turn(0, 0, 18)] if header == ("", "", True) else [False]
    assert native.find_turns(*arguments.values()) == expected


UNFIT: dict[str, list[Any]] = {
    "text": [b"text", None],
    "spans": [[], ((0, 1),), ((0, 1, 0, []),), "span"],
    "places": [[], [None], [(0, 1)], [("0",) * 8], [(0, 99, 3, 0, 3, 15, 0, 3)], [(2**70,) * 8]],
    "headers": [[], [[]], [("",)], [(("", ""),)], [((b"", "", True),)], [(("", 1, True),)]],
    "marks": [(), [None], [(15, 18)], [(15, 18, 7)], [("15", 18, "<e>")], [(15, -1, "<e>")], [(15, 2**40, "<e>")]],
    "rules": [
        *((), (set(), frozenset(), None, (None, None)), (SPECIAL, SPECIAL, 7, (None, None))),
        (SPECIAL, SPECIAL, None, ("<t>", None)),
    ],
    "types": [(), (dict, Region), (Turn, 7)],
}


@needs_c
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in UNFIT.items() for value in values])
def test_arguments_that_do_not_fit_are_refused(name: str, value: Any) -> None:
    arguments = usual_arguments()
    if name == "spans":
        # Only the spans after a turn without an end token are read.
        arguments |= {"rules": (SPECIAL, SPECIAL, None, (None, None)), "places": [(0, 15, 0, 0, 3, 15, 0, 3)]}
    with pytest.raises((TypeError, ValueError)):
        native.find_turns(*(arguments | {name: value}).values())


@needs_c
def test_places_that_contradict_each_other_do_no_harm() -> None:
    arguments = usual_arguments()
    values = (-(2**40), -1, 0, 3, 18, 2**40)
    for places in itertools.product(values, repeat=4):
        arguments["places"] = [(*places, *places[::-1])]
        with contextlib.suppress(ValueError):
            native.find_turns(*arguments.values())


# ==================
# Overlaps
# ==================


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"<a>", "</a>", "[b]"}, True),
        ({"/b", "</a>"}, True),
        ({"<a>", "<a><b>"}, False),
        ({"<a>", "x<a>y"}, False),
        ({"]a]", "]b["}, False),
        ({"", "<a>"}, False),
        ({"aa"}, False),
        (set[str](), True),
    ],
)
def test_tokens_that_can_overlap_are_known(tokens: set[str], expected: bool) -> None:
    assert are_disjoint(frozenset(), frozenset(tokens)) is expected
    assert not are_disjoint(frozenset({"<other>"}), frozenset(tokens))


@given(st.frozensets(st.text("ab<", min_size=1, max_size=3), max_size=3), st.text("ab<", max_size=12))
def test_disjoint_tokens_are_found_in_all_parts_of_a_text(tokens: frozenset[str], text: str) -> None:
    found = {(start, start + len(token)) for token in tokens for start in range(12) if text.startswith(token, start)}
    if are_disjoint(tokens, tokens):
        assert sorted(found) == [(mark.start, mark.end) for mark in find_special_tokens(text, tokens)]
    for start, end in itertools.combinations(range(len(text) + 1), 2) if are_disjoint(tokens, tokens) else ():
        within = [TokenMatch(start + a, start + b, c) for a, b, c in find_special_tokens(text[start:end], tokens)]
        assert within == [mark for mark in find_special_tokens(text, tokens) if start <= mark.start and mark.end <= end]
