"""The engine in C: it encodes with a compiled vocabulary."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from renderers.core.native import COMPILED, native
from renderers.core.spans import TokenMatch
from renderers.core.special_tokens import find_special_tokens
from renderers.core.text import compile_alternation
from renderers.tokenizer.compiled.block import FORMAT, CompiledVocabulary
from renderers.tokenizer.encoding.piece_cache import PackedIds, PieceCache, pack_ids
from renderers.tokenizer.engines.huggingface import check_text

_CACHED_BYTES = 2**22 + 256
"""The size of the cache of words that are several tokens, with its lock and room to align it."""
_SEEN_BYTES = 2**19
"""The size of the table of pieces that were encoded once, with 4 bytes for each, in sets of 4."""
_SHORTEST_PIECE = 32
"""The characters of the shortest piece of a text that is looked up. Shorter ones are encoded in less time."""

EncodedParts = tuple[PackedIds, bytes, bytes]
"""The ids of a text, the borders of its parts, and the number of ids up to the end of each part, all packed."""


class NativeEngine:
    """Encode texts with a compiled vocabulary, to the ids of the tokenizer that it was compiled from.

    Threads share it. A call in C releases the global lock for a part of a long text. Only one call at a time uses the
    cache of words; another one at the same time encodes without it.
    """

    name = "native"
    version = str(FORMAT)

    def __init__(
        self,
        vocabulary: CompiledVocabulary,
        *,
        normalize: Callable[[str], str],
        added: frozenset[str],
        cutting: Mapping[str, int] | None = None,
    ) -> None:
        """Take a compiled vocabulary, the normalizer of its tokenizer, and the added tokens that texts may contain.

        Texts with one of these are not taken, except those in `cutting`, with their ids, at which texts are cut.
        `normalize` is called for texts that the normalizer may change. `RuntimeError` without the C extension.
        """
        if not COMPILED:
            raise RuntimeError("the C extension is not installed")
        self.vocabulary = vocabulary
        self._encode = native.encode_bpe
        self._normalize = normalize
        self._cutting = dict(cutting or {})
        self._added = compile_alternation(added.difference(self._cutting))
        self._cuts = frozenset(self._cutting)
        self._cache = bytearray(_CACHED_BYTES)
        self._seen = bytearray(_SEEN_BYTES)

    def encode(self, texts: Sequence[str]) -> list[PackedIds | None]:
        """Encode texts. Those with an added token, or with characters of unknown properties, are None."""
        texts = list(texts)
        # Before texts are cut: an added token may contain one at which they are.
        kept = texts if self._added is None else ["" if self._added.search(text) else text for text in texts]
        try:
            encoded = self._encode_cut(kept) if self._cuts else self._encode_pieces(kept)
        except UnicodeEncodeError:
            for text in texts:
                check_text(text)
            raise
        if kept is texts:
            return encoded
        return [None if text and not own else ids for text, own, ids in zip(texts, kept, encoded, strict=True)]

    def encode_parts(
        self,
        texts: tuple[str, ...],
        marks: tuple[list[TokenMatch], ...],
        added_tokens: Mapping[str, int],
        pieces: PieceCache[PackedIds],
    ) -> Sequence[EncodedParts | None]:
        """Encode texts that are cut at matches, with the pieces of a cache, which gets those that come a second time.

        The text between the matches is also cut at the tokens of `cutting`. A text is None if the engine does not take
        each piece of it.
        """
        if self._added is not None:
            return [None] * len(texts)
        if self._cuts:
            marks = tuple(map(self._with_cuts, texts, marks))
        block, cache = self.vocabulary.buffer, self._cache
        young, old = pieces.generations
        parts, fresh = native.encode_parts(
            block, cache, self._seen, texts, marks, added_tokens, young, old, _SHORTEST_PIECE, self._normalize
        )
        if fresh:
            pieces.keep(young, fresh)
        return parts

    def replace_used_cache(self) -> None:
        """Replace the cache of words in a forked process, if a thread of the parent was using it.

        That thread is gone, and may have left a part of an entry.
        """
        if self._cache[0]:
            self._cache = bytearray(_CACHED_BYTES)

    def _with_cuts(self, text: str, marks: list[TokenMatch]) -> list[TokenMatch]:
        """Return matches, and between them those of the tokens at which texts are cut."""
        cuts: list[TokenMatch] = []
        start = 0
        for mark in (*marks, None):
            end = len(text) if mark is None else mark.start
            within = find_special_tokens(text[start:end], self._cuts)
            cuts += [TokenMatch(start + cut.start, start + cut.end, cut.text) for cut in within] if start else within
            if mark is not None:
                cuts.append(mark)
                start = mark.end
        return cuts

    def keeps(self, text: str) -> bool:
        """Return True if the normalizer does not change a text; False if it may."""
        return native.keeps_bpe(self.vocabulary.buffer, text)

    def _encode_cut(self, texts: list[str]) -> list[PackedIds | None]:
        matches = [find_special_tokens(text, self._cuts) for text in texts]
        rows = list(map(_texts_between, texts, matches))
        encoded = iter(self._encode_pieces(list(itertools.chain.from_iterable(rows))))
        return [self._join(row, list(itertools.islice(encoded, len(row) + 1))) for row in matches]

    def _join(self, matches: list[TokenMatch], pieces: list[PackedIds | None]) -> PackedIds | None:
        """Return the ids of pieces and of the tokens between them. None if a piece has none."""
        parts: list[bytes] = []
        for at, ids in enumerate(pieces):
            if ids is None:
                return None
            parts += (pack_ids([self._cutting[matches[at - 1].text]]), ids) if at else (ids,)
        return b"".join(parts)

    def _encode_pieces(self, texts: list[str]) -> list[PackedIds | None]:
        encoded = self._encode(self.vocabulary.buffer, texts, self._cache, False)
        if None in encoded:
            changed = [at for at, ids in enumerate(encoded) if ids is None]
            for at, ids in zip(changed, self._encode_normalized([texts[at] for at in changed]), strict=True):
                encoded[at] = ids
        return encoded

    def _encode_normalized(self, texts: list[str]) -> list[PackedIds | None]:
        written = list(map(self._normalize, texts))
        encoded = self._encode(self.vocabulary.buffer, written, self._cache, True)
        if self._added is None:
            return encoded
        return [None if self._added.search(text) else ids for text, ids in zip(written, encoded, strict=True)]


def _texts_between(text: str, matches: list[TokenMatch]) -> list[str]:
    starts = [0, *(match.end for match in matches)]
    return [text[start:end] for start, end in zip(starts, [*(match.start for match in matches), None], strict=True)]
