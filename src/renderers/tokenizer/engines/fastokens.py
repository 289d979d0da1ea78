"""The engine of the package `fastokens`: 20 to 40 times as fast as `tokenizers`, after loading for some seconds."""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import random
import weakref
from array import array
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer
from tokenizers import __version__ as truth_version

from renderers.core.text import compile_alternation, quote_short
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.engines.base import EncodedTexts
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.proof import Encode, ProvenCharacters, differing, probe_texts

logger = logging.getLogger(__name__)
_WORDS = 4_000
"""The number of tokens that are decoded to make probe texts."""


class UnfitEngineError(ValueError):
    """An engine cannot be used for a vocabulary. The message is the reason."""


class FastokensEngine:
    """Encode texts of proven characters with fastokens; made by `fastokens_engine`."""

    name = "fastokens"

    def __init__(self, encode: Any, truth: Encode, *, version: str) -> None:
        """Take the method `encode_batch_flat` of a fastokens tokenizer, and the function that it must agree with."""
        self.version = version
        self._encode = encode
        self._truth = truth
        self.probes = 0
        """The number of texts that were compared, except those that `takes` compares later."""
        # Without a reference to this object: a cycle would keep it in memory until the next garbage collection.
        self.encode_each = functools.partial(_encode_each, encode, truth)
        """Encodes texts one after the other, each to ids of its own."""
        self._differing = functools.partial(differing, self.encode_each, truth)
        self._characters = ProvenCharacters(self._differing)

    def takes(self, text: str) -> bool:
        """Return True if a text is ASCII or all its characters are proven."""
        return text.isascii() or self._characters.contain(text)

    @property
    def refused(self) -> frozenset[str]:
        """The characters of the texts seen so far for which fastokens gives other ids."""
        return self._characters.refused

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts one after the other. For a batch, fastokens would start threads, which takes more CPU time."""
        return _encode(self._encode, self._truth, texts)

    def prove(self, texts: list[str]) -> None:
        """Raise `UnfitEngineError` if the ids of a text differ, and no single character of it is the reason."""
        wrong = [text for text in self._differing(texts) if self.takes(text)]
        if wrong:
            count, example = f"{len(wrong)} of {len(texts)}", quote_short(min(wrong, key=len))
            raise UnfitEngineError(f"it gives other ids for {count} probe texts, such as {example}")
        self.probes += len(texts)


def _encode(encode: Any, truth: Encode, texts: Sequence[str]) -> EncodedTexts:
    ids = array("I")
    ends: list[int] = []
    for text in texts:
        try:
            ids.frombytes(encode([text])[0])
        except BaseException as error:
            # A panic of the Rust library is no `Exception`. A search that exceeds the limits of PCRE2 is an error.
            if isinstance(error, MemoryError) or not _is_failure(error):
                raise
            logger.debug("fastokens fails on a text of %d characters: %s", len(text), error)
            ids.extend(truth([text])[0])
        ends.append(len(ids))
    return EncodedTexts(ids, ends)


def _encode_each(encode: Any, truth: Encode, texts: list[str]) -> list[memoryview[int]]:
    return list(map(unpack_ids, _encode(encode, truth, texts).split()))


_ENGINES: weakref.WeakValueDictionary[tuple[str, str, str], FastokensEngine] = weakref.WeakValueDictionary()
_UNFIT: dict[tuple[str, str, str], str] = {}
"""Engines, and the reasons why there is none, by digest of the vocabulary and versions of both libraries."""
_MOST_UNFIT = 64


def is_installed() -> bool:
    """Return True if fastokens can be imported."""
    try:
        return importlib.util.find_spec("fastokens") is not None
    except ValueError:
        return False


def _installed_version() -> str:
    # Imported here: it takes longer than a short render.
    from importlib.metadata import version

    return version("fastokens")


def fastokens_engine(backend: Tokenizer, *, digest: str, isolated: frozenset[str]) -> FastokensEngine:
    """Load fastokens for a vocabulary, and compare it with the tokenizer. The result is shared in the process.

    `isolated` are the added tokens that the texts to encode never contain. The engine encodes their texts like any
    other.

    Raises:
        UnfitEngineError: fastokens is not installed, cannot load the vocabulary, or gives other ids.
    """
    if not is_installed():
        raise UnfitEngineError("it is not installed")
    try:
        version = _installed_version()
    except ModuleNotFoundError:
        raise UnfitEngineError("its version is not known, because it was not installed as a package") from None
    key = (digest, version, truth_version)
    if (engine := _ENGINES.get(key)) is not None:
        return engine
    reason = _UNFIT.get(key)
    if reason is None:
        try:
            _ENGINES[key] = engine = _build(backend, isolated=isolated, version=version)
            return engine
        except UnfitEngineError as error:
            reason = str(error)
        except BaseException as error:
            if isinstance(error, MemoryError) or not _is_failure(error):
                raise
            reason = f"it cannot load this vocabulary ({type(error).__name__}: {error})"
        if len(_UNFIT) >= _MOST_UNFIT:
            _UNFIT.clear()
        _UNFIT[key] = reason
    raise UnfitEngineError(reason)


def _build(backend: Tokenizer, *, isolated: frozenset[str], version: str) -> FastokensEngine:
    from fastokens import Tokenizer as NativeTokenizer

    serialized = backend.to_str()
    start = serialized.index('"added_tokens":') + len('"added_tokens":')
    # Only this list is parsed: the whole would take as long as building the tokenizer.
    listed, end = json.JSONDecoder().raw_decode(serialized, start)
    kept = [token for token in listed if token["content"] not in isolated]
    native = NativeTokenizer.from_json_str(serialized[:start] + json.dumps(kept) + serialized[end:])
    del serialized

    def truth(texts: list[str]) -> list[list[int]]:
        return encode_batch(backend, texts)

    engine = FastokensEngine(native.encode_batch_flat, truth, version=version)
    added = frozenset(token["content"] for token in kept)
    probes = probe_texts(words=_words_of(backend), added=added)
    never = compile_alternation(isolated)
    engine.prove([text for text in probes if never is None or never.search(text) is None])
    _prove_without(isolated, engine, backend, added=added)
    return engine


def _prove_without(
    isolated: frozenset[str], engine: FastokensEngine, backend: Tokenizer, *, added: frozenset[str]
) -> None:
    """Compare the texts of special tokens with the same model without added tokens."""
    bare = Tokenizer(backend.model)
    for part in ("normalizer", "pre_tokenizer"):
        if getattr(backend, part) is not None:
            setattr(bare, part, getattr(backend, part))
    pattern = compile_alternation(added)
    texts = [text for text in sorted(isolated) if pattern is None or pattern.search(text) is None]
    wrong = differing(engine.encode_each, lambda batch: encode_batch(bare, batch), texts)
    if wrong:
        raise UnfitEngineError(f"it gives other ids for the text of special tokens, such as {quote_short(wrong[0])}")


def _words_of(backend: Tokenizer) -> list[str]:
    """Return the texts of random tokens of a vocabulary."""
    size = backend.get_vocab_size(with_added_tokens=False)
    ids = random.Random(0).sample(range(size), min(size, _WORDS))
    return [text for text in backend.decode_batch([[number] for number in ids]) if text and "\ufffd" not in text]


def _is_failure(error: BaseException) -> bool:
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
