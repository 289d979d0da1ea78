"""`LoadedTokenizer`: an immutable tokenizer that any number of threads may share."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NoReturn, overload

from tokenizers import Encoding, Tokenizer

from renderers.core.lazy import lazy
from renderers.errors import TokenIdError, TokenizerFileError
from renderers.tokenizer.batch import check_text, encode_batch
from renderers.tokenizer.pieces import PieceCache
from renderers.tokenizer.plain import PlainEncoder
from renderers.tokenizer.shapes import Encoded, Source
from renderers.tokenizer.wire import WireTexts, texts_of_bytes, texts_of_pieces
from renderers.tokenizer.words import WordEncoder, encode_by_words, word_encoder

__all__ = ["LoadedTokenizer", "reserved_among"]


_KEPT = 2**21
"""How many characters of pieces are kept with their ids: some megabytes."""
_NOT_OURS = {
    "max_length",
    "padding",
    "return_assistant_tokens_mask",
    "return_tensors",
    "sanitize_control_tokens",
    "tokenizer_kwargs",
    "truncation",
}
"""What transformers' `apply_chat_template` takes for itself; the rest goes to the template."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedTokenizer:
    """A tokenizer and everything that its files say; made by `load_tokenizer`.

    Nothing about it can be changed, so threads share it without a lock, and no caller can alter the ids
    that another gets. It pickles by name where it came from files, by content where it did not. Two are
    equal that were asked for by the same name and read the same.

    >>> from renderers import EMBEDDED, load_tokenizer
    >>> tokenizer = load_tokenizer(EMBEDDED)
    >>> tokenizer.decode(tokenizer.encode("Hello, world!"))
    'Hello, world!'
    """

    name_or_path: str
    """The name that the caller asked for."""
    revision: str | None = None
    """The revision that the caller asked for; `source.commit` is the one that was read."""
    source: Source
    special_tokens_map: Mapping[str, str]
    """`bos_token`, `eos_token`, ...: the tokens that have a part to play."""
    added_tokens: Mapping[str, int]
    """Every token that is matched as a whole wherever it stands in a text, special or not."""
    special_ids: frozenset[int]
    """The control tokens: what `skip_special_tokens` skips."""
    chat_templates: Mapping[str, str]
    """All templates by name; `default` is the one that `chat_template` gives."""
    stop_token_ids: tuple[int, ...] | None
    """All of `generation_config.json`'s end-of-sequence ids in their order; None where it has none."""
    takes_images: bool | None
    takes_audio: bool | None
    """Whether `config.json` has a key by which such models are known; None where there is no such file."""
    wall_ids: frozenset[int]
    """The added tokens that are hard walls: text on one side never changes the ids on the other."""
    byte_level: bool
    """Each token stands for a fixed run of bytes, and all 256 bytes have one."""
    _backend: Tokenizer = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("special_tokens_map", "added_tokens", "chat_templates"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    # ==================
    # Encoding
    # ==================

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Encodes text to token ids.

        The text of an added token (`<|im_end|>`) becomes that token. `add_special_tokens` lets the
        tokenizer add what its own post-processor adds, a BOS token in most cases that add any.
        """
        return self._encode(text, add_special_tokens).ids

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        add_special_tokens: bool = True,
        return_offsets_mapping: bool = False,
    ) -> Encoded:
        """Encodes a text, or several, to a mapping with `input_ids` and `attention_mask`.

        With `return_offsets_mapping` also `offset_mapping`: each token's first character and the one
        after its last.
        """
        if isinstance(text, str):
            encodings = [self._encode(text, add_special_tokens)]
        else:
            encodings = [self._encode(one, add_special_tokens) for one in text]
        columns: dict[str, list[Any]] = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
        }
        if return_offsets_mapping:
            columns["offset_mapping"] = [encoding.offsets for encoding in encodings]
        if isinstance(text, str):
            return Encoded({key: values[0] for key, values in columns.items()})
        return Encoded(columns)

    def encode_pieces(self, texts: Sequence[str]) -> list[array[int]]:
        """Encodes texts without hard walls in them, each for itself and with nothing added.

        What was encoded lately is known. The arrays are shared, and not to be changed.
        """
        return self._pieces.encode(texts)

    @lazy
    def _pieces(self) -> PieceCache:
        return PieceCache(self._encode_batch, characters=_KEPT)

    def _encode_batch(self, texts: list[str]) -> list[Sequence[int]]:
        return encode_by_words(self._words, texts, lambda rest: encode_batch(self._backend, [texts[at] for at in rest]))

    @lazy
    def _words(self) -> WordEncoder | None:
        return word_encoder(
            self._backend, unless=frozenset(self.added_tokens) - (self.wall_texts & self.reserved_texts)
        )

    @lazy
    def plain(self) -> PlainEncoder:
        """An encoder that has the same vocabulary, and takes no text for a control token.

        Raises:
            TypeError: There can be none for this vocabulary.
        """
        reserved = {text: self.added_tokens[text] for text in self.reserved_texts}
        if self.reserved_texts <= self.wall_texts:
            words = self._words
        else:
            words = word_encoder(self._backend, unless=frozenset(self.added_tokens) - self.reserved_texts)
        return PlainEncoder(self._backend, words, reserved=reserved, characters=_KEPT)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Returns each token's first character in a text and the one after its last, with nothing added."""
        return self._encode(text, False).offsets

    def normalized(self, text: str) -> str:
        """Returns a text as it is after the tokenizer's own changes to it, and before it is split."""
        normalizer = self._backend.normalizer
        return text if normalizer is None else normalizer.normalize_str(text)

    @lazy
    def token_sizes(self) -> list[int]:
        """How many bytes of text each token is, by id, where tokens are bytes; 0 for ids that there are not."""
        vocabulary = self._backend.get_vocab(with_added_tokens=False)
        added = {number: text for text, number in self.added_tokens.items()}
        sizes = [0] * (max((*vocabulary.values(), *added), default=-1) + 1)
        for token, number in vocabulary.items():
            # In such a vocabulary each byte is written as one character.
            sizes[number] = len(token)
        for number, text in added.items():
            sizes[number] = len(text.encode())
        return sizes

    @lazy
    def wire_texts(self) -> WireTexts:
        """The text of each token by id, with one character for each byte."""
        if self.byte_level:
            return texts_of_bytes(self._backend, self.added_tokens)
        return texts_of_pieces(self._backend)

    @lazy
    def sizes_hold(self) -> bool:
        """Whether the sizes of the tokens of an ASCII text always make up the text: nothing changes or strips it."""
        return self.byte_level and self._words is not None and not self.stripping

    # ==================
    # Decoding
    # ==================

    def decode(self, token_ids: int | Iterable[int], skip_special_tokens: bool = False) -> str:
        """Decodes token ids to text, unaltered: spaces before punctuation stay.

        Ids that the vocabulary does not have give no text. Bytes that are not UTF-8 give U+FFFD.
        """
        ids = _as_ids(token_ids)
        if skip_special_tokens:
            ids = [number for number in ids if number not in self.special_ids]
        try:
            return self._backend.decode(ids, skip_special_tokens=False)
        except OverflowError:
            _refuse_ids(ids)

    def batch_decode(self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = False) -> list[str]:
        """Decodes several lists of ids, each as `decode` does."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # ==================
    # Tokens and ids
    # ==================

    @overload
    def convert_tokens_to_ids(self, tokens: str) -> int | None: ...
    @overload
    def convert_tokens_to_ids(self, tokens: list[str] | tuple[str, ...]) -> list[int | None]: ...
    def convert_tokens_to_ids(self, tokens: str | list[str] | tuple[str, ...]) -> int | list[int | None] | None:
        """Returns the id of a token, or of each of several; the unknown token's id (or None) for what is none."""
        if isinstance(tokens, str):
            number = self._backend.token_to_id(tokens)
            return self.unk_token_id if number is None else number
        return [self.convert_tokens_to_ids(token) for token in tokens]

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = False) -> str | None: ...
    @overload
    def convert_ids_to_tokens(self, ids: Iterable[int], skip_special_tokens: bool = False) -> list[str | None]: ...
    def convert_ids_to_tokens(
        self, ids: int | Iterable[int], skip_special_tokens: bool = False
    ) -> str | list[str | None] | None:
        """Returns the vocabulary's entry for an id, or for each of several; None for an id that it does not have."""
        numbers = _as_ids(ids)
        try:
            tokens = [
                self._backend.id_to_token(number)
                for number in numbers
                if not (skip_special_tokens and number in self.special_ids)
            ]
        except OverflowError:
            _refuse_ids(numbers)
        return tokens if isinstance(ids, Iterable) else tokens[0] if tokens else None

    def get_vocab(self) -> dict[str, int]:
        """Returns a new dict of every token and its id, added tokens included."""
        return self._backend.get_vocab(with_added_tokens=True)

    def get_added_vocab(self) -> dict[str, int]:
        """Returns a new dict of the tokens that were added to the vocabulary, and their ids."""
        return dict(self.added_tokens)

    @property
    def is_fast(self) -> bool:
        """True: there is no other kind."""
        return True

    @property
    def vocab_size(self) -> int:
        """The number of tokens without those that were added; `len(tokenizer)` counts them all."""
        return self._backend.get_vocab_size(with_added_tokens=False)

    def __len__(self) -> int:
        return self._backend.get_vocab_size(with_added_tokens=True)

    @property
    def known_by(self) -> str:
        """What is the same for tokenizers of the same files."""
        return self.source.digest

    @property
    def hard_walls(self) -> bool:
        """Whether every control token is a hard wall."""
        return self.special_ids <= self.wall_ids

    @lazy
    def wall_texts(self) -> frozenset[str]:
        """The texts of the tokens that are hard walls."""
        return frozenset(text for text, number in self.added_tokens.items() if number in self.wall_ids)

    @lazy
    def control_texts(self) -> frozenset[str]:
        """The texts of tokens that are there to control a model; of all added ones where none is marked so."""
        marked = {text for text, number in self.added_tokens.items() if number in self.special_ids}
        return frozenset(marked or {text for text in self.added_tokens if not text.isspace()})

    @lazy
    def stop_texts(self) -> frozenset[str]:
        """The texts of the tokens that `stop_token_ids` names; none where it names none."""
        return frozenset(text for text, number in self.added_tokens.items() if number in (self.stop_token_ids or ()))

    @lazy
    def reserved_texts(self) -> frozenset[str]:
        """The texts of all added tokens, special or not, but for those that are there for layout: runs of spaces."""
        return reserved_among(self.added_tokens)

    @lazy
    def stripping(self) -> Mapping[str, tuple[bool, bool]]:
        """The added tokens that take in the spaces before or after them."""
        added = self._backend.get_added_tokens_decoder().values()
        return {token.content: (token.lstrip, token.rstrip) for token in added if token.lstrip or token.rstrip}

    @property
    def all_special_tokens(self) -> list[str]:
        """The control tokens, in the order of their ids."""
        tokens = (self._backend.id_to_token(number) for number in self.all_special_ids)
        return [token for token in tokens if token is not None]

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of the control tokens, in order."""
        return sorted(self.special_ids)

    # ==================
    # Special tokens and templates
    # ==================

    def apply_chat_template(
        self,
        conversation: Iterable[Any],
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        return_dict: bool = True,
        **template_arguments: Any,
    ) -> str | list[int] | Encoded:
        """Renders a conversation as transformers' method of this name does, for callers that use that one.

        The template gets the messages in the form that they have; a renderer knows better. Returns a text
        without `tokenize`, else an `Encoded`, or its ids alone without `return_dict`.

        Raises:
            TypeError: An argument of that method which this one does not have, such as `return_tensors`.

        >>> from renderers import EMBEDDED, load_tokenizer
        >>> load_tokenizer(EMBEDDED).apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
        '<|turn|>user\\nHi<|end|>\\n'
        """
        # The layers above this one, which only this method reaches up to.
        from renderers.templating.chat import apply_template

        for name in _NOT_OURS & template_arguments.keys():
            if template_arguments.pop(name):
                raise TypeError(f"apply_chat_template gives lists of ids, and takes no {name}=")
        text = apply_template(
            conversation,
            named=self.chat_templates,
            name=self.name_or_path,
            tools=tools,
            chat_template=chat_template,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments={**self.special_tokens_map, "documents": documents, **template_arguments},
        )
        if not tokenize:
            return text
        encoded = self(text, add_special_tokens=False)
        return encoded if return_dict else encoded.input_ids

    @property
    def bos_token(self) -> str | None:
        return self.special_tokens_map.get("bos_token")

    @property
    def eos_token(self) -> str | None:
        return self.special_tokens_map.get("eos_token")

    @property
    def pad_token(self) -> str | None:
        return self.special_tokens_map.get("pad_token")

    @property
    def unk_token(self) -> str | None:
        return self.special_tokens_map.get("unk_token")

    @property
    def bos_token_id(self) -> int | None:
        return self._id_of(self.bos_token)

    @property
    def eos_token_id(self) -> int | None:
        return self._id_of(self.eos_token)

    @property
    def pad_token_id(self) -> int | None:
        return self._id_of(self.pad_token)

    @property
    def unk_token_id(self) -> int | None:
        return self._id_of(self.unk_token)

    @property
    def chat_template(self) -> str | None:
        """The default template's text; None where there is none."""
        return self.chat_templates.get("default")

    # ==================
    # Identity
    # ==================

    def seen_as(self, name: str, revision: str | None, source: Source) -> LoadedTokenizer:
        """Returns the same tokenizer as one caller asked for it and found it; the vocabulary is shared."""
        return replace(self, name_or_path=name, revision=revision, source=source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoadedTokenizer) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str | None, str]:
        return self.name_or_path, self.revision, self.source.digest

    def __copy__(self) -> LoadedTokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LoadedTokenizer:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.source.files:
            return _load_again, (self.name_or_path, self.revision, self.source)
        state = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "_backend"}
        plain = {key: dict(value) if isinstance(value, Mapping) else value for key, value in state.items()}
        return _rebuild, (plain, self._backend.to_str())

    def __repr__(self) -> str:
        at = f" at {self.source.commit}" if self.source.commit else ""
        return f"LoadedTokenizer({self.name_or_path!r}, {len(self)} tokens, from {self.source.location}{at})"

    # ==================
    # Private
    # ==================

    def _encode(self, text: str, add_special_tokens: bool) -> Encoding:
        try:
            return self._backend.encode(text, add_special_tokens=add_special_tokens)
        except TypeError:
            check_text(text)
            raise

    def _id_of(self, token: str | None) -> int | None:
        return None if token is None else self._backend.token_to_id(token)


