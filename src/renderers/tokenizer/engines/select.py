"""Choose the engine of a vocabulary: the one in C once its compilation is worth it, else `tokenizers`."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

from renderers.core.native import COMPILED
from renderers.core.options import BpeEngineName, check_choice
from renderers.tokenizer.compiled.block import CompiledVocabulary, UnfitVocabularyError
from renderers.tokenizer.engines.native import NativeEngine
from renderers.tokenizer.facts import AddedTokenFacts, TokenizerFacts
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer, normalizer_of
from renderers.tokenizer.storage.versions import tokenizers_version

logger = logging.getLogger(__name__)

_CHARACTERS_PER_TOKEN = 4
"""A vocabulary is compiled after this many characters for each of its tokens.

That takes some 8 µs a token, and saves 0.25 µs a character, so it is repaid after 32 characters for each token. A
process that has encoded an eighth of that usually encodes far more.
"""
_NOT_INSTALLED = "the C extension, which is faster, is not installed"

_building = threading.Lock()
"""Held while a vocabulary is compiled. Nothing waits for it."""


def _after_fork() -> None:
    global _building
    # Another thread of the parent may have held it.
    _building = threading.Lock()
    for engine in list(_ENGINES.values()):
        engine.replace_used_cache()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_ENGINES: weakref.WeakValueDictionary[str, NativeEngine] = weakref.WeakValueDictionary()
_UNFIT: dict[str, str] = {}
"""Engines, and the reasons why there is none, by digest of the vocabulary."""
_MOST_UNFIT = 64


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The library that encodes text, and the reason why."""

    name: str
    """`tokenizers`, `native`, or the class of a caller's tokenizer."""
    version: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}: {self.reason}"


def check_engine(option: object) -> None:
    """Raise an error if `option` is not a value of `bpe_engine`, or the engine is not installed."""
    check_choice("bpe_engine", option, get_args(BpeEngineName))
    if option == "native" and not COMPILED:
        fault = 'bpe_engine="native" needs the C extension of this package, which is not installed.'
        raise ModuleNotFoundError(fault, name="renderers.core._native")


def _has_space(token: AddedTokenFacts) -> bool:
    return token.normalized and not {" ", "▁"}.isdisjoint(token.content)


class VocabularyFile(NamedTuple):
    """Functions that read and write the compiled vocabulary in the cache folder."""

    read: Callable[[], CompiledVocabulary | None]
    """Returns None if there is no file."""
    write: Callable[[bytes], object]


