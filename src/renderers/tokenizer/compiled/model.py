"""Read the tokens and merges of a BPE model of `tokenizers`."""

from __future__ import annotations

import codecs
import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tokenizers import Tokenizer, models

from renderers.tokenizer.compiled.block import (
    BY_CHARACTER,
    IGNORES_MERGES,
    MOST_IDS,
    MOST_MERGES,
    NO_ID,
    WRITES_SPACES,
    UnfitVocabularyError,
)
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS, SYMBOL_CODEC

_NEVER_IN_TEXT = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))


class BpeModel(NamedTuple):
    """The tokens and merges of a model, by id."""

    texts: list[bytes | None]
    """The bytes of each token, with spaces for U+2581 if merges begin with characters; None for an id without one.
    Added tokens are their text."""
    in_model: bytearray
    """1 for each id with the text of a token of the model."""
    merges: array[int]
    """The two ids of each merge, in the order of their ranks."""
    results: array[int]
    """The id that each merge gives."""
    byte_ids: array[int]
    flags: int


def read_model(backend: Tokenizer, *, byte_level: bool) -> BpeModel:
    """Read the model of a tokenizer.

    Raises:
        UnfitVocabularyError: It is not a BPE model, or has an option that is not supported.
    """
    if not isinstance(backend.model, models.BPE):
        raise UnfitVocabularyError("its model is not BPE")
    state = json.loads(backend.model.__getstate__())
    if state["dropout"] or state["continuing_subword_prefix"] or state["end_of_word_suffix"]:
        raise UnfitVocabularyError("its model has an option that is not supported")
    if not byte_level and (not state["byte_fallback"] or state.get("ignore_merges")):
        raise UnfitVocabularyError("its model has no tokens for bytes, or ignores merges")
    vocabulary: dict[str, int] = state["vocab"]
    flags = IGNORES_MERGES if state.get("ignore_merges") else 0
    flags |= 0 if byte_level else BY_CHARACTER | WRITES_SPACES
    merges, results = _read_merges(state["merges"], vocabulary)
    added = {number: token.content for number, token in backend.get_added_tokens_decoder().items()}
    size = max((*vocabulary.values(), *added, -1)) + 1
    if size > MOST_IDS or len(results) > MOST_MERGES:
        raise UnfitVocabularyError(f"it has more than {MOST_IDS:,} ids or {MOST_MERGES:,} merges")
    texts: list[bytes | None] = [None] * size
    in_model = bytearray(size)
    of_token = _symbol_bytes(vocabulary) if byte_level else list(map(_piece_bytes, vocabulary))
    for number, data in zip(vocabulary.values(), of_token, strict=True):
        if data is not None:
            texts[number], in_model[number] = data, 1
    byte_ids = _byte_ids(vocabulary, byte_level=byte_level)
    if not byte_level:
        if not set(byte_ids).isdisjoint((*merges, *results)):
            raise UnfitVocabularyError("its model merges tokens of bytes")
        if "▁" not in vocabulary:
            raise UnfitVocabularyError("its model has no token for a space")
        for byte, number in enumerate(byte_ids):
            texts[number], in_model[number] = bytes([byte]), 0
    for number, text in added.items():
        data = text.encode() if byte_level else text.replace("▁", " ").encode()
        if in_model[number] and (texts[number] != data or (not byte_level and " " in text)):
            raise UnfitVocabularyError(f"its added token {text!r} has another text than the token with its id")
        texts[number] = data
    return BpeModel(texts, in_model, merges, results, byte_ids, flags)


def _read_merges(merges: Sequence[Any], vocabulary: Mapping[str, int]) -> tuple[array[int], array[int]]:
    pairs = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in merges]
    numbers = array("I", bytes(8 * len(pairs)))
    try:
        numbers[::2] = array("I", [vocabulary[left] for left, _ in pairs])
        numbers[1::2] = array("I", [vocabulary[right] for _, right in pairs])
        return numbers, array("I", [vocabulary[left + right] for left, right in pairs])
    except KeyError as error:
        raise UnfitVocabularyError(f"a merge has no token for {error}") from None


def _symbol_bytes(tokens: Mapping[str, int]) -> list[bytes | None]:
    """Return the bytes of tokens of byte symbols; None for others."""
    joined = "".join(tokens).replace(BYTE_SYMBOLS[0], "\0")
    try:
        data, _ = codecs.charmap_encode(joined, "strict", SYMBOL_CODEC)
    except UnicodeEncodeError:
        return list(map(_bytes_of_symbols, tokens))
    if "\0" in "".join(tokens):
        return list(map(_bytes_of_symbols, tokens))
    texts: list[bytes | None] = []
    end = 0
    for token in tokens:
        texts.append(data[end : end + len(token)])
        end += len(token)
    return texts


def _bytes_of_symbols(token: str) -> bytes | None:
    if "\0" in token:
        return None
    try:
        return codecs.charmap_encode(token.replace(BYTE_SYMBOLS[0], "\0"), "strict", SYMBOL_CODEC)[0]
    except UnicodeEncodeError:
        return None


def _piece_bytes(token: str) -> bytes | None:
    """Return the bytes of a token with spaces for U+2581; None if it has spaces, which no normalized text has."""
    return None if " " in token else token.replace("▁", " ").encode()


def _byte_ids(vocabulary: Mapping[str, int], *, byte_level: bool) -> array[int]:
    names = BYTE_SYMBOLS if byte_level else [f"<0x{byte:02X}>" for byte in range(256)]
    ids = array("I", [vocabulary.get(name, NO_ID) for name in names])
    missing = {byte for byte, number in enumerate(ids) if number == NO_ID}
    if missing - (_NEVER_IN_TEXT if byte_level else frozenset()):
        raise UnfitVocabularyError("its model has no token for some bytes")
    return ids
