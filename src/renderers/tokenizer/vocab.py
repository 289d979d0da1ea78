"""`Vocab`: everything that is read from a tokenizer's files, and the tables derived from it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tokenizers import Encoding, Tokenizer

from renderers.core.lazy import lazy
from renderers.tokenizer.encoding.byte_text import ByteTexts, texts_of_bytes, texts_of_pieces
from renderers.tokenizer.encoding.piece_cache import PieceCache
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.engines.huggingface import check_text, encode_batch
from renderers.tokenizer.engines.words import WordEncoder, encode_by_words, word_encoder
from renderers.tokenizer.loading.single_flight import SingleFlight


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vocab:
    """The contents of a tokenizer's files and the tables derived from them; made by `shared_vocab`.

    There is one per digest in a process, so tables are built once. It is immutable, and threads share it.
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

    def encode_pieces(self, texts: Sequence[str]) -> list[array[int]]:
        """Encode texts without isolating tokens in them, each on its own, adding no special tokens.

        The arrays are shared with the cache. Do not modify them.
        """
        ids_of = self._piece_cache.lookup(texts)
        return [ids_of[text] for text in texts]

    @lazy
    def _piece_cache(self) -> PieceCache[array[int]]:
        # Locals instead of `self`: a cycle would keep the vocabulary in memory until the next garbage collection.
        backend, words = self.backend, self._words

        def encode(texts: list[str]) -> list[array[int]]:
            return encode_by_words(words, texts, lambda rest: encode_batch(backend, [texts[at] for at in rest]))

        return PieceCache(encode)

    @lazy
    def _words(self) -> WordEncoder | None:
        isolated = self.isolating_texts & self.reserved_texts
        return word_encoder(self.backend, unless=frozenset(self.added_tokens) - isolated)

    @lazy
    def plain(self) -> PlainEncoder:
        """An encoder with the same vocabulary that never encodes text to a special token.

        `TypeError` if the vocabulary has no other encoding for the text of one of its special tokens.
        """
        reserved = {text: self.added_tokens[text] for text in self.reserved_texts}
        if self.reserved_texts <= self.isolating_texts:
            words = self._words
        else:
            words = word_encoder(self.backend, unless=frozenset(self.added_tokens) - self.reserved_texts)
        return PlainEncoder(self.backend, words, reserved=reserved)

    def id_of(self, token: str | None) -> int | None:
        return None if token is None else self.backend.token_to_id(token)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end character of each token of a text, adding no special tokens."""
        return self.encode(text, add_special_tokens=False).offsets

    def normalized(self, text: str) -> str:
        normalizer = self.backend.normalizer
        return text if normalizer is None else normalizer.normalize_str(text)

    @lazy
    def byte_texts(self) -> ByteTexts:
        """The text of each token by id, with one character for each byte."""
        return texts_of_bytes(self.backend, self.added_tokens) if self.byte_level else texts_of_pieces(self.backend)

    token_sizes = lazy[list[int]](lambda self: self.byte_texts.sizes())
    """The number of bytes of each token by id. Only for byte-level vocabularies."""
    sizes_hold = lazy[bool](lambda self: self.byte_level and self._words is not None and not self.stripping)
    """True if the token sizes of any ASCII text add up to its length: no normalizer, no stripping."""
    isolating_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.isolating_token_ids))
    stop_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.stop_token_ids or ()))
    reserved_texts = lazy[frozenset[str]](lambda self: reserved_among(self.added_tokens))
    """The texts of all added tokens, special or not, except runs of spaces and newlines."""

    @lazy
    def control_texts(self) -> frozenset[str]:
        """The texts of the special tokens; of all added tokens but spaces if none is marked special."""
        return self._texts_of(self.special_ids) or frozenset(text for text in self.added_tokens if not text.isspace())

    def _texts_of(self, ids: Collection[int]) -> frozenset[str]:
        return frozenset(text for text, number in self.added_tokens.items() if number in ids)

    @lazy
    def stripping(self) -> Mapping[str, tuple[bool, bool]]:
        """The added tokens that absorb the spaces before or after them."""
        added = self.backend.get_added_tokens_decoder().values()
        return {token.content: (token.lstrip, token.rstrip) for token in added if token.lstrip or token.rstrip}


def reserved_among(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts of added tokens that are more than layout: not runs of spaces and newlines."""
    return frozenset(text for text in texts if text.replace("▁", " ").strip())


_VOCABS: SingleFlight[Vocab] = SingleFlight(keep=0, weak=True)
"""By digest. Weak: the caches of tokenizers decide how long a vocabulary without users is kept."""


def shared_vocab(digest: str, *, build: Callable[[], Vocab]) -> Vocab:
    """Return the process-wide `Vocab` of a digest; call `build` only if there is none."""
    return _VOCABS.get(digest, version=None, work=build)


def vocab_from_state(state: Mapping[str, Any]) -> Vocab:
    def build() -> Vocab:
        return Vocab(**{**state, "backend": Tokenizer.from_str(state["backend"])})

    return shared_vocab(state["digest"], build=build)