class EngineChoice:
    """The engine for a vocabulary that is faster than its own tokenizer, if any.

    With `"auto"`, the vocabulary is compiled in a thread when enough text was encoded to repay it, and the engine in C
    takes over when it is ready. With `"native"`, it is compiled before the first text.
    """

    def __init__(
        self,
        option: BpeEngineName,
        truth: LazyTokenizer,
        facts: TokenizerFacts,
        *,
        added: frozenset[str],
        isolated: frozenset[str],
        cutting: Mapping[str, int] | None = None,
        stored: CompiledVocabulary | None = None,
        file: VocabularyFile | None = None,
    ) -> None:
        """Take the option, the tokenizer, and all its added tokens. `isolated` are those that texts never contain.

        `cutting` are others that texts can be cut at, with their ids. `stored` is the compiled vocabulary, if there
        is one already. It is used from the first text on. Otherwise `file` is read before the vocabulary is compiled,
        as another process may have written it, and written after.
        """
        self._truth = truth
        self._facts = facts
        self._file = file
        self._isolated = isolated
        self._added = added - isolated
        self._cutting = cutting
        self._due = 0
        if option == "auto":
            self._due = _CHARACTERS_PER_TOKEN * facts.size
        self._encoded = 0
        self._engine: NativeEngine | None = None
        self._unfit: str | None = None
        if option == "tokenizers":
            self._unfit = 'bpe_engine="tokenizers"'
        elif not COMPILED:
            self._unfit = _NOT_INSTALLED
        elif facts.replaces_only_spaces and any(_has_space(token) for token in facts.added):
            self._unfit = "the engine in C is not used: an added token with a space is matched in normalized text"
        elif stored is not None:
            self._engine = self._share(stored)

    def keeps(self, text: str) -> bool:
        """Return True if an engine knows that the normalizer does not change a text."""
        return self._engine is not None and self._engine.keeps(text)

    @property
    def ready(self) -> NativeEngine | None:
        """The engine that is in use; None for the tokenizer itself."""
        return self._engine

    def engine_for(self, texts: Sequence[str]) -> NativeEngine | None:
        """Return the engine to encode these texts with, if it takes them; None for the tokenizer itself."""
        if self._engine is None and self._unfit is None:
            # Threads that race may lose a few of the counts.
            self._encoded += sum(map(len, texts))
            # With "native", the first text waits for the engine.
            if self._encoded >= self._due and (lock := _building).acquire(blocking=not self._due):
                self._start(lock)
        return self._engine

    def _start(self, lock: threading.Lock) -> None:
        """Compile the vocabulary, in a thread unless the caller asked for it. Release the lock at the end."""
        if not self._due:
            self._load(lock)
            return
        try:
            # Not a daemon: a thread within the Rust library must not be stopped when the process ends.
            threading.Thread(target=self._load, args=[lock], name="renderers: compile a vocabulary").start()
        except RuntimeError:
            # The process ends, or has too many threads.
            lock.release()

    def _load(self, lock: threading.Lock) -> None:
        try:
            if self._engine is None and self._unfit is None:
                self._engine = _ENGINES.get(self._truth.digest) or self._compile()
        except UnfitVocabularyError as error:
            self._refuse(str(error))
        except MemoryError:
            self._unfit = "the engine in C is not used: there is not enough memory to compile the vocabulary"
        except Exception as error:
            # Without a reason, each text would start to compile it again.
            self._unfit = f"the engine in C is not used: {type(error).__name__}: {error}"
            logger.warning("a vocabulary cannot be compiled", exc_info=True)
        finally:
            lock.release()

    def _compile(self) -> NativeEngine:
        if self._truth.digest in _UNFIT:
            raise UnfitVocabularyError(_UNFIT[self._truth.digest])
        written = None if self._file is None else self._file.read()
        if written is not None:
            return self._share(written)
        # Imported here: most processes use a vocabulary that was compiled before.
        from renderers.tokenizer.compiled.compile import compile_vocabulary

        compiled = compile_vocabulary(self._truth.tokenizer, isolated=self._isolated)
        self._engine = engine = self._share(CompiledVocabulary(compiled))
        if self._file is not None:
            self._store(partial(self._file.write, compiled))
        return engine

    def _store(self, write: Callable[[], object]) -> None:
        """Write the compiled vocabulary, in a thread unless this is one."""

        def attempt() -> None:
            try:
                write()
            except Exception as error:
                logger.info("a compiled vocabulary is not stored: %s: %s", type(error).__name__, error)

        if self._due:
            attempt()
            return
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=attempt, name="renderers: store a vocabulary").start()

    def _share(self, vocabulary: CompiledVocabulary) -> NativeEngine:
        normalize = normalizer_of(self._truth, self._facts)
        # Tokens that are matched in normalized text are matched by their normalized texts. NFC keeps those in ASCII.
        composed = [token.content for token in self._facts.added if token.normalized and not token.content.isascii()]
        written = frozenset(map(normalize, composed)) - self._isolated if self._facts.composes else frozenset()
        engine = NativeEngine(vocabulary, normalize=normalize, added=self._added | written, cutting=self._cutting)
        return _ENGINES.setdefault(self._truth.digest, engine)

    def _refuse(self, reason: str) -> None:
        if len(_UNFIT) >= _MOST_UNFIT:
            _UNFIT.clear()
        _UNFIT[self._truth.digest] = reason
        self._unfit = f"the engine in C is not used: {reason}"

    @property
    def status(self) -> EngineStatus:
        """The library that encodes text now, and the reason."""
        if (engine := self._engine) is not None:
            meta = engine.vocabulary.meta
            reason = f"gave the same ids as tokenizers {meta['tokenizers']} for {meta['probes']:,} probe texts"
            return EngineStatus(engine.name, engine.version, reason)
        reason = self._unfit or (
            f"the vocabulary is compiled after {self._due:,} characters. So far: {self._encoded:,}"
        )
        return EngineStatus("tokenizers", tokenizers_version(), reason)
