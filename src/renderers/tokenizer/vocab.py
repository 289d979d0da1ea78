"""`Vocab`: everything that is read from a tokenizer's files, and the tables derived from it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from renderers.core.lazy import lazy
from renderers.core.options import BpeEngineName
from renderers.core.spans import TokenMatch
from renderers.tokenizer.encoding.byte_text import (
    BYTE_SYMBOLS,
    UNKNOWN,
    ByteTexts,
    TokenTexts,
    from_byte_text,
    text_of_bytes,
    text_of_pieces,
    texts_of_bytes,
    texts_of_pieces,
)
from renderers.tokenizer.encoding.normalized import NormalizedText, compose
from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, TokenPlaces, size_of_places
from renderers.tokenizer.encoding.plain import PlainEncoder
from renderers.tokenizer.encoding.token_sizes import TokenSizes
from renderers.tokenizer.engines.base import encode_with
from renderers.tokenizer.engines.huggingface import check_text, encode_batch
from renderers.tokenizer.engines.native import EncodedParts
from renderers.tokenizer.engines.select import EngineChoice, VocabularyFile, check_engine
from renderers.tokenizer.facts import TokenizerFacts, facts_of
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer, normalizer_of
from renderers.tokenizer.loading.single_flight import SingleFlight
from renderers.tokenizer.storage.store import save
from renderers.tokenizer.stored import STORED_FIELDS, StoredVocabulary, find_compiled, sections_of

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Vocab:
    """The contents of a tokenizer's files and the tables derived from them; made by `shared_vocab`.

    There is one per digest and `bpe_engine` in a process, so tables are built once. It is immutable, and threads share
    it.
    """

    digest: str
    """A hash of everything it was built from."""
    truth: LazyTokenizer
    """The tokenizer of the files, which defines the ids."""
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
    stored: StoredVocabulary | None = None
    """The content of its file in the cache folder; None if there was none when it was loaded."""
    is_storable: bool = False
    """True if it may be written to the cache folder."""

    def state(self) -> dict[str, Any]:
        """Return the fields in a form that can be pickled; `vocab_from_state` is the inverse."""
        names = {entry.name for entry in fields(self)} - {"truth", "stored", "is_storable"}
        return {name: getattr(self, name) for name in names} | {"backend": self.backend.to_str()}

    @property
    def backend(self) -> Tokenizer:
        """The tokenizer of the files, built if it was not used before."""
        return self.truth.tokenizer

    @lazy
    def facts(self) -> TokenizerFacts:
        """Facts about `backend`."""
        return facts_of(self.backend) if self.stored is None else self.stored.facts

    def encode(self, text: str, *, add_special_tokens: bool) -> Encoding:
        """Encode one text. Raise `UnencodableTextError` if it contains a lone surrogate."""
        try:
            return self.backend.encode(text, add_special_tokens=add_special_tokens)
        except TypeError:
            check_text(text)
            raise

    def decode(self, ids: list[int]) -> str:
        """Decode ids, special tokens included. Those that are not in the vocabulary are skipped."""
        if self.stored is None or not self.byte_level or not self._symbol_tokens.isdisjoint(ids):
            return self.backend.decode(ids, skip_special_tokens=False)
        texts = self.token_texts
        return from_byte_text("".join([text for number in ids if (text := texts[number]) != UNKNOWN]))

    @lazy
    def _symbol_tokens(self) -> frozenset[int]:
        """The added tokens that `backend` decodes to other text than their own: each character stands for a byte."""
        symbols = frozenset(BYTE_SYMBOLS)
        added = self.added_tokens.items()
        return frozenset(number for text, number in added if not text.isascii() and symbols.issuperset(text))

    def encode_pieces(self, texts: Sequence[str]) -> list[PackedIds]:
        """Encode texts without isolating tokens in them, each on its own, adding no special tokens."""
        return self._piece_cache.lookup(texts)

    def encode_parts(
        self, texts: tuple[str, ...], marks: tuple[list[TokenMatch], ...]
    ) -> Sequence[EncodedParts | None]:
        """Encode texts that are cut at isolating tokens, with the same ids as those of their pieces and of the tokens.

        A text is None if there is no engine that takes such a text.
        """
        engine = self.engines.ready
        if engine is None:
            return [None] * len(texts)
        return engine.encode_parts(texts, marks, self.added_tokens, self._piece_cache)

    @lazy
    def _piece_cache(self) -> PieceCache[PackedIds]:
        # Locals instead of `self`: a cycle would keep the vocabulary in memory until the next garbage collection.
        truth, engines = self.truth, self.engines

        def encode(texts: list[str]) -> list[PackedIds]:
            def otherwise(rest: list[int]) -> list[list[int]]:
                return encode_batch(truth.tokenizer, [texts[at] for at in rest])

            return encode_with(engines.engine_for(texts), texts, otherwise)

        return PieceCache(encode, size=bytes.__sizeof__)

    @lazy
    def engines(self) -> EngineChoice:
        """The engines that are faster than `backend`. They do not find the tokens in `isolated_texts`."""
        file = VocabularyFile(partial(find_compiled, self.digest), writer_of(self, save)) if self.is_storable else None
        return EngineChoice(
            self.bpe_engine,
            self.truth,
            self.facts,
            added=frozenset(self.added_tokens),
            isolated=self.isolated_texts,
            cutting=self._cutting_tokens,
            stored=None if self.stored is None else self.stored.compiled,
            file=file,
        )

    @lazy
    def plain(self) -> PlainEncoder:
        """An encoder with the same vocabulary that never encodes text to a special token.

        `TypeError` if the vocabulary has no other encoding for the text of one of its special tokens.
        """
        reserved = {text: self.added_tokens[text] for text in self.reserved_texts}
        # An engine sees a text as the first one.
        engines = None if self.facts.prepends_a_space else self.engines
        return PlainEncoder(self.backend, engines, reserved=reserved, isolated=self.isolated_texts)

    def id_of(self, token: str | None) -> int | None:
        if token is None:
            return None
        number = self.added_tokens.get(token)
        return self.backend.token_to_id(token) if number is None else number

    def places(self, text: str) -> TokenPlaces:
        """Return the places of the tokens of a text, adding no special tokens."""
        return self._places_cache.lookup([text])[0]

    @lazy
    def _places_cache(self) -> PieceCache[TokenPlaces]:
        truth = self.truth

        def find(texts: list[str]) -> list[TokenPlaces]:
            encoded = (truth.tokenizer.encode(text, add_special_tokens=False) for text in texts)
            return [TokenPlaces.of_offsets(encoding.offsets) for encoding in encoded]

        return PieceCache(find, size=size_of_places)

    @lazy
    def token_texts(self) -> TokenTexts:
        """The text of each token by id, with one character for each byte. Each is looked up on first use."""
        if self.stored is not None:
            return TokenTexts(self.stored.text_of)
        backend = self.backend
        return TokenTexts(text_of_bytes(backend, self.added_tokens) if self.byte_level else text_of_pieces(backend))

    @lazy
    def byte_texts(self) -> ByteTexts:
        """The same texts of the whole vocabulary."""
        if self.stored is not None:
            return self.stored.all_texts()
        return _all_texts(self.backend, self.added_tokens if self.byte_level else None)

    @lazy
    def token_sizes(self) -> TokenSizes | None:
        """The number of bytes of each token by id; None if they do not add up to the size of a text."""
        if not self.byte_level and not self.facts.replaces_only_spaces:
            return None
        return TokenSizes(self.token_texts, None if self.stored is None else self.stored.ends)

    def keeps(self, text: str) -> bool:
        """Return True if the normalizer does not change a text, or only writes spaces as another character."""
        if not self.byte_level:
            return "▁" not in text
        if not self.facts.normalizes or (self.facts.composes and self.engines.keeps(text)):
            return True
        return self._kept_texts.lookup([text])[0]

    def normalized(self, text: str) -> NormalizedText | None:
        """Return the text that the tokens of a text have, and the places of its characters; None if not known."""
        if not self.byte_level:
            return NormalizedText(text.replace("▁", " "), array("q"))
        return compose(text) if self.facts.composes else None

    @lazy
    def _kept_texts(self) -> PieceCache[bool]:
        """Whether the normalizer changes a text, for those with unusual characters."""
        normalize = normalizer_of(self.truth, self.facts)

        def find(texts: list[str]) -> list[bool]:
            return [normalize(text) == text for text in texts]

        return PieceCache(find, size=int.__sizeof__)

    isolating_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.isolating_token_ids))
    stop_texts = lazy[frozenset[str]](lambda self: self._texts_of(self.stop_token_ids or ()))
    reserved_texts = lazy[frozenset[str]](lambda self: reserved_among(self.added_tokens))
    """The texts of all added tokens, special or not, except runs of spaces and newlines."""
    isolates_reserved = lazy[bool](lambda self: self.reserved_texts <= self.isolating_texts)
    """True if all of these isolate."""
    gives_offsets: ClassVar[bool] = True
    """True: the places of all tokens are known."""

    @lazy
    def control_texts(self) -> frozenset[str]:
        """The texts of the special tokens; of all added tokens but spaces if none is marked special."""
        return self._texts_of(self.special_ids) or frozenset(text for text in self.added_tokens if not text.isspace())

    @lazy
    def isolated_texts(self) -> frozenset[str]:
        """The tokens that no piece contains: isolating and reserved ones, unless other text is normalized to them."""
        added = self.facts.added if self.facts.normalizes else ()
        return (self.isolating_texts & self.reserved_texts).difference(
            token.content for token in added if token.normalized
        )

    def _texts_of(self, ids: Collection[int]) -> frozenset[str]:
        return frozenset(text for text, number in self.added_tokens.items() if number in ids)

    @lazy
    def _cutting_tokens(self) -> dict[str, int]:
        """The added tokens that pieces can contain and that are matched by their texts alone, with their ids."""
        # A token that is matched in normalized text could be found across a cut.
        if self.facts.normalizes and any(token.normalized for token in self.facts.added):
            return {}
        contents = (content for content, *flags in self.facts.added if content and not any(flags))
        return {content: self.added_tokens[content] for content in contents if content not in self.isolated_texts}

    @lazy
    def stripping(self) -> Mapping[str, tuple[bool, bool]]:
        """The added tokens that absorb the spaces before or after them."""
        added = self.facts.added
        return {token.content: (token.lstrip, token.rstrip) for token in added if token.lstrip or token.rstrip}


def _all_texts(backend: Tokenizer, added: Mapping[str, int] | None) -> ByteTexts:
    """Return the byte texts of all tokens. `added` are the added tokens of a byte-level vocabulary."""
    return texts_of_pieces(backend) if added is None else texts_of_bytes(backend, added)


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
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(state["backend"])
        rest = {name: value for name, value in state.items() if name != "backend"}
        return Vocab(**{**rest, "truth": LazyTokenizer(state["digest"], lambda: tokenizer), "bpe_engine": "auto"})

    return vocab_with_engine(shared_vocab(state["digest"], build=build), state["bpe_engine"])


def vocab_from_stored(digest: str, stored: StoredVocabulary, truth: LazyTokenizer) -> Vocab:
    """Return the vocabulary of a file in the cache folder."""
    values = dict(stored.fields)
    for name in ("special_ids", "isolating_token_ids"):
        values[name] = frozenset(values[name])
    stops = values["stop_token_ids"]
    values["stop_token_ids"] = None if stops is None else tuple(stops)
    return Vocab(digest=digest, truth=truth, stored=stored, is_storable=True, **values)


def writer_of(vocab: Vocab, save_sections: Callable[[str, Mapping[str, bytes]], T]) -> Callable[[bytes], T]:
    """Return a function that saves a compiled vocabulary. It has no reference to `vocab`."""
    digest, truth = vocab.digest, vocab.truth
    values = {name: getattr(vocab, name) for name in STORED_FIELDS}
    values = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()}
    added = vocab.added_tokens if vocab.byte_level else None

    def write(compiled: bytes) -> T:
        backend = truth.tokenizer
        sections = sections_of(
            fields=values,
            facts=facts_of(backend),
            texts=_all_texts(backend, added),
            compiled=compiled,
            tokenizer=backend.to_str(),
        )
        return save_sections(digest, sections)

    return write
