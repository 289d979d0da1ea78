"""A turn that consists of calls alone is recognised by the delimiters of the template."""

from __future__ import annotations

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.bridging.call_shape import CallDelimiters, call_delimiters
from renderers.bridging.context import BridgeContext


def test_text_between_the_delimiters_consists_of_calls() -> None:
    delimiters = CallDelimiters("<call>", ("</call>", "</call><end>"))
    assert delimiters.encloses("<call>f{}</call>")
    assert delimiters.encloses("<call>f{}</call><end>")
    assert not delimiters.encloses("I look.<call>f{}</call>")
    assert not delimiters.encloses("<call>f{}</call>I look.")


def test_without_delimiters_no_turn_consists_of_calls() -> None:
    assert not CallDelimiters().encloses("f{}")
    assert not CallDelimiters("", ("}",)).encloses("f{}")


def test_the_delimiters_are_those_of_the_template() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    assert call_delimiters(BridgeContext(renderer._pipeline, None, "")) == CallDelimiters(
        '<|call|>{"name": "', ("}<|/call|><|end|>", "}<|/call|>")
    )


def test_a_template_that_writes_no_calls_has_none() -> None:
    template = "{% for message in messages %}{{ message.content }}<|end|>{% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert call_delimiters(BridgeContext(renderer._pipeline, None, "")) == CallDelimiters()
