"""A labelled text is cut and encoded by the settings, and errors name the field that causes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from renderers import EXAMPLE_MODEL, LoadedTokenizer, load_tokenizer
from renderers.core.lazy import lazy
from renderers.core.options import ContentTokens
from renderers.core.spans import Channel, LabelledSpan, Path, Span, Trace
from renderers.errors import ControlTextError, UnencodableTextError
from renderers.rendering.labelled_text import LabelledText, encode_together


@dataclass
class Settings:
    content_tokens: ContentTokens = "template"
    tokenizer: LoadedTokenizer = field(default_factory=lambda: load_tokenizer(EXAMPLE_MODEL))


class Text(LabelledText):
    """The text of a message between a header and an end token."""

    def __init__(self, content: str, content_tokens: ContentTokens = "template") -> None:
        self._content = content
        self._content_tokens = content_tokens

    @lazy
    def settings(self) -> Settings:
        return Settings(self._content_tokens)

    @lazy
    def trace(self) -> Trace:
        parts: list[tuple[str, Path]] = [("<|turn|>", ()), (self._content, ("content",)), ("<|end|>", ())]
        spans, end = [], 0
        for text, path in parts:
            spans.append(Span(end, end + len(text), 0, path))
            end += len(text)
        return Trace("".join(text for text, _ in parts), tuple(spans))

    @property
    def labels(self) -> Sequence[LabelledSpan]:
        channels = {True: Channel.CONTENT, False: Channel.SCAFFOLD}
        return [
            LabelledSpan(*span, channels[bool(span.path)], bool(span.path), bool(span.path))
            for span in self.trace.spans
        ]

    @property
    def tool_names(self) -> Sequence[str | None]:
        return [None]

    def decoded(self) -> list[str]:
        return [self.settings.tokenizer.decode([token]) for token in self.encoded.ids]


def test_tokens_are_attributed_by_the_labels() -> None:
    attribution = Text("Hi").attribute()
    assert [(run.end, run.channel, run.sampled) for run in attribution.runs] == [
        (1, "scaffold", False),
        (3, "content", True),
        (4, "scaffold", False),
    ]
    assert (attribution.injected, attribution.tool_names) == ([], [None])


@pytest.mark.parametrize(("content_tokens", "is_token"), [("template", True), ("text", False)])
def test_control_text_in_a_field_is_encoded_as_the_settings_say(content_tokens: ContentTokens, is_token: bool) -> None:
    text = Text("a<|end|>b", content_tokens)
    tokens = text.decoded()
    assert ("<|end|>" in tokens[1:-1]) is is_token
    assert "".join(tokens) == text.text
    assert tokens[-1] == "<|end|>"
    (injected,) = text.attribute().injected
    assert (injected.message, injected.path, injected.text) == (0, ("content",), "<|end|>")
    assert "".join(tokens[injected.start : injected.end]) == "<|end|>"


def test_control_text_can_be_refused() -> None:
    with pytest.raises(ControlTextError, match=r"message 0: content contains '<\|end\|>'"):
        _ = Text("a<|end|>", "refuse").encoded
    assert Text("a", "refuse").decoded() == ["<|turn|>", "a", "<|end|>"]


def test_a_lone_surrogate_is_an_error_that_names_the_field() -> None:
    with pytest.raises(UnencodableTextError, match=r"message 0: content: a character is the lone surrogate U\+DC80"):
        _ = Text("a\udc80").encoded


def test_texts_are_encoded_together_as_one_by_one() -> None:
    contents = ["Hi", "", "a<|end|>b", "Hello there"]
    texts = [Text(content) for content in contents]
    encode_together(texts)
    for text, content in zip(texts, contents, strict=True):
        assert "encoded" in vars(text)
        assert list(text.encoded.ids) == list(Text(content).encoded.ids)


@pytest.mark.parametrize("content_tokens", ["template", "text", "refuse"])
def test_a_text_with_an_error_does_not_keep_others_from_being_encoded(content_tokens: ContentTokens) -> None:
    refused = [Text("a", "refuse"), Text("<|end|>", "refuse")]
    encode_together(refused)
    assert ["encoded" in vars(text) for text in refused] == [True, False]
    broken = [Text("a", content_tokens), Text("\ud800", content_tokens), Text("b", content_tokens)]
    encode_together(broken)
    assert ["encoded" in vars(text) for text in broken] == [True, False, True]
    assert broken[0].decoded() == ["<|turn|>", "a", "<|end|>"]
    with pytest.raises(UnencodableTextError):
        _ = broken[1].encoded
    encode_together([])
