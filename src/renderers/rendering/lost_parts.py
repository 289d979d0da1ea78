"""Compare values of the input with the text that was written of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from renderers.core.spans import Path

Amount = Literal["all", "some"]

_UNWRITTEN_KEYWORDS = frozenset({"type", "required", "strict", "additionalProperties", "$schema"})
"""Keywords of a schema that a format may express by its own words: `city: string, days?: number`."""
_NAMED_BY_KEYS = frozenset({"properties", "$defs", "definitions"})
"""Keywords of a schema with a dict that has names of the caller as keys."""

_WORDS = {True: ("true",), False: ("false",), None: ("null", "none")}


def squeeze(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def lost_text(value: str, own: str, around: str = "") -> Amount | None:
    """Return how much of a text is missing in the text that was written of it; None if nothing is.

    `around` is the same text with the template text between its parts. A template may escape a text, indent it, change
    its case, or write a part of it itself. So a text is complete if all of its characters were written in order.

    >>> lost_text(" Hi there", "HI THERE"), lost_text("Hi there", "there"), lost_text("Hi", "")
    (None, 'some', 'all')
    """
    text = value.strip()
    if text in own:
        return None
    if not own.strip():
        return "all"
    if any(_is_within(form, own) for form in (text, *_quoted(text))):
        return None
    return None if squeeze(text) in squeeze(around) and _is_within(text, around) else "some"


def lost_texts(values: Sequence[str], own: str, around: str, *, copies: bool) -> list[Amount | None]:
    """Return how much is missing of each of the texts of one field.

    If `copies` is True, equal texts need to be written only once.
    """
    texts = [value.strip() for value in values]
    amount = lost_text("".join(dict.fromkeys(texts) if copies else texts), own, around)
    if amount != "some":
        return [amount] * len(texts)
    lost: dict[int, Amount | None] = {}
    # A text may be a part of another one, so each is searched for in the text that the longer ones leave.
    for number in sorted(range(len(texts)), key=lambda number: -len(texts[number])):
        text, first = texts[number], texts.index(texts[number])
        if copies and first in lost:
            lost[number] = lost[first]
            continue
        lost[number] = lost_text(text, own)
        if lost[number] == "some" and not any(word.casefold() in own.casefold() for word in text.split()):
            lost[number] = "all"
        own = own.replace(text, "", 1)
    return [lost[number] for number in range(len(texts))]


def _is_within(text: str, written: str) -> bool:
    """Return True if all characters of a text were written in order, in any case."""
    characters = iter(written.casefold())
    return all(character in characters for character in text.casefold())


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
        raw = self.texts.get(path, "")
        own = squeeze(raw)
        text = above + own
        written_parts = [] if key is None or not key.strip() else [contains_word(text.casefold(), key.casefold())]
        parts: list[LostPart] = []
        written = False
        if isinstance(value, dict | list):
            for child, item in _items(value):
                if self.is_schema and child in _UNWRITTEN_KEYWORDS and not named:
                    continue
                name = child if named and isinstance(child, str) else None
                lost, is_written = self._lost(item, (*path, child), name, text, named=self._names_keys(child, named))
                parts += lost
                written = written or is_written
        elif not (isinstance(value, str) and not value.strip()):
            written_parts += self._finds(value, raw, above)
        written = written or any(written_parts)
        if not written and (parts or written_parts):
            return [LostPart(path, "all")], False
        if written_parts and not all(written_parts):
            parts.append(LostPart(path, "some"))
        return parts, written

    def _finds(self, value: Any, raw: str, above: str) -> list[bool]:
        """Return whether a text, a number, a boolean or None was written. Empty if it does not count.

        `raw` is the text of the value, and `above` the squeezed text of its containers.
        """
        own = squeeze(raw)
        if value is None or isinstance(value, bool):
            # No owner is known of these, so the text of the template counts too.
            text = (above + own + self.texts.get((), "")).casefold()
            return [] if self.is_schema else [any(word in text for word in _WORDS[value])]
        if isinstance(value, str) and own and not self.is_schema:
            return [lost_text(value, raw) is None or contains_word(above, value)]
        word = value if isinstance(value, str) else json.dumps(value)
        # A template may write a number or a description in another form, such as a comment of several lines.
        lines = word.splitlines() if self.is_schema else [word]
        return [all(contains_word(above + own, line) for line in lines) or len(own) >= len(squeeze(word))]

    def _names_keys(self, key: str | int, named: bool) -> bool:
        """Return True if the keys of the value of a key count as text."""
        return not self.is_schema or (key in _NAMED_BY_KEYS and not named)


def _items(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str | int, Any]]:
    return iter(value.items()) if isinstance(value, dict) else enumerate(value)


def contains_word(text: str, word: str) -> bool:
    """Return True if a squeezed text contains a word, as it is or with escapes."""
    if word in text or squeeze(word) in text:
        return True
    return any(squeeze(form) in text for form in _quoted(word))


def _quoted(text: str) -> Iterator[str]:
    """Yield a text with escapes. Templates write data as JSON, or as Python prints it."""
    return (form[1:-1] for form in (repr(text), json.dumps(text, ensure_ascii=False), json.dumps(text)))
