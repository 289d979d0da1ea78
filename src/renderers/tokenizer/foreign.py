"""`ForeignTokenizer`: a caller's tokenizer object that is not backed by the Rust library."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from renderers.core.lazy import lazy, lazy_pattern
from renderers.tokenizer.encoding.alignment import aligned_offsets
from renderers.tokenizer.encoding.piece_cache import PackedIds, TokenPlaces, pack_ids
from renderers.tokenizer.engines.select import EngineStatus
from renderers.tokenizer.foreign_texts import ForeignTexts, attempt
from renderers.tokenizer.vocab import reserved_among

_CONTROL_TEXT = lazy_pattern(r"(?=([<\[\]〈][^\s<]{1,58}?[>\[\]〉]))")
"""The forms of special tokens in the text of a chat template: `<|end|>`, `[INST]`, `]~b]`. They may overlap."""
_ROLE_TOKENS = tuple(f"<|{role}|>" for role in ("system", "user", "assistant", "tool", "observation", "developer"))
"""Special tokens that templates put together from the role of a message."""
_NEIGHBOUR = "a"


class ObjectKey:
    """A cache key that is equal only for the same living object. It does not keep the object alive if it can."""

    def __init__(self, value: object) -> None:
        self._hash = id(value)
        try:
            self._value: Callable[[], object] = weakref.ref(value)
        except TypeError:
            # A class with slots may not support weak references.
            self._value = lambda: value

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectKey):
            return NotImplemented
        value = self._value()
        return self is other or (value is not None and value is other._value())


@dataclass(frozen=True, kw_only=True)
class ForeignTokenizer:
    """A wrapper of a caller's tokenizer with the attributes of `LoadedTokenizer`; made by `adopt_tokenizer`.

    It is safe to share between threads only if the wrapped class is.
    """

    wrapped: Any
    takes_add_special_tokens: bool
    name_or_path: str
    bos_token_id: int | None
    eos_token_id: int | None
    pad_token_id: int | None
    unk_token_id: int | None
    chat_templates: Mapping[str, str]
    special_tokens_map: Mapping[str, str]
    stop_token_ids: tuple[int, ...] | None = None
    takes_images: bool | None = None
    takes_audio: bool | None = None

    chat_template = lazy[str | None](lambda self: self.chat_templates.get("default"))
    """The default chat template; None if there is none."""
    response_template = lazy[Mapping[str, Any] | None](
        lambda self: getattr(self.wrapped, "response_template", None) or None
    )
    """Hugging Face's record of the format of turns; None if there is none."""
    vocab = lazy["ForeignVocab"](lambda self: ForeignVocab(self))
    """The special tokens and token texts. Internal: it may change in any release."""
    added_tokens = lazy[Mapping[str, int]](lambda self: self.vocab.added_tokens)
    """The ids of the special tokens and of all added tokens that are known."""
    lists_added_tokens = lazy[bool](lambda self: callable(getattr(self.wrapped, "get_added_vocab", None)))
    """True if the wrapped class has a method `get_added_vocab`."""

    @property
    def bpe_engine(self) -> EngineStatus:
        """The wrapped class."""
        return EngineStatus(type(self.wrapped).__name__, "", "a tokenizer object that encodes text itself")

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Encode text to token ids. `add_special_tokens` is ignored if the wrapped class does not support it."""
        options = {"add_special_tokens": add_special_tokens} if self.takes_add_special_tokens else {}
        return list(self.wrapped.encode(text, **options))

    def decode(self, token_ids: Iterable[int]) -> str:
        """Decode token ids to text."""
        return str(self.wrapped.decode(list(token_ids)))

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the result of the wrapped class."""
        return self.wrapped.convert_tokens_to_ids(tokens)


