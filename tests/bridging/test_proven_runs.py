"""A proof that reuses the runs of another one has the outcomes of a proof of its own."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.bridging.context import BridgeContext, clear_proof_caches
from renderers.bridging.outcomes import Proof
from renderers.bridging.proofs import Sample, prove
from renderers.bridging.sample_histories import Turn
from renderers.core.completions import ReasoningState

TURN = Turn(ReasoningState.NONE, "Yes.", ())
BODY = '{{ "<|turn|>" + message.role + "\\n" + [CONTENT] + "<|end|>\\n" }}'
TEMPLATE = (
    "{% for message in messages %}" + BODY + "{% endfor %}"
    '{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}'
)
CONTENTS = {
    "as it is": "message.content",
    "trimmed": "message.content | trim",
    "trimmed late": "(message.content | trim if loop.index > 3 else message.content)",
    "marked if indented": '(("> " if message.content.startswith(" ") else "") + message.content)',
    "marked late if indented": '("> " if loop.index > 3 and message.content.startswith(" ") else "") + message.content',
    "named": '(message.name | default("") + ": " + message.content)',
    "no space": "(raise_exception('No!') if message.content.startswith(' ') and loop.index > 3 else message.content)",
}
TEXTS = ["Bye", " Bye", "Bye\n", "\tBye", " ", "", "Bye<|end|>"]


def context_for(content: str) -> BridgeContext:
    template = TEMPLATE.replace("[CONTENT]", content)
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template, verify=False)
    return BridgeContext(renderer._pipeline, None, renderer.resolution.grammar.header)


def prove_text(context: BridgeContext, text: str, **fields: Any) -> Proof:
    return prove(context, Sample(TURN, [{"role": "user", "content": text, **fields}]))


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("first", TEXTS)
def test_a_proof_after_another_is_the_same_as_a_proof_alone(name: str, first: str) -> None:
    context = context_for(CONTENTS[name])
    alone = []
    for text in TEXTS:
        clear_proof_caches()
        alone.append(prove_text(context, text))
    clear_proof_caches()
    prove_text(context, first)
    assert [prove_text(context, text) for text in TEXTS] == alone


def test_the_runs_of_another_text_are_not_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_for(CONTENTS["trimmed"])
    clear_proof_caches()
    first = prove_text(context, "Bye")
    monkeypatch.setattr("renderers.rendering.pipeline.label", None)
    assert prove_text(context, " Bye").outcomes == first.outcomes


def test_a_run_that_differs_in_template_text_is_proven_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_for(CONTENTS["marked if indented"])
    clear_proof_caches()
    prove_text(context, "Bye")
    monkeypatch.setattr("renderers.rendering.pipeline.label", None)
    with pytest.raises(TypeError):
        prove_text(context, " Bye")


def test_messages_with_other_fields_have_runs_of_their_own() -> None:
    context = context_for(CONTENTS["named"])
    clear_proof_caches()
    with_name = prove_text(context, "Bye", name="Ada")
    clear_proof_caches()
    without = prove_text(context, "Bye")
    assert prove_text(context, "Bye", name="Ada") == with_name != without
