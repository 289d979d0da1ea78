"""Choose the engine of a vocabulary: the fastest one that is installed, proven, and worth its load."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from tokenizers import Tokenizer
from tokenizers import __version__ as tokenizers_version

from renderers.core.options import BpeEngineName, check_choice
from renderers.tokenizer.engines.base import BpeEngine
from renderers.tokenizer.engines.fastokens import (
    FastokensEngine,
    UnfitEngineError,
    fastokens_engine,
    is_installed,
)
from renderers.tokenizer.engines.words import WordEncoder, word_encoder

_CHARACTERS_PER_TOKEN = 16
"""fastokens is loaded after this many characters for each token of the vocabulary.

It loads in about 10 µs a token, and saves 0.17 µs for an ASCII character, so it has repaid its load after 60 characters
for each token. A process that has encoded a quarter of that usually encodes far more.
"""
_WEIGHT = 4
"""The weight of a character of a text that is not ASCII. Without the cache of words, it takes 0.6 µs."""
_INSTALL = 'Install it with pip install "renderers[fast]"'

_building = threading.Lock()
"""Held while an engine is loaded. Nothing waits for it."""


def _after_fork() -> None:
    global _building
    # Another thread of the parent may have held it.
    _building = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The library that encodes text, and the reason why."""

    name: str
    """`tokenizers`, `fastokens`, or the class of a caller's tokenizer."""
    version: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}: {self.reason}"


def check_engine(option: object) -> None:
    """Raise an error if `option` is not a value of `bpe_engine`, or names a package that is not installed."""
    check_choice("bpe_engine", option, get_args(BpeEngineName))
    if option == "fastokens" and not is_installed():
        raise ModuleNotFoundError(f'bpe_engine="fastokens" needs the package fastokens. {_INSTALL}.', name="fastokens")


class EngineChoice:
    """The engine for a vocabulary that is faster than its own tokenizer, if any.

    It starts with the cache of ASCII words. With `"auto"`, fastokens is loaded in a thread when enough text was encoded
    to repay its load, and takes over when it is ready. With `"fastokens"`, it is loaded before the first text.
    """

    def __init__(
        self, option: BpeEngineName, backend: Tokenizer, *, digest: str, added: frozenset[str], isolated: frozenset[str]
    ) -> None:
        self._backend = backend
        self._digest = digest
        self._isolated = isolated
        self._due = 0
        if option == "auto":
            self._due = _CHARACTERS_PER_TOKEN * backend.get_vocab_size(with_added_tokens=True)
        self._encoded = 0
        self._fast: FastokensEngine | None = None
        # With "fastokens" it would be used for one call at most.
        words = None if option == "fastokens" else word_encoder(backend, unless=added - isolated)
        self._words: WordEncoder | None = words
        self._unfit: str | None = None
        if option == "tokenizers":
            self._unfit = 'bpe_engine="tokenizers"'
        elif not is_installed():
            self._unfit = f"fastokens, which is faster, is not installed. {_INSTALL}"

    def engine_for(self, texts: Sequence[str]) -> BpeEngine | None:
        """Return the engine to encode these texts with, if it takes them; None for the tokenizer itself."""
        if self._fast is None and self._unfit is None:
            # Threads that race may lose a few of the counts.
            self._encoded += sum(len(text) if text.isascii() else _WEIGHT * len(text) for text in texts)
            if self._encoded >= self._due and (lock := _building).acquire(blocking=False):
                self._start(lock)
        return self._fast or self._words

    def _start(self, lock: threading.Lock) -> None:
        """Load fastokens, in a thread unless the caller asked for it. Release the lock at the end."""
        if not self._due:
            self._load(lock)
            return
        try:
            # Not a daemon: a thread within the Rust library must not be stopped when the process ends.
            threading.Thread(target=self._load, args=[lock], name="renderers: load fastokens").start()
        except RuntimeError:
            # The process ends, or has too many threads.
            lock.release()

    def _load(self, lock: threading.Lock) -> None:
        try:
            if self._fast is None and self._unfit is None:
                self._fast = fastokens_engine(self._backend, digest=self._digest, isolated=self._isolated)
                self._words = None
        except UnfitEngineError as error:
            self._unfit = f"fastokens is not used: {error}"
        except MemoryError:
            self._unfit = "fastokens is not used: there is not enough memory to load it"
        except Exception as error:
            # Without a reason, each text would start to load it again.
            self._unfit = f"fastokens is not used: {type(error).__name__}: {error}"
        finally:
            lock.release()

    @property
    def status(self) -> EngineStatus:
        """The library that encodes text now, and the reason."""
        if (fast := self._fast) is not None:
            refused = ", ".join(f"U+{ord(character):04X}" for character in sorted(fast.refused)[:20])
            reason = f"gave the same ids as tokenizers {tokenizers_version} for {fast.probes} probe texts"
            reason += f"; texts with {refused} go to tokenizers" if refused else ""
            return EngineStatus(fast.name, fast.version, reason)
        reason = self._unfit or (
            f"fastokens is loaded after {self._due:,} characters, those that are not ASCII counted as {_WEIGHT}. "
            f"So far: {self._encoded:,}"
        )
        return EngineStatus("tokenizers", tokenizers_version, reason)
