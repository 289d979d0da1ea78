"""The engine in C: it encodes with a compiled vocabulary."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Mapping, Sequence

from renderers.core.native import COMPILED, native
from renderers.core.spans import TokenMatch
from renderers.core.special_tokens import find_special_tokens
from renderers.core.text import compile_alternation
from renderers.tokenizer.compiled.block import FORMAT, CompiledVocabulary
from renderers.tokenizer.encoding.piece_cache import PackedIds, pack_ids
from renderers.tokenizer.engines.huggingface import check_text

_CACHED_BYTES = 2**22
"""The size of the cache of words that are several tokens."""
_CHARACTERS_PER_CALL = 2**15
"""A call in C holds the global lock. Other threads wait for less than a millisecond if it gets no more text."""

_SHORTEST_PIECE = 32
"""The characters of the shortest piece of a text that is looked up. Shorter ones are encoded in less time."""

EncodedParts = tuple[PackedIds, bytes, bytes, dict[str, PackedIds]]
"""The ids of a text, the borders of its parts, the number of ids up to the end of each, and the pieces to keep."""


class NativeEngine:
    """Encode texts with a compiled vocabulary, to the ids of the tokenizer that it was compiled from.

    Threads share it: a call in C holds the global lock, which also guards the cache of words.
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
        text: str,
        marks: list[TokenMatch],
        added_tokens: Mapping[str, int],
        young: dict[str, PackedIds],
        old: dict[str, PackedIds],
    ) -> EncodedParts | None:
        """Encode a text that is cut at matches, in one call, with the pieces that two dicts already have.

        The text between the matches is also cut at the tokens of `cutting`. None if the engine does not take each piece
        of it as it is, or if it is too long for one call.
        """
        if self._added is not None or len(text) > _CHARACTERS_PER_CALL:
            return None
        if self._cuts:
            marks = self._with_cuts(text, marks)
        block, cache = self.vocabulary.buffer, self._cache
        try:
            return native.encode_parts(block, cache, text, marks, added_tokens, young, old, _SHORTEST_PIECE)
        except UnicodeEncodeError:
            # A lone surrogate.
            return None

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
        encoded = self._encode_groups(texts, False)
        if None in encoded:
            changed = [at for at, ids in enumerate(encoded) if ids is None]
            for at, ids in zip(changed, self._encode_normalized([texts[at] for at in changed]), strict=True):
                encoded[at] = ids
        return encoded

    def _encode_groups(self, texts: list[str], normalized: bool) -> list[PackedIds | None]:
        """Encode texts in calls of `_CHARACTERS_PER_CALL` characters. A longer text has a call of its own."""
        buffer, cache = self.vocabulary.buffer, self._cache
        if sum(map(len, texts)) <= _CHARACTERS_PER_CALL:
            return self._encode(buffer, texts, cache, normalized)
        ends = list(itertools.accumulate(map(len, texts)))
        encoded: list[PackedIds | None] = []
        while (first := len(encoded)) < len(texts):
            before = ends[first - 1] if first else 0
            last = max(bisect.bisect_right(ends, before + _CHARACTERS_PER_CALL), first + 1)
            encoded += self._encode(buffer, texts[first:last], cache, normalized)
        return encoded

    def _encode_normalized(self, texts: list[str]) -> list[PackedIds | None]:
        written = list(map(self._normalize, texts))
        encoded = self._encode_groups(written, True)
        if self._added is None:
            return encoded
        return [None if self._added.search(text) else ids for text, ids in zip(written, encoded, strict=True)]


def _texts_between(text: str, matches: list[TokenMatch]) -> list[str]:
    starts = [0, *(match.end for match in matches)]
    return [text[start:end] for start, end in zip(starts, [*(match.start for match in matches), None], strict=True)]
