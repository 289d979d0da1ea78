"""A run has a text, owners and ids, and its switches do not affect other runs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from renderers import EMBEDDED, load_tokenizer
from renderers.core.spans import Channel
from renderers.errors import ControlTextError
from renderers.rendering.pipeline import PipelineSettings, RenderPipeline
from renderers.tokenizer import adopt_tokenizer
from tests.tokenizer.encoding.test_encode import Letters

ASK: dict[str, Any] = {"role": "user", "content": "Hi"}


def pipeline(**changed: Any) -> RenderPipeline:
    default: dict[str, Any] = {"tokenizer": load_tokenizer(EMBEDDED), "date": datetime.datetime(2026, 1, 1)}
    return RenderPipeline(PipelineSettings(**default | changed))


def test_a_run_has_owners_and_ids() -> None:
    render_pipeline = pipeline()
    run = render_pipeline.run([ASK, {"role": "assistant", "content": "Yes?"}], tools=None, add_generation_prompt=False)
    assert (run.roles, run.tools) == (["user", "assistant"], None)
    labels = run.labels
    sampled = [run.trace.text[label.start : label.end] for label in labels if label.sampled]
    assert "".join(sampled) == "Yes?<|end|>"
    assert {label.channel for label in labels} == {Channel.SCAFFOLD, Channel.CONTENT}
    assert render_pipeline.settings.tokenizer.decode(run.encoded.ids) == run.trace.text
    attribution = run.attribute()
    assert attribution.injected == []
    assert attribution.runs[-1].end == len(run.encoded.ids)


def test_switches_of_a_run_do_not_affect_other_runs() -> None:
    render_pipeline = pipeline(
        chat_template="{{ a }}{{ b }}{{ messages[0].content }}", chat_template_kwargs={"a": "1", "b": "2"}
    )
    texts = [
        render_pipeline.run([ASK], tools=None, add_generation_prompt=False, arguments=switches).trace.text
        for switches in ({"b": "3"}, None)
    ]
    assert texts == ["13Hi", "12Hi"]


def test_an_unknown_switch_does_not_change_the_turn_format() -> None:
    template = "{% if a %}{{ '<|turn|>' }}{% endif %}{{ messages[0].content }}"
    plain = pipeline(chat_template=template).turn_format(with_tools=False)
    assert pipeline(chat_template=template, chat_template_kwargs={"other": 1}).turn_format(with_tools=False) == plain
    assert pipeline(chat_template=template, chat_template_kwargs={"a": True}).turn_format(with_tools=False) != plain


def test_an_error_names_the_refused_control_text() -> None:
    render_pipeline = pipeline(content_tokens="refuse")
    run = render_pipeline.run([{**ASK, "content": "a<|end|>"}], tools=None, add_generation_prompt=False)
    with pytest.raises(ControlTextError, match=r"message 0: content"):
        _ = run.encoded


class Small(Letters):
    """A tokenizer without capital letters and without offsets."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text if text.startswith("Is") else text.lower())


@pytest.mark.parametrize(("kind", "runs"), [(Letters, 2), (Small, 0)])
def test_a_tokenizer_without_offsets_gives_no_attribution(
    kind: type[Letters], runs: int, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = pipeline(tokenizer=adopt_tokenizer(kind()), chat_template="-{{ messages[0].content }}")
    run = foreign.run([ASK], tools=None, add_generation_prompt=False)
    attribution = run.attribute()
    assert (len(attribution.runs), list(attribution.injected)) == (runs, [])
    warning = ["letters: tokens do not decode to their text, so they have no attribution"]
    assert caplog.messages == warning * (runs == 0)
