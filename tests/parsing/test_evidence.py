"""Round trips show which classes of turns a grammar reads back."""

from __future__ import annotations

import pickle

import pytest

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.parsing.evidence import TURN_CLASSES, RoundTrip

CHATML = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n{{ CONTENT }}{% for c in m.tool_calls or [] %}CALL{% endfor %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
HERMES = "<tool_call>{{ c.function | tojson }}</tool_call>"


def renderer_of(*, content: str = "m.content", call: str = HERMES) -> ChatRenderer:
    template = CHATML.replace("CONTENT", content).replace("CALL", call)
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=template)


def outcomes_of(renderer: ChatRenderer) -> dict[str, RoundTrip]:
    return {name: evidence.outcome for name, evidence in renderer.resolution.evidence.items()}


def test_every_class_of_turns_of_the_example_is_exact() -> None:
    outcomes = outcomes_of(create_renderer(load_tokenizer(EMBEDDED)))
    assert outcomes == dict.fromkeys(TURN_CLASSES, RoundTrip.EXACT)


def test_text_that_a_template_trims_or_drops_is_lost_by_the_template() -> None:
    outcomes = outcomes_of(renderer_of(content="m.content | trim"))
    lost = {name for name, outcome in outcomes.items() if outcome is RoundTrip.LOST}
    reasoning = {name for name, turn in TURN_CLASSES.items() if turn.reasoning}
    assert lost == {"spaces around content", *reasoning}
    assert {*outcomes.values()} == {RoundTrip.LOST, RoundTrip.EXACT}


def test_calls_in_an_unknown_format_are_different_though_they_render_alike_as_content() -> None:
    outcomes = outcomes_of(renderer_of(call="@@{{ c.function.name }}@{{ c.function.arguments | tojson }}@@"))
    assert {outcomes[name] for name, turn in TURN_CLASSES.items() if turn.calls} == {RoundTrip.DIFFERENT}
    assert outcomes["content"] is RoundTrip.EXACT


def test_a_turn_that_a_template_rejects_is_refused() -> None:
    refusing = "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call only') }}{% endif %}" + HERMES
    outcomes = outcomes_of(renderer_of(call=refusing))
    assert outcomes["two calls"] is RoundTrip.REFUSED
    assert outcomes["a call"] is RoundTrip.EXACT


def test_a_difference_names_the_fields_with_placeholders() -> None:
    evidence = renderer_of(content="m.content ~ '<|x|>'").resolution.evidence["content"]
    assert evidence.outcome is RoundTrip.DIFFERENT
    assert evidence.difference == "content '{content}' as '{content}<|x|>'"


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_evidence_is_pickled_with_the_resolution(protocol: int) -> None:
    resolution = renderer_of().resolution
    assert pickle.loads(pickle.dumps(resolution, protocol)).evidence == resolution.evidence
