"""Compare values of the input with the text that was written of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from renderers.core.spans import Path

Amount = Literal["all", "some"]

_UNWRITTEN_KEYWORDS = frozenset({"type", "required", "strict", "additionalProperties", "$schema"})
"""Keywords of a schema that a format may express by its own words: `city: string, days?: number`."""
_NAMED_BY_KEYS = frozenset({"properties", "$defs", "definitions"})
"""Keywords of a schema with a dict that has names of the caller as keys."""


def squeeze(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def lost_text(value: str, own: str, around: str = "") -> Amount | None:
    """Return how much of a text is missing in the text that was written of it; None if nothing is.

    `around` is the same text with the template text between its parts. A template may change a text, such as its case,
    or write a part of it itself. So a text that is as long as the value counts as complete.

    >>> lost_text("Hi  there", "Hi there"), lost_text("Hi there", "there"), lost_text("Hi", "")
    (None, 'some', 'all')
    """
    if value.strip() in own:
        return None
    wanted, written = squeeze(value), squeeze(own)
    if not written:
        return "all"
    return None if len(written) >= len(wanted) or wanted in squeeze(around) else "some"


class LostPart(NamedTuple):
    """A part of JSON data that is missing, all or some of it."""

    path: Path
    amount: Amount


class WrittenData(NamedTuple):
    """The texts that were written of JSON data, by path. The text of a container is not repeated for its parts."""

    texts: Mapping[Path, str]
    above: str = ""
    """The text of containers of the data."""
    is_schema: bool = False
    """True for tools. A format may write a schema in its own words, so names of keywords do not count."""

    def lost_parts(self, value: Any, path: Path) -> list[LostPart]:
        """Return the parts of a value that were not written. A container of which nothing was written is one part."""
        lost, _ = self._lost(value, path, None, squeeze(self.above), named=not self.is_schema)
        return lost

    def _lost(self, value: Any, path: Path, key: str | None, above: str, *, named: bool) -> tuple[list[LostPart], bool]:
        """Return the missing parts, and whether any part was written.

        `key` is the name of the value if it counts as text, and `above` the text of the containers of the value.
        `named` is True if the keys of a dict count.
        """
        own = squeeze(self.texts.get(path, ""))
        text = above + own
        wanted = [] if key is None else [key]
        parts: list[LostPart] = []
        written = False
        if isinstance(value, dict | list):
            for child, item in _items(value):
                if self.is_schema and child in _UNWRITTEN_KEYWORDS and not named:
                    continue
                name = child if named and isinstance(child, str) else None
                lost, some = self._lost(item, (*path, child), name, text, named=self._names_keys(child, named))
                parts += lost
                written = written or some
        elif value is not None and not isinstance(value, bool):
            wanted.append(value if isinstance(value, str) else json.dumps(value))
        found = [contains_word(text, word) for word in wanted if word.strip()]
        if found and not all(found) and own and len(own) >= sum(len(squeeze(word)) for word in wanted):
            # The template wrote the text in another form.
            found = [True]
        written = written or any(found)
        if not written and (parts or found):
            return [LostPart(path, "all")], False
        if found and not all(found):
            parts.append(LostPart(path, "some"))
        return parts, written

    def _names_keys(self, key: str | int, named: bool) -> bool:
        """Return True if the keys of the value of a key count as text."""
        return not self.is_schema or (key in _NAMED_BY_KEYS and not named)


def _items(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str | int, Any]]:
    return iter(value.items()) if isinstance(value, dict) else enumerate(value)


def contains_word(text: str, word: str) -> bool:
    """Return True if a squeezed text contains a word, as it is or with escapes."""
    if word in text or squeeze(word) in text:
        return True
    # Templates write data as JSON, or as Python prints it.
    quoted = repr(word), json.dumps(word, ensure_ascii=False), json.dumps(word)
    return any(squeeze(form[1:-1]) in text for form in quoted)
