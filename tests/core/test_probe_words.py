"""Probe words occur in no template, and never reach a caller."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, BridgeRefusal, create_renderer, load_tokenizer
from renderers.core.probe_words import PROBE_WORDS, redact_probe_words
from tests.support.parity import CORPUS, HUB


def test_no_template_contains_a_probe_word() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*HUB, *CORPUS)}
    texts["embedded"] = create_renderer(load_tokenizer(EMBEDDED)).template().source
    for name, text in texts.items():
        assert not [word for word in PROBE_WORDS if word in text.lower()], name


def test_no_probe_word_is_part_of_another() -> None:
    assert not [(word, other) for word in PROBE_WORDS for other in PROBE_WORDS if word != other and word in other]


@pytest.mark.parametrize("word", PROBE_WORDS)
def test_a_probe_word_is_replaced_in_any_case_and_with_its_number(word: str) -> None:
    assert "probe" not in redact_probe_words(f"<a>{word}<b>{word.upper()}12 {word.title()}").lower()


@pytest.mark.parametrize(
    "mark",
    [
        "{{ loop.index }}",
        "{% if not loop.last %}{{ message.content | upper }}{% endif %}",
        "{{ raise_exception('bad content ' + messages[0].content) }}",
        "{{ messages[loop.index0 - 1].content }}",
        "{{ messages[0].content }}",
    ],
)
def test_a_refusal_quotes_no_probe_word(mark: str) -> None:
    template = (
        '{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" }}'
        "{% if loop.index > 1 %}" + mark + '{% endif %}{{ message.content + "<|end|>\\n" }}{% endfor %}'
        '{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}'
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    new = [{"role": "user", "content": "Bye"}]
    refused = renderer.bridge(prompt, renderer.tokenizer.encode("Hello<|end|>"), new)
    assert isinstance(refused, BridgeRefusal)
    assert refused.detail
    assert not [word for word in PROBE_WORDS if word in refused.detail.lower()]
