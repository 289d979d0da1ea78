"""What a tokenizer says of its source, and what a call of it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Encoded", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a tokenizer came from, and what was there."""

    location: str
    """An absolute path, a repository, or the type of the caller's object that it was taken from."""
    commit: str | None
    files: tuple[str, ...]
    """The files that were read; empty where the tokenizer was taken from an object."""
    missing: Mapping[str, str]
    """The companion files that were not there, each with the reason."""
    digest: str
    """A hash over all that was read: equal digests mean equal tokenizers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Source, (self.location, self.commit, self.files, dict(self.missing), self.digest)


class Encoded(dict[str, Any]):
    """What a call gives: `input_ids`, `attention_mask` and, on demand, `offset_mapping`; also as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
