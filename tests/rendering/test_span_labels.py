"""Spans are indexed and labelled by C as by Python."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.channels import field_channel
from renderers.core.native import COMPILED
from renderers.core.spans import Channel, LabelledSpan, Path, Span, Trace
from renderers.rendering import span_labels
from renderers.rendering.span_labels import (
    MessageSpans,
    Region,
    SpanLabeller,
    Turn,
    index_in_python,
    index_spans,
    label_in_python,
    label_spans,
)

needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
PATHS: list[Path] = [(), (), ("role",), ("content",), ("reasoning_content",), ("content", 0, "text"), ("name",)]
MESSAGES = 4
LENGTH = 40
PLACES = st.lists(st.integers(0, LENGTH), min_size=4, max_size=4).map(sorted)
SPANS = st.lists(
    st.tuples(st.sampled_from([0, 1, 3, 7]), st.integers(-1, MESSAGES - 1), st.sampled_from(PATHS)), max_size=14
)
TURNS = st.lists(st.none() | st.tuples(PLACES, PLACES | st.none(), st.booleans()), min_size=MESSAGES, max_size=MESSAGES)


def spans_of(rows: list[tuple[int, int, Path]]) -> tuple[Span, ...]:
    ends = list(itertools.accumulate((size for size, _, _ in rows), initial=0))
    places = zip(itertools.pairwise(ends), rows, strict=True)
    return tuple(Span(start, end, message, path) for (start, end), (_, message, path) in places)


def turn_of(row: tuple[list[int], list[int] | None, bool] | None) -> Turn | None:
    if row is None:
        return None
    (first, start, inner, end), region, is_prompted = row
    prompted = ((start, inner),) if is_prompted else ()
    return Turn(first, start, end, prompted, None if region is None else Region(*region))


@needs_c
@given(SPANS, st.lists(st.booleans(), min_size=MESSAGES, max_size=MESSAGES))
def test_c_indexes_spans_as_python_does(rows: list[tuple[int, int, Path]], are_results: list[bool]) -> None:
    spans = spans_of(rows)
    expected = index_in_python(spans, are_results, field_channel, (), "role", MessageSpans)
    assert index_spans(spans, are_results) == expected


@needs_c
@given(SPANS, TURNS, st.booleans())
def test_c_labels_spans_as_python_does(rows: list[tuple[int, int, Path]], turns: list[Any], has_media: bool) -> None:
    spans, text = spans_of(rows), "".join("ab<"[number % 3] for number in range(400))
    trace = Trace(text, spans)
    channels, _ = index_in_python(spans, [False] * MESSAGES, field_channel, (), "role", MessageSpans)
    found = list(map(turn_of, turns))
    media = {1: re.compile("<a"), 2: None} if has_media else {}
    labeller = SpanLabeller(text, found, media)
    expected = label_in_python(spans, channels, [], media, (), LabelledSpan, labeller.label)
    assert label_spans(trace, channels, found, media) == expected


def test_a_span_of_an_earlier_message_after_a_later_one_is_not_part_of_it() -> None:
    spans = (Span(0, 2, 0, ("content",)), Span(2, 3, 1, ()), Span(3, 5, 0, ("content",)))
    channels, (first, second) = index_spans(spans, [False, False])
    assert channels == [Channel.CONTENT, Channel.SCAFFOLD, Channel.CONTENT]
    assert first == MessageSpans(0, 2, 1, 0, 0, 2, 0, 0)
    assert second == MessageSpans(2, 3, 2, 2, -1, -1, 0, -1)


@needs_c
@pytest.mark.parametrize(
    "span", [(), (0, 1, 0), (0, 1, 9, ()), (0, 1, -2, ()), ("0", 1, 0, ()), (0, 2**70, 0, ()), (0, 1, 0, []), "span"]
)
def test_spans_that_are_none_are_refused(span: Any) -> None:
    with pytest.raises((TypeError, IndexError)):
        index_spans((span,), [False])


@needs_c
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("spans", ((0, 1, 0),), TypeError),
        ("channels", [], ValueError),
        ("turns", [(0, 1)], TypeError),
        ("turns", ["turn"], TypeError),
        ("turns", [(0, 0, 1, ())], TypeError),
        ("turns", [(0, 0, 1, [], None)], TypeError),
        ("turns", [(0, 0, 1, (), (0, 1))], TypeError),
        ("turns", [(0, 0, 1, ((0, "1"),), None)], TypeError),
        ("turns", [(0, 0, 2**70, (), None)], TypeError),
        ("kinds", (), TypeError),
        ("kind", dict, TypeError),
        ("otherwise", None, TypeError),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name: str, value: Any, error: type[Exception]) -> None:
    arguments: dict[str, Any] = {
        "spans": (Span(0, 1, 0, ()),),
        "channels": [Channel.SCAFFOLD],
        "turns": [(0, 0, 1, ((0, 1),) if name == "otherwise" else (), None)],
        "media": {},
        "kinds": tuple(Channel),
        "kind": LabelledSpan,
        "otherwise": lambda *_: [],
    }
    label: Any = span_labels.label_native
    label(*arguments.values())
    with pytest.raises(error):
        label(*(arguments | {name: value}).values())
