"""Find and write the file of a vocabulary, by the digest of its model's files."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Mapping
from pathlib import Path

from renderers.core.native import NATIVE_VERSION
from renderers.tokenizer.compiled.block import FORMAT
from renderers.tokenizer.storage import container
from renderers.tokenizer.storage.container import Container, DamagedFileError
from renderers.tokenizer.storage.folder import map_file, write_file, write_or_raise
from renderers.tokenizer.storage.versions import machine, tokenizers_version

logger = logging.getLogger(__name__)

RECORD_VERSION = 2
"""Increased with every change of the sections, or of the code that finds the facts in them."""


def key_of(digest: str) -> str:
    """Return the name of the file of a vocabulary: a hash of everything that its content depends on."""
    # The facts about a vocabulary are found by the code of this package. It is not imported, as it is a higher layer.
    package = vars(sys.modules["renderers"])["__version__"]
    formats = container.VERSION, RECORD_VERSION, FORMAT
    # The proof that the ids are those of `tokenizers` was run by this extension on this machine.
    versions = package, tokenizers_version(), NATIVE_VERSION, machine(), sys.byteorder
    return hashlib.sha256(repr((digest, formats, versions)).encode()).hexdigest()


def find(digest: str) -> Container | None:
    """Return the file of a vocabulary; None if there is none that can be used. Its sections are not checked yet."""
    key = key_of(digest)
    mapped = map_file(key)
    if mapped is None:
        return None
    try:
        return Container(mapped, key=key)
    except DamagedFileError as error:
        log_damage(digest, error)
        return None


def log_damage(digest: str, error: DamagedFileError) -> None:
    """Log that the file of a vocabulary is not used."""
    logger.info("the file %s of a compiled vocabulary is damaged: %s", key_of(digest), error)


def _is_intact(digest: str) -> bool:
    written = find(digest)
    return written is not None and written.is_intact()


def save(digest: str, sections: Mapping[str, bytes]) -> bool:
    """Write the file of a vocabulary. Return True if it was written; a failure is logged."""
    key = key_of(digest)
    # Another process may have written it. Its pages may be mapped, so it is not replaced without need.
    return _is_intact(digest) or write_file(key, container.pack(sections, key=key))


def save_or_raise(digest: str, sections: Mapping[str, bytes]) -> Path:
    """Write the file of a vocabulary, and return its path. `OSError` if it cannot be written."""
    key = key_of(digest)
    return write_or_raise(key, container.pack(sections, key=key))
