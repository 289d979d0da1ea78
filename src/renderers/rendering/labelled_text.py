"""`LabelledText`: rendered text with labels, and the tokens that it becomes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from renderers.core.lazy import lazy
from renderers.core.options import ContentTokens
from renderers.core.spans import LabelledSpan, Span, TokenMatch, Trace
from renderers.core.special_tokens import find_special_tokens
from renderers.core.tokens import Attribution, InjectedText
from renderers.errors import ControlTextError, UnencodableTextError
from renderers.rendering.control_text import find_injected, find_template_tokens
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer
from renderers.tokenizer.encoding.alignment import UnalignedError
from renderers.tokenizer.encoding.encode import (
    Cuts,
    Runs,
    attribute,
    cut_at_isolating_tokens,
    cut_at_own,
    encode_text,
    encode_texts,
    locate_marks,
)
from renderers.tokenizer.encoding.locate import EncodedText

_LOG = logging.getLogger("renderers")


class EncodingSettings(Protocol):
    """The settings that determine how a text becomes tokens."""

    @property
    def tokenizer(self) -> LoadedTokenizer | ForeignTokenizer: ...
    @property
    def content_tokens(self) -> ContentTokens: ...


class LabelledText:
    """A text with the channel and sampled flag of every character. Its tokens are computed on first access."""

    if TYPE_CHECKING:
        # Fields or properties of a subclass.
        @property
        def settings(self) -> EncodingSettings: ...
        @property
        def trace(self) -> Trace: ...
        @property
        def labels(self) -> Sequence[LabelledSpan]: ...
        @property
        def tool_names(self) -> Sequence[str | None]: ...

    @property
    def text(self) -> str:
        """The text."""
        return self.trace.text

    @lazy
    def special_tokens(self) -> list[TokenMatch]:
        """The special tokens in the text."""
        return find_special_tokens(self.text, self.settings.tokenizer.vocab.reserved_texts)

    @lazy
    def injected(self) -> list[tuple[TokenMatch, Span]]:
        """The special tokens in the caller's data, each with its field."""
        return find_injected(self.trace, self.special_tokens)

    @lazy
    def cuts(self) -> Cuts:
        """Where the text is split before it is encoded. Only `content_tokens="text"` and `"refuse"` need its trace."""
        settings = self.settings
        tokenizer, content_tokens = settings.tokenizer, settings.content_tokens
        if content_tokens == "refuse" and self.injected:
            token, span = self.injected[0]
            raise ControlTextError.at(token.text, message=span.message, path=span.path)
        if content_tokens == "text" and isinstance(tokenizer, LoadedTokenizer):
            tokens = self.special_tokens
            if self.injected:
                tokens = find_template_tokens(self.trace, tokenizer.vocab.reserved_texts)
            return cut_at_own(tokenizer, self.text, tokens)
        return cut_at_isolating_tokens(tokenizer, self.special_tokens)

    @lazy
    def encoded(self) -> EncodedText:
        """The text as token ids."""
        try:
            return encode_text(self.settings.tokenizer, self.text, self.cuts)
        except UnencodableTextError:
            raise _surrogate_error(self.trace) from None

    def attribute(self) -> Attribution:
        """Return the attribution of the tokens. It is empty if a custom tokenizer provides no offsets."""
        tokenizer, injected = self.settings.tokenizer, self.injected
        try:
            runs, straddling = self._attribute_tokens()
            places = locate_marks(tokenizer, self.encoded, [token for token, _ in injected]) if injected else []
        except UnalignedError as error:
            _LOG.warning("%s: tokens do not decode to their text, so they have no attribution", tokenizer.name_or_path)
            _LOG.debug("%s", error)
            return Attribution(tool_names=self.tool_names)
        pairs = zip(injected, places, strict=True)
        injections = [InjectedText(span.message, span.path, token.text, *place) for (token, span), place in pairs]
        return Attribution(runs, straddling, injections, self.tool_names, tokenizer.vocab.gives_offsets)

    def _attribute_tokens(self) -> Runs:
        """Return the labels of the tokens as runs, and the indices of tokens across a border of sampled text."""
        return attribute(self.settings.tokenizer, self.encoded, self.labels)


def encode_together(texts: Sequence[LabelledText]) -> None:
    """Encode several texts of the same settings. A text with an error stays as it is, and raises it when it is encoded.

    So do the texts of a caller's tokenizer, which encodes one text in a call.
    """
    cuts: list[tuple[str, Cuts]] = []
    encodable: list[LabelledText] = []
    tokenizer = texts[0].settings.tokenizer if texts else None
    if not isinstance(tokenizer, LoadedTokenizer):
        return
    for text in texts:
        try:
            cuts.append((text.text, text.cuts))
        except Exception:
            continue
        encodable.append(text)
    try:
        encoded = encode_texts(tokenizer, cuts)
    except Exception:
        # Such as too little memory for all. A text that causes it raises it again.
        return
    for text, result in zip(encodable, encoded, strict=True):
        if result is not None:
            vars(text).setdefault("encoded", result)


def _surrogate_error(trace: Trace) -> UnencodableTextError:
    """Return the error for the first lone surrogate of a text, with the field that it is in."""
    position = next(index for index, character in enumerate(trace.text) if "\ud800" <= character <= "\udfff")
    (span,) = trace.spans_in(position, position + 1)
    path = ".".join(map(str, span.path))
    place = f"message {span.message}: {path or 'the text around it'}" if span.message >= 0 else path
    return UnencodableTextError.at(f"{place or 'the chat template'}: a character", trace.text[position])
