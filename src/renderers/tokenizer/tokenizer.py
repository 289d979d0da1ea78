"""`LoadedTokenizer`: an immutable tokenizer that any number of threads may share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, overload

from renderers.core.inputs import MessageLike, ToolLike
from renderers.core.lazy import lazy
from renderers.core.options import BpeEngineName
from renderers.core.text import describe_type
from renderers.core.token_ids import as_ids, list_sequences
from renderers.errors import TokenizerFileError
from renderers.tokenizer.engines.select import EngineStatus
from renderers.tokenizer.vocab import Vocab, vocab_from_state

_UNSUPPORTED_ARGUMENTS = frozenset(
    "max_length padding return_assistant_tokens_mask return_tensors sanitize_control_tokens tokenizer_kwargs "
    "truncation".split()
)
"""Arguments of transformers' `apply_chat_template` that are not template variables."""


@dataclass(frozen=True, slots=True)
class TokenizerSource:
    """Where a tokenizer was read from."""

    location: str
    """An absolute path, a repository, or the type of the object that the tokenizer was adopted from."""
    commit: str | None
    """The commit of a repository."""
    files: tuple[str, ...]
    """The files that were read; empty for an adopted object."""
    missing: Mapping[str, str]
    """The optional files that were not read, each with the reason."""
    digest: str
    """A hash of everything that was read. Equal digests mean equal tokenizers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenizerSource, (self.location, self.commit, self.files, dict(self.missing), self.digest)


class TokenizerOutput(dict[str, Any]):
    """The result of calling a tokenizer: `input_ids`, `attention_mask` and optionally `offset_mapping`.

    The values are also available as attributes.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedTokenizer:
    """A tokenizer and everything read from its files; made by `load_tokenizer`.

    It cannot be changed, so threads share it without a lock. It pickles by name if it was loaded from files and
    by content if it was adopted from an object. Two tokenizers are equal if their name, revision and digest are.

    >>> from renderers import EXAMPLE_MODEL, load_tokenizer
    >>> tokenizer = load_tokenizer(EXAMPLE_MODEL)
    >>> tokenizer.decode(tokenizer.encode("Hello, world!"))
    'Hello, world!'
    """

    name_or_path: str
    """The name that was passed to `load_tokenizer`."""
    revision: str | None = None
    """The revision that was passed to `load_tokenizer`. `source.commit` is the commit that was read."""
    source: TokenizerSource
    vocab: Vocab
    """The vocabulary and its derived tables, shared by all tokenizers with the same digest. Internal: it may change
    in any release. `get_vocab()` returns the mapping from tokens to ids."""

    special_tokens_map = lazy[Mapping[str, str]](lambda self: MappingProxyType(self.vocab.special_tokens_map))
    """Special tokens by role: `bos_token`, `eos_token`, …"""
    added_tokens = lazy[Mapping[str, int]](lambda self: MappingProxyType(self.vocab.added_tokens))
    """The ids of all added tokens, special or not. Their texts are never split."""
    chat_templates = lazy[Mapping[str, str]](lambda self: MappingProxyType(self.vocab.chat_templates))
    """All chat templates by name. `chat_template` is the one named `default`."""
    stop_token_ids = lazy[tuple[int, ...] | None](lambda self: self.vocab.stop_token_ids)
    """The `eos_token_id` of `generation_config.json`, always as a tuple; None if the file has none."""
    takes_images = lazy[bool | None](lambda self: self.vocab.takes_images)
    """True if `config.json` has a key of vision models; None without that file."""
    takes_audio = lazy[bool | None](lambda self: self.vocab.takes_audio)
    """True if `config.json` has a key of audio models; None without that file."""
    response_template = lazy[Mapping[str, Any] | None](lambda self: self.vocab.response_template)
    """Hugging Face's record of the format of turns, in `tokenizer_config.json`; None if there is none."""
    is_fast: ClassVar[bool] = True
    """Always True."""
    vocab_size = lazy[int](lambda self: self.vocab.facts.model_size)
    """The number of tokens without added tokens. `len(tokenizer)` includes them."""
    chat_template = lazy[str | None](lambda self: self.chat_templates.get("default"))
    """The default chat template; None if there is none."""
    bos_token = lazy[str | None](lambda self: self.special_tokens_map.get("bos_token"))
    eos_token = lazy[str | None](lambda self: self.special_tokens_map.get("eos_token"))
    pad_token = lazy[str | None](lambda self: self.special_tokens_map.get("pad_token"))
    unk_token = lazy[str | None](lambda self: self.special_tokens_map.get("unk_token"))
    bos_token_id = lazy[int | None](lambda self: self.vocab.id_of(self.bos_token))
    eos_token_id = lazy[int | None](lambda self: self.vocab.id_of(self.eos_token))
    pad_token_id = lazy[int | None](lambda self: self.vocab.id_of(self.pad_token))
    unk_token_id = lazy[int | None](lambda self: self.vocab.id_of(self.unk_token))

    @property
    def bpe_engine(self) -> EngineStatus:
        """The library that encodes text for renderers now, its version, and the reason.

        `encode` and calls of the tokenizer always use `tokenizers`: they return offsets and add special tokens.
        """
        return self.vocab.engines.status

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Encode text to token ids.

        The text of an added token (`<|im_end|>`) becomes that token. With `add_special_tokens`, the post-processor of
        the tokenizer adds its tokens, usually a BOS token if any.
        """
        return self.vocab.encode(text, add_special_tokens=add_special_tokens).ids

    def __call__(
        self, text: str | Sequence[str], *, add_special_tokens: bool = True, return_offsets_mapping: bool = False
    ) -> TokenizerOutput:
        """Encode a text, or several, to a mapping with `input_ids` and `attention_mask`.

        With `return_offsets_mapping` also `offset_mapping`: the start and end character of each token.
        """
        texts = [text] if isinstance(text, str) else _list_texts(text, name="text")
        encodings = [self.vocab.encode(item, add_special_tokens=add_special_tokens) for item in texts]
        output: dict[str, list[Any]] = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
        }
        if return_offsets_mapping:
            output["offset_mapping"] = [encoding.offsets for encoding in encodings]
        return TokenizerOutput({key: row for key, (row,) in output.items()} if isinstance(text, str) else output)

    def decode(self, token_ids: int | Iterable[int], skip_special_tokens: bool = False) -> str:
        """Decode token ids to text, without cleaning up spaces.

        Ids that are not in the vocabulary are skipped. Bytes that are not UTF-8 become U+FFFD.

        Raises:
            TypeError: A value is not an int. Names its position.
            TokenIdError: A number is negative, or above 4,294,967,295. Names its position.
        """
        return self.vocab.decode(self._ids(token_ids, skip_special_tokens, name="token_ids"))

    def batch_decode(self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = False) -> list[str]:
        """Decode several lists of ids."""
        rows = list_sequences(sequences, name="sequences")
        return [self.decode(ids, skip_special_tokens) for ids in rows]

    @overload
    def convert_tokens_to_ids(self, tokens: str) -> int | None: ...
    @overload
    def convert_tokens_to_ids(self, tokens: list[str] | tuple[str, ...]) -> list[int | None]: ...
    def convert_tokens_to_ids(self, tokens: str | list[str] | tuple[str, ...]) -> int | list[int | None] | None:
        """Return the id of a token, or of each of several; `unk_token_id` for a text that is not a token."""
        if isinstance(tokens, str):
            number = self.vocab.id_of(tokens)
            return self.unk_token_id if number is None else number
        return [self.convert_tokens_to_ids(token) for token in _list_texts(tokens, name="tokens")]

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = False) -> str | None: ...
    @overload
    def convert_ids_to_tokens(self, ids: Iterable[int], skip_special_tokens: bool = False) -> list[str | None]: ...
    def convert_ids_to_tokens(
        self, ids: int | Iterable[int], skip_special_tokens: bool = False
    ) -> str | list[str | None] | None:
        """Return the token of an id, or of each of several; None for an id that is not in the vocabulary."""
        tokens = list(map(self.vocab.backend.id_to_token, self._ids(ids, skip_special_tokens, name="ids")))
        return tokens if isinstance(ids, Iterable) else tokens[0] if tokens else None

    def get_vocab(self) -> dict[str, int]:
        """Return a new dict of all tokens and their ids, including added tokens."""
        return self.vocab.backend.get_vocab(with_added_tokens=True)

    def get_added_vocab(self) -> dict[str, int]:
        """Return a new dict of the added tokens and their ids."""
        return dict(self.added_tokens)

    def __len__(self) -> int:
        return self.vocab.facts.size

    @property
    def all_special_tokens(self) -> list[str]:
        """The special tokens, in the order of their ids."""
        return [token for token in self.convert_ids_to_tokens(self.all_special_ids) if token is not None]

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of the special tokens, which `skip_special_tokens` skips, in order."""
        return sorted(self.vocab.special_ids)

    def apply_chat_template(
        self,
        conversation: Iterable[MessageLike],
        tools: Iterable[ToolLike] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        return_dict: bool = True,
        **template_arguments: Any,
    ) -> str | list[int] | TokenizerOutput:
        """Render a conversation with the chat template, as the method of transformers with this name does.

        The template gets the messages unchanged. A renderer also adapts them to the format that the template expects.
        Returns a `TokenizerOutput`, a list of ids without `return_dict`, or a str without `tokenize`.

        Raises:
            TypeError: An argument of the method of transformers is not supported here, such as `return_tensors`.

        >>> from renderers import EXAMPLE_MODEL, load_tokenizer
        >>> load_tokenizer(EXAMPLE_MODEL).apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
        '<|turn|>user\\nHi<|end|>\\n'
        """
        # A higher layer, needed only by this method.
        from renderers.templating.chat import apply_template

        for name in _UNSUPPORTED_ARGUMENTS & template_arguments.keys():
            if template_arguments.pop(name):
                raise TypeError(f"apply_chat_template returns lists of ids and does not support {name}=")
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoadedTokenizer) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    _identity = lazy[tuple[str, str | None, str]](lambda self: (self.name_or_path, self.revision, self.source.digest))

    def __copy__(self) -> LoadedTokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LoadedTokenizer:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.source.files:
            return _load_again, (self.name_or_path, self.revision, self.source, self.vocab.bpe_engine)
        return _rebuild, (self.name_or_path, self.revision, self.source, self.vocab.state())

    def __repr__(self) -> str:
        at = f" at {self.source.commit}" if self.source.commit else ""
        return f"LoadedTokenizer({self.name_or_path!r}, {len(self)} tokens, from {self.source.location}{at})"

    def _ids(self, ids: int | Iterable[int], skip_special_tokens: bool, *, name: str) -> list[int]:
        """Return a list of ints for one id or several: ints, arrays or tensors."""
        numbers = as_ids([ids] if type(ids) is int else ids, name=name)
        skipped = self.vocab.special_ids if skip_special_tokens else ()
        return [number for number in numbers if number not in skipped] if skipped else numbers


def _list_texts(texts: Sequence[str], *, name: str) -> list[str]:
    if isinstance(texts, Iterable) and not isinstance(texts, bytes | Mapping):
        return list(texts)
    raise TypeError(f"{name} must be a str or a list of str, not {describe_type(texts)}")


def _load_again(name: str, revision: str | None, source: TokenizerSource, bpe_engine: BpeEngineName) -> LoadedTokenizer:
    # The loader imports this class.
    from renderers.tokenizer.loading.load import load_tokenizer

    loaded = load_tokenizer(source.location, revision=source.commit, bpe_engine=bpe_engine)
    if loaded.source.digest != source.digest:
        fault = f"changed since this tokenizer was pickled: the files of {source.location} differ."
        raise TokenizerFileError(f"{fault} Use the same files in both processes.", name=name)
    if (name, revision) == (loaded.name_or_path, loaded.revision):
        return loaded
    return replace(loaded, name_or_path=name, revision=revision)


def _rebuild(name: str, revision: str | None, source: TokenizerSource, state: dict[str, Any]) -> LoadedTokenizer:
    return LoadedTokenizer(name_or_path=name, revision=revision, source=source, vocab=vocab_from_state(state))