@dataclass(frozen=True, eq=False)
class ForeignVocab:
    """The part of `Vocab` that can be found out about a wrapped tokenizer."""

    _tokenizer: ForeignTokenizer

    isolating_texts: ClassVar[frozenset[str]] = frozenset()
    """Empty: no token of a wrapped class is known to isolate."""
    isolates_reserved: ClassVar[bool] = False
    stop_texts: ClassVar[frozenset[str]] = frozenset()
    """Empty: the wrapped class does not name the stop tokens of the model."""
    control_texts = lazy[frozenset[str]](lambda self: self.reserved_texts)
    """The texts of the special tokens, as far as they are known."""

    @lazy
    def reserved_texts(self) -> frozenset[str]:
        """The texts of all added tokens except runs of spaces and newlines.

        If the wrapped class does not list its added tokens: the special tokens, and the texts in its chat templates
        that have the form of a special token and are single tokens.
        """
        tokenizer = self._tokenizer
        if tokenizer.lists_added_tokens:
            return reserved_among(map(str, tokenizer.wrapped.get_added_vocab()))
        templates = tokenizer.chat_templates.values()
        texts = {text for template in templates for text in (*_CONTROL_TEXT.findall(template), *_ROLE_TOKENS)}
        isolated = frozenset(text for text in texts if any(map(str.isalpha, text)) and self._isolates(text))
        return isolated.union(tokenizer.special_tokens_map.values())

    def _isolates(self, text: str) -> bool:
        """Return True if a text is a token of its own wherever it occurs, as special tokens are."""
        number = self.token_id(text)
        if number is None:
            return False

        def encoded(text: str) -> list[int]:
            return self._tokenizer.encode(text, add_special_tokens=False)

        return encoded(f"{_NEIGHBOUR}{text}{_NEIGHBOUR}") == [*encoded(_NEIGHBOUR), number, *encoded(_NEIGHBOUR)]

    token_sizes: ClassVar[None] = None
    """None: the texts of its tokens need not add up to the text that they encode."""
    byte_texts: ClassVar[None] = None
    """None: a wrapped class does not list its tokens."""
    stored: ClassVar[None] = None
    """None: the tokens of a wrapped class are not in a file of a compiled vocabulary."""
    gives_offsets = lazy[bool](lambda self: self._returned_offsets(_NEIGHBOUR) is not None)
    """True if the wrapped class returns offsets when it is called."""
    token_texts = lazy[ForeignTexts](lambda self: ForeignTexts(self._tokenizer))
    """The text of each token by id, with one character for each byte."""

    @lazy
    def added_tokens(self) -> Mapping[str, int]:
        ids = {text: self.token_id(text) for text in self.reserved_texts}
        return {text: number for text, number in ids.items() if number is not None}

    digest = lazy[ObjectKey](lambda self: ObjectKey(self._tokenizer.wrapped))
    """A value that is equal only for the same wrapped object: two objects may encode a text differently."""

    def encode_pieces(self, texts: Iterable[str]) -> list[PackedIds]:
        """Encode texts, each on its own, adding no special tokens."""
        return [pack_ids(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts]

    def keeps(self, text: str) -> bool:  # noqa: ARG002
        """Return False: a wrapped class may change any text."""
        return False

    def normalized(self, text: str) -> None:
        """Return None: how a wrapped class changes a text is not known."""

    def places(self, text: str) -> TokenPlaces:
        """Return the places of the tokens of a text. `UnalignedError` as `offsets`."""
        return TokenPlaces.of_offsets(self.offsets(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end character of each token of a text.

        If the wrapped class returns no offsets, they are computed from the text of each token. `UnalignedError` if
        the tokens do not decode to the text, one after the other.
        """
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        offsets = self._returned_offsets(text)
        if offsets is not None and len(offsets) == len(ids):
            return offsets
        return aligned_offsets(ids, text, decode=self.token_texts.text_of)

    def _returned_offsets(self, text: str) -> list[tuple[int, int]] | None:
        """Return the offsets that the wrapped class returns; None if it returns none."""
        wrapped = self._tokenizer.wrapped

        def returned() -> list[tuple[int, int]]:
            output = wrapped(text, add_special_tokens=False, return_offsets_mapping=True)
            return [(int(start), int(end)) for start, end in output["offset_mapping"]]

        # A slow tokenizer of transformers raises, another class may take no such argument.
        return attempt(returned, wrapped, "__call__ with return_offsets_mapping") if callable(wrapped) else None

    def token_id(self, text: str) -> int | None:
        """Return the id of the single token that a text encodes to; None if there is no such token."""
        tokenizer = self._tokenizer

        def found() -> int | None:
            number = tokenizer.convert_tokens_to_ids(text)
            known = type(number) is int and number != tokenizer.unk_token_id
            return number if known and tokenizer.encode(text, add_special_tokens=False) == [number] else None

        return attempt(found, tokenizer.wrapped, f"the lookup of {text!r}")
