"""`StoredVocabulary`: the content of the file of a vocabulary, and writing it."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from renderers.tokenizer.compiled.block import CompiledVocabulary
from renderers.tokenizer.encoding.byte_text import ByteTexts
from renderers.tokenizer.facts import AddedTokenFacts, TokenizerFacts
from renderers.tokenizer.storage.container import Container, DamagedFileError
from renderers.tokenizer.storage.store import find, log_damage
from renderers.tokenizer.storage.versions import tokenizers_version

RECORD, TABLES, TEXTS, ENDS, TOKENIZER = "record", "tables", "texts", "ends", "tokenizer"
"""The sections: facts and fields in JSON, the compiled vocabulary, the byte texts of all tokens and their ends, and the
JSON of the tokenizer."""


STORED_FIELDS = (
    "special_tokens_map added_tokens special_ids chat_templates stop_token_ids takes_images takes_audio "
    "isolating_token_ids byte_level response_template"
).split()
"""The fields of a `Vocab` in a file."""


class StoredVocabulary:
    """The parts of a file that every process needs, with checked checksums."""

    def __init__(self, container: Container) -> None:
        """Read a file.

        Raises:
            DamagedFileError: A section is damaged.
        """
        try:
            record = container.json_section(RECORD)
            facts = record["facts"]
            added = tuple(AddedTokenFacts(*token) for token in facts["added"])
            self.fields: Mapping[str, Any] = {name: record["fields"][name] for name in STORED_FIELDS}
            """The fields of a `Vocab`, in values of JSON."""
            self.facts = TokenizerFacts(**{**facts, "added": added})
            self.compiled = CompiledVocabulary(container.section(TABLES))
            if self.compiled.meta["tokenizers"] != tokenizers_version():
                raise DamagedFileError("it was compiled with another version of tokenizers")
            self._texts, self.ends = container.section(TEXTS), container.section(ENDS).cast("I")
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFileError(f"{type(error).__name__}: {error}") from error

    def text_of(self, number: int) -> str | None:
        """Return the byte text of a token; None if there is no such id."""
        if not 0 <= number < len(self.ends):
            return None
        return str(self._texts[self.ends[number - 1] if number else 0 : self.ends[number]], "latin-1")

    def all_texts(self) -> ByteTexts:
        """Return the byte texts of all tokens."""
        return ByteTexts.of_parts(str(self._texts, "latin-1"), array("I", self.ends.tobytes()))


def read_stored(digest: str) -> tuple[StoredVocabulary, Container] | None:
    """Return the file of a vocabulary, and its content; None if there is none that can be used."""
    container = find(digest)
    if container is None:
        return None
    try:
        return StoredVocabulary(container), container
    except DamagedFileError as error:
        log_damage(digest, error)
        return None


def find_compiled(digest: str) -> CompiledVocabulary | None:
    """Return the compiled vocabulary in the cache folder; None if there is none that can be used."""
    content = read_stored(digest)
    return None if content is None else content[0].compiled


def sections_of(
    *, fields: Mapping[str, Any], facts: TokenizerFacts, texts: ByteTexts, compiled: bytes, tokenizer: str
) -> dict[str, bytes]:
    """Return the sections of the file of a vocabulary."""
    record = {"fields": fields, "facts": asdict(facts)}
    return {
        RECORD: json.dumps(record).encode(),
        TABLES: compiled,
        TEXTS: texts.joined.encode("latin-1"),
        ENDS: texts.ends.tobytes(),
        TOKENIZER: tokenizer.encode(),
    }
