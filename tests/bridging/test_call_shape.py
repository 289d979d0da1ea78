"""A turn that is but a call is known by what the template writes around calls."""

from __future__ import annotations

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.bridging.call_shape import CallEdges
from renderers.bridging.context import Program


def test_what_is_between_the_edges_is_but_a_call() -> None:
    edges = CallEdges("<call>", ("</call>", "</call><end>"))
    assert edges.around("<call>f{}</call>")
    assert edges.around("<call>f{}</call><end>")
    assert not edges.around("I look.<call>f{}</call>")
    assert not edges.around("<call>f{}</call>I look.")


def test_without_edges_nothing_is_but_a_call() -> None:
    assert not CallEdges().around("f{}")
    assert not CallEdges("", ("}",)).around("f{}")


def test_the_edges_are_those_of_the_template() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    assert Program(renderer._writer, None, "").call_edges == CallEdges(
        '<|call|>{"name": "', ("}<|/call|><|end|>", "}<|/call|>")
    )


def test_a_template_that_writes_no_calls_has_none() -> None:
    template = "{% for message in messages %}{{ message.content }}<|end|>{% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert Program(renderer._writer, None, "").call_edges == CallEdges()
