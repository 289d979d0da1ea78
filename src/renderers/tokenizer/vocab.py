"""`Vocab`: everything that is read from a tokenizer's files, and the tables derived from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tokenizers import AddedToken, Encoding, Tokenizer

from renderers.core.lazy import lazy
from renderers.core.options import BpeEngineName
from renderers.tokenizer.encoding.byte_text import (
    ByteTexts,
    TokenTexts,
    text_of_bytes,
    text_of_pieces,
    texts_of_bytes,
    texts_of_pieces,
)
from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, TokenPlaces, size_of_places
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.encoding.token_sizes import TokenSizes, replaces_only_spaces
from renderers.tokenizer.engines.base import encode_with
from renderers.tokenizer.engines.huggingface import (
    NFC_KEEPS,
    check_text,
    component_types,
    encode_batch,
    prepends_a_space,
)
from renderers.tokenizer.engines.select import EngineChoice, check_engine
from renderers.tokenizer.loading.single_flight import SingleFlight


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vocab:
    """The contents of a tokenizer's files and the tables derived from them; made by `shared_vocab`.

    There is one per digest and `bpe_engine` in a process, so tables are built once. It is immutable, and threads share
    it.
    """

    digest: str
    """A hash of everything it was built from."""
    backend: Tokenizer
    special_tokens_map: Mapping[str, str]
    added_tokens: Mapping[str, int]
    special_ids: frozenset[int]
    chat_templates: Mapping[str, str]
    stop_token_ids: tuple[int, ...] | None
    takes_images: bool | None
    takes_audio: bool | None
    isolating_token_ids: frozenset[int]
    byte_level: bool
    response_template: Mapping[str, Any] | None = None
    bpe_engine: BpeEngineName = "auto"
    """The option, not the engine that is in use: `engines.status` is that."""

    def state(self) -> dict[str, Any]:
        """Return the fields in a form that can be pickled; `vocab_from_state` is the inverse."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)} | {"backend": self.backend.to_str()}

    def encode(self, text: str, *, add_special_tokens: bool) -> Encoding:
        """Encode one text. Raise `UnencodableTextError` if it contains a lone surrogate."""
        try:
            return self.backend.encode(text, add_special_tokens=add_special_tokens)
        except TypeError:
            check_text(text)
            raise

    def encode_pieces(self, texts: Sequence[str]) -> list[PackedIds]:
        """Encode texts without isolating tokens in them, each on its own, adding no special tokens."""
        pieces = self._piece_cache.lookup(texts)
        return [pieces[text] for text in texts]

    @lazy
    def _piece_cache(self) -> PieceCache[PackedIds]:
        # Locals instead of `self`: a cycle would keep the vocabulary in memory until the next garbage collection.
        backend, engines = self.backend, self.engines

        def encode(texts: list[str]) -> list[PackedIds]:
            def otherwise(rest: list[int]) -> list[list[int]]:
                return encode_batch(backend, [texts[at] for at in rest])

            return encode_with(engines.engine_for(texts), texts, otherwise)

        return PieceCache(encode, size=sys.getsizeof)

    @lazy
    def engines(self) -> EngineChoice:
        """The engines that are faster than `backend`. They do not find the tokens in `isolated_texts`."""
        return EngineChoice(
            self.bpe_engine,
            self.backend,
            digest=self.digest,
            added=frozenset(self.added_tokens),
            isolated=self.isolated_texts,
            layout=self._layout_tokens,
        )

    @lazy
    def plain(self) -> PlainEncoder:
        """An encoder with the same vocabulary that never encodes text to a special token.

        `TypeError` if the vocabulary has no other encoding for the text of one of its special tokens.
        """
        reserved = {text: self.added_tokens[text] for text in self.reserved_texts}
        # An engine sees a text as the first one.
        engines = None if prepends_a_space(self.backend) else self.engines
        return PlainEncoder(self.backend, engines, reserved=reserved)

    def id_of(self, token: str | None) -> int | None:
        return None if token is None else self.backend.token_to_id(token)

    def places(self, text: str) -> TokenPlaces:
        """Return the places of the tokens of a text, adding no special tokens."""
        return self._places_cache.lookup([text])[text]

    @lazy
    def _places_cache(self) -> PieceCache[TokenPlaces]:
        backend = self.backend

        def find(texts: list[str]) -> list[TokenPlaces]:
            encoded = (backend.encode(text, add_special_tokens=False) for text in texts)
            return [TokenPlaces.of_offsets(encoding.offsets) for encoding in encoded]

        return PieceCache(find, size=size_of_places)

    @lazy
    def token_texts(self) -> TokenTexts:
        """The text of each token by id, with one character for each byte. Each is looked up on first use."""
        backend = self.backend
        return TokenTexts(text_of_bytes(backend, self.added_tokens) if self.byte_level else text_of_pieces(backend))

    @lazy
    def byte_texts(self) -> ByteTexts:
        """The same texts of the whole vocabulary."""
        return texts_of_bytes(self.backend, self.added_tokens) if self.byte_level else texts_of_pieces(self.backend)

    @lazy
    def token_sizes(self) -> TokenSizes | None:
        """The number of bytes of each token by id; None if they do not add up to the size of a text."""
        if not self.byte_level and not replaces_only_spaces(self.backend):
            return None
        return TokenSizes(self.token_texts)

    def keeps(self, text: str) -> bool:
        """Return True if the normalizer does not change a text, or only writes spaces as another character."""
        if not self.byte_level:
            return "▁" not in text
        return (self._composes and NFC_KEEPS.fullmatch(text) is not None) or self._kept_texts.lookup([text])[text]

    @lazy
    def _kept_texts(self) -> PieceCache[bool]:
        """Whether the normalizer changes a text, for those with unusual characters."""
        normalizer = self.backend.normalizer

        def find(texts: list[str]) -> list[bool]:
            return [normalizer is None or normalizer.normalize_str(text) == text for text in texts]

        return PieceCache(find, size=sys.getsizeof)

    _composes = lazy[bool](lambda self: {"NFC"}.issuperset(component_types(self.backend.normalizer)))
    """True if the normalizer is NFC, or there is none."""

    isolating_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.isolating_token_ids))
    stop_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.stop_token_ids or ()))
    reserved_texts = lazy[frozenset[str]](lambda self: reserved_among(self.added_tokens))
    """The texts of all added tokens, special or not, except runs of spaces and newlines."""
    isolates_reserved = lazy[bool](lambda self: self.reserved_texts <= self.isolating_texts)
    """True if all of these isolate."""

    @lazy
    def control_texts(self) -> frozenset[str]:
        """The texts of the special tokens; of all added tokens but spaces if none is marked special."""
        return self._texts_of(self.special_ids) or frozenset(text for text in self.added_tokens if not text.isspace())

    @lazy
    def isolated_texts(self) -> frozenset[str]:
        """The tokens that no piece contains: isolating and reserved ones, unless other text is normalized to them."""
        added = self._added_tokens if self.backend.normalizer is not None else ()
        return (self.isolating_texts & self.reserved_texts).difference(
            token.content for token in added if token.normalized
        )

    _added_tokens = lazy[list[AddedToken]](lambda self: list(self.backend.get_added_tokens_decoder().values()))
    """Vocabularies have up to thousands, and each call of the Rust library copies them."""

    def _texts_of(self, ids: Collection[int]) -> frozenset[str]:
        return frozenset(text for text, number in self.added_tokens.items() if number in ids)

    @lazy
    def _layout_tokens(self) -> dict[str, int]:
        """The runs of spaces and newlines among the added tokens, unless one may be more than its own text."""
        layout = [token for token in self._added_tokens if token.content and token.content not in self.reserved_texts]
        if any(token.normalized or token.lstrip or token.rstrip or token.single_word for token in layout):
            return {}
        return {token.content: self.added_tokens[token.content] for token in layout}

    @lazy
    def stripping(self) -> Mapping[str, tuple[bool, bool]]:
        """The added tokens that absorb the spaces before or after them."""
        added = self._added_tokens
        return {token.content: (token.lstrip, token.rstrip) for token in added if token.lstrip or token.rstrip}


