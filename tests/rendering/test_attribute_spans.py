"""Tokens are attributed to spans by C as by the labels of the spans."""

from __future__ import annotations

import itertools
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import MessageError, TemplateError, create_renderer, load_tokenizer
from renderers.core.channels import field_channel
from renderers.core.native import COMPILED, native
from renderers.core.spans import LabelledSpan, Path, Span
from renderers.core.special_tokens import find_special_tokens
from renderers.core.tokens import TokenRun
from renderers.probing.turn_format import TurnHeader
from renderers.rendering import label
from renderers.rendering.pipeline import RenderedText
from renderers.rendering.span_labels import CHANNELS, MessageSpans, SpanLabeller, index_in_python, label_in_python
from renderers.rendering.turns import TurnRules, find_turns
from tests.rendering.test_turns import HEADERS, MESSAGES, ROWS, RULES, SPECIAL, TOKENS, trace_of
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import one_model_per_template

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
SIZES = array("I", [3] * 256)
"""Each token has two bytes of a text."""


def encoded(text: str) -> tuple[str, array[int], array[int], array[int], array[int], str, array[int]]:
    """Return a text of an even number of bytes, the ids, sizes, borders and ends of its tokens, and its normal form."""
    count = len(text.encode()) // 2
    ids, borders, ends = array("I", range(count)), array("q", [0, len(text)]), array("q", [count])
    return text, ids, SIZES, borders, ends, text, array("q")


@given(
    ROWS,
    st.lists(st.none() | HEADERS, min_size=MESSAGES, max_size=MESSAGES),
    st.lists(st.booleans(), min_size=MESSAGES, max_size=MESSAGES),
    RULES,
    st.booleans(),
)
def test_c_attributes_tokens_as_the_labels_of_their_text(
    rows: list[tuple[str, int, Path]],
    headers: list[Any],
    are_results: list[bool],
    rules: TurnRules,
    takes_text: bool,
) -> None:
    trace = trace_of([*rows, (".", 0, ())] if len("".join(text for text, _, _ in rows).encode()) % 2 else rows)
    if takes_text:
        # A header that is in the text is more likely to be a turn's.
        header = TurnHeader(trace.text[: len(trace.text) // 2], "", True)
        headers = [own if own is None else (header, *own) for own in headers]
    tokens = find_special_tokens(trace.text, TOKENS)
    options = are_results, field_channel, CHANNELS, "role"
    runs = native.attribute_spans(*encoded(trace.text), trace.spans, *options, headers, tokens, rules.in_c, TokenRun)
    channels, places = index_in_python(trace.spans, are_results, field_channel, (), "role", MessageSpans)
    given_headers = [None if own is None else found for own, found in zip(places, headers, strict=True)]
    if runs is None:
        settings = rules.in_c, (tuple, tuple)
        found = native.find_turns(trace.text, trace.spans, places, given_headers, tokens, *settings)
        assert False in found
        return
    turns = find_turns(trace, places, given_headers, rules=rules)
    labeller = SpanLabeller(trace.text, turns, {})
    labels = label_in_python(trace.spans, channels, turns, {}, (), LabelledSpan, labeller.label)
    assert runs == native.attribute(*encoded(trace.text), labels, TokenRun)
    assert isinstance(runs, tuple)
    assert {type(run) for run in runs[0]} <= {TokenRun}


@pytest.mark.parametrize("model", one_model_per_template())
def test_the_tokens_of_all_models_are_attributed_alike(
    hub: object, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer = create_renderer(load_tokenizer(model))
    cases = itertools.product(CONVERSATIONS.values(), (None, TOOLS))
    compared = 0
    for messages, tools in cases:
        try:
            rendered = renderer.render(messages, tools=tools)
        except (MessageError, TemplateError):
            continue
        runs = rendered.runs
        with monkeypatch.context() as patched:
            patched.setattr(label, "call_native", lambda *_: None)
            again = renderer.render(messages, tools=tools)
            assert again.runs == runs
            compared += 1
    assert compared


def test_labels_that_were_read_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from renderers import EXAMPLE_MODEL

    renderer = create_renderer(EXAMPLE_MODEL)
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    text: RenderedText = renderer._pipeline.run(messages, tools=None, add_generation_prompt=False)
    expected = text.attribute()
    assert "labels" not in vars(text)
    text = renderer._pipeline.run(messages, tools=None, add_generation_prompt=False)
    assert text.labels
    monkeypatch.setattr("renderers.rendering.pipeline.attribute_spans", None)
    assert text.attribute() == expected


def usual_arguments() -> dict[str, Any]:
    text = "<a>Hi<t>Hm</t>.<e>"
    names = ("text", "ids", "sizes", "borders", "ends", "normalized", "moves")
    return dict(zip(names, encoded(text), strict=True)) | {
        "spans": (Span(0, 3, 0, ()), Span(3, 15, 0, ("content",)), Span(15, 18, 0, ())),
        "results": [False],
        "channel_of": field_channel,
        "channels": CHANNELS,
        "role": "role",
        "headers": [(TurnHeader("<a>", "<a>", True),)],
        "marks": find_special_tokens(text, TOKENS),
        "rules": (SPECIAL, frozenset({"<e>"}), "<e>", ("<t>", "</t>")),
        "run": TokenRun,
    }


UNFIT: dict[str, list[Any]] = {
    "text": [b"text", None],
    "ids": [[1], None],
    "borders": [array("q", [0, 99]), array("q", [0]), array("q", [3, 0])],
    "ends": [array("q", [99]), array("q", [-1]), array("q")],
    "normalized": [b"text", None, "short", "\ud800"],
    "moves": [None, *(array("q", moves) for moves in ([0, 99], [99, 0], [-1, 0], [0, -1], [0, 5], [3, 15, 4, 1]))],
    "spans": [[], ((0, 1),), ((0, 1, 0, []),), "span", ((0, 1, 5, ()),), ((0, 99, 0, ()),)],
    "results": [[], (), [False, False]],
    "channel_of": [None, lambda: None],
    "channels": [(), CHANNELS[:2], list(CHANNELS)],
    "role": [None],
    "headers": [[], [[]], [("",)], [(("", ""),)], [((b"", "", True),)], [(("", 1, True),)], [None, None]],
    "marks": [(), [None], [(15, 18)], [(15, 18, 7)], [("15", 18, "<e>")], [(15, -1, "<e>")], [(15, 2**40, "<e>")]],
    "rules": [(), (SPECIAL, SPECIAL, 7, (None, None)), (SPECIAL, SPECIAL, None, ("<t>", None))],
    "run": [dict, "run"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in UNFIT.items() for value in values])
def test_arguments_that_do_not_fit_are_refused(name: str, value: Any) -> None:
    arguments = usual_arguments()
    runs = native.attribute_spans(*arguments.values())
    assert isinstance(runs, tuple)
    assert [run.end for run in runs[0]] == [1, 8, 9]
    with pytest.raises((TypeError, ValueError, IndexError)):
        native.attribute_spans(*(arguments | {name: value}).values())


def test_sizes_that_are_unknown_or_wrong_are_returned() -> None:
    arguments = usual_arguments()
    assert native.attribute_spans(*(arguments | {"sizes": array("I", [0] * 256)}).values()) == list(range(9))
    assert native.attribute_spans(*(arguments | {"sizes": array("I", [2] * 256)}).values()) == 0