def reserved_among(texts: Iterable[str]) -> frozenset[str]:
    """Returns the texts of added tokens that are more than layout: not runs of spaces and line breaks."""
    return frozenset(text for text in texts if text.replace("▁", " ").strip())


def _load_again(name: str, revision: str | None, source: Source) -> LoadedTokenizer:
    from renderers.tokenizer.load import load_tokenizer

    loaded = load_tokenizer(source.location, revision=source.commit)
    if loaded.source.digest != source.digest:
        raise TokenizerFileError(
            f"is not what it was when this tokenizer was pickled: the files of {source.location} differ. Give both "
            "processes the same files.",
            name=name,
        )
    if (name, revision) == (loaded.name_or_path, loaded.revision):
        return loaded
    return loaded.seen_as(name, revision, loaded.source)


def _rebuild(state: dict[str, Any], backend: str) -> LoadedTokenizer:
    return LoadedTokenizer(**state, _backend=Tokenizer.from_str(backend))


def _as_ids(ids: int | Iterable[int]) -> list[int]:
    """Returns plain numbers for one id or many: ints, arrays and tensors, and what is in them."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    return list(map(operator.index, ids)) if isinstance(ids, Iterable) else [operator.index(ids)]


def _refuse_ids(ids: Sequence[int]) -> NoReturn:
    """Says which number the Rust side would not take as a token id."""
    at = next(index for index, number in enumerate(ids) if not 0 <= number < 2**32)
    raise TokenIdError(f"{ids[at]} at position {at} is not a token id: ids are from 0 to 4294967295.")
