"""Compile the vocabulary of a tokenizer to a block, and compare the result with the tokenizer."""

from __future__ import annotations

import json
import random
import sys
from array import array
from collections.abc import Iterator

from tokenizers import Tokenizer
from tokenizers import __version__ as tokenizers_version

from renderers.core.native import COMPILED, native
from renderers.core.text import quote_short
from renderers.tokenizer.compiled.block import Buffer, CompiledVocabulary, UnfitVocabularyError, build_block, join_texts
from renderers.tokenizer.compiled.model import BpeModel, read_model
from renderers.tokenizer.compiled.splitting import Splitting, byte_level_stages, compile_splitting
from renderers.tokenizer.compiled.words import SLOT
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.encoding.token_sizes import replaces_only_spaces
from renderers.tokenizer.engines.huggingface import component_json, component_types, encode_batch
from renderers.tokenizer.engines.native import NativeEngine
from renderers.tokenizer.engines.proof import contexts_of, probe_texts

_LEAST_SLOTS = 16
_WORDS = 2_000
"""The number of tokens that are decoded to make probe texts."""


def compile_vocabulary(backend: Tokenizer, *, isolated: frozenset[str]) -> bytes:
    """Compile the vocabulary of a tokenizer to a block for `CompiledVocabulary`.

    `isolated` are the added tokens that the texts to encode never contain.

    Raises:
        UnfitVocabularyError: The vocabulary has a component that is not supported, or the compiled one gives other ids.
    """
    if sys.byteorder != "little":
        raise UnfitVocabularyError("this machine is big-endian")
    if not COMPILED:
        raise UnfitVocabularyError("the C extension is not installed")
    types = component_types(backend.normalizer)
    by_character = replaces_only_spaces(backend)
    if not by_character and not {"NFC"}.issuperset(types):
        raise UnfitVocabularyError(f"its normalizer is not supported: {', '.join(types)}")
    model = read_model(backend, byte_level=not by_character)
    splitting = None
    if not by_character:
        stages = byte_level_stages(component_json(backend.pre_tokenizer))
        splitting = compile_splitting(stages, composes="NFC" in types)
    texts = list(_probes(model, splitting, isolated=isolated))
    block = _lay_out(model, splitting, {"tokenizers": tokenizers_version, "normalizer": types, "probes": len(texts)})
    native.fill_bpe(block, model.merges, model.in_model)
    compiled = bytes(block)
    _prove(compiled, backend, texts)
    return compiled


def _probes(model: BpeModel, splitting: Splitting | None, *, isolated: frozenset[str]) -> Iterator[str]:
    """Yield texts to compare: words of the vocabulary, characters of every class, and texts of special tokens."""
    tokens = [text for text, own in zip(model.texts, model.in_model, strict=True) if own and text]
    chosen = random.Random(0).sample(tokens, min(len(tokens), _WORDS))
    yield from probe_texts(words=[text for data in chosen if "\ufffd" not in (text := data.decode(errors="replace"))])
    yield from isolated
    if splitting is not None:
        yield splitting.classes.samples
        yield " ".join(splitting.classes.samples)
        yield from (contexts_of(character) for character in splitting.classes.representatives)


def _prove(compiled: bytes, backend: Tokenizer, texts: list[str]) -> None:
    """Compare the ids of texts with those of the same tokenizer without added tokens."""
    bare = Tokenizer(backend.model)
    for part in ("normalizer", "pre_tokenizer"):
        if getattr(backend, part) is not None:
            setattr(bare, part, getattr(backend, part))
    normalizer = backend.normalizer
    engine = NativeEngine(
        CompiledVocabulary(compiled),
        normalize=lambda text: text if normalizer is None else normalizer.normalize_str(text),
        added=frozenset(),
    )
    both = zip(texts, engine.encode(texts), encode_batch(bare, texts), strict=True)
    wrong = [text for text, ids, due in both if ids is not None and list(unpack_ids(ids)) != due]
    if wrong:
        count, example = f"{len(wrong)} of {len(texts)}", quote_short(min(wrong, key=len))
        raise UnfitVocabularyError(f"it gives other ids for {count} probe texts, such as {example}")


def _lay_out(model: BpeModel, splitting: Splitting | None, meta: dict[str, object]) -> bytearray:
    """Return a block with everything but the tables that C fills."""
    starts, joined = join_texts(model.texts)
    longest = max((len(text) for text, own in zip(model.texts, model.in_model, strict=True) if own and text), default=0)
    width = 0 if splitting is None else len(splitting.classes.flags) + 1
    sections: dict[str, Buffer | array[int]] = {
        "meta": json.dumps(meta).encode(),
        "settings": array("I", [model.flags, longest, width, 0]),
        "starts": starts,
        "bytes": joined,
        "words": bytes(SLOT.size * _slots(sum(model.in_model))),
        "pairs": bytes(8 * _slots(len(model.results))),
        "results": model.results,
        "byte_ids": model.byte_ids,
        "byte_ranks": bytes(4 * 65536) if splitting is not None else b"",
        "joins": bytes(_slots(len(joined)) // 4),
    }
    if splitting is not None:
        sections |= {
            "index": splitting.classes.page_numbers,
            "pages": splitting.classes.pages,
            "flags": splitting.classes.flags,
            "orders": splitting.classes.orders,
            "stages": splitting.stages,
            "transitions": splitting.transitions,
            "scans": splitting.scans,
        }
    return bytearray(build_block(sections))


def _slots(entries: int) -> int:
    """Return a power of two: at least 4/3 of a number of entries."""
    slots = _LEAST_SLOTS
    while slots * 3 < entries * 4:
        slots *= 2
    return slots