def reserved_among(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts of added tokens that are more than layout: not runs of spaces and newlines."""
    return frozenset(text for text in texts if text.replace("▁", " ").strip())


_VOCABS: SingleFlight[Vocab] = SingleFlight(keep=0, weak=True)
"""By digest, and by engine if it is not `"auto"`.

Weak: the caches of tokenizers decide how long a vocabulary without users is kept.
"""


def shared_vocab(digest: str, *, build: Callable[[], Vocab]) -> Vocab:
    """Return the process-wide `Vocab` of a digest; call `build` only if there is none."""
    return _VOCABS.get(digest, version=None, work=build)


def vocab_with_engine(vocab: Vocab, bpe_engine: BpeEngineName) -> Vocab:
    """Return the process-wide `Vocab` of the same files with another value of `bpe_engine`.

    Raises:
        ModuleNotFoundError: The engine is not installed.
        ValueError: There is no such engine.
    """
    check_engine(bpe_engine)
    if vocab.bpe_engine == bpe_engine:
        return vocab
    return _VOCABS.get((vocab.digest, bpe_engine), version=None, work=lambda: replace(vocab, bpe_engine=bpe_engine))


def vocab_from_state(state: Mapping[str, Any]) -> Vocab:
    def build() -> Vocab:
        return Vocab(**{**state, "backend": Tokenizer.from_str(state["backend"]), "bpe_engine": "auto"})

    return vocab_with_engine(shared_vocab(state["digest"], build=build), state["bpe_engine"])
