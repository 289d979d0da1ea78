"""Calls as a name and braces with bare keys, in which a token of its own quotes strings.

    <|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:3,where:{lat:41.9},tags:[<|"|>a<|"|>]}<tool_call|>

Used by Gemma 4, which writes the content of a turn after its calls. FunctionGemma has other markers, and quotes values
of every type. Values without quotes are JSON, or `None`.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.core.messages import MAX_JSON_DEPTH
from renderers.parsing.schema import Schema, read_value, unescape_python
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    OK,
    CallHead,
    Payload,
    ToolFormat,
    failed_call,
    named_call,
)
from renderers.parsing.tool_formats.json_calls import read_string

_PREFIX = "call:"
_SPACE = lazy_pattern(r"[ \t\n\r]*")
_BARE = lazy_pattern(r"[^,}\]]*")
_QUOTED_KEY = lazy_pattern(r"""("[^"\n]*"|'[^'\n]*')[ \t\n\r]*:""")
"""A key in the quotes of JSON or Python, which the format does not write."""
_QUOTED_VALUE = {
    quote: lazy_pattern(rf"{quote}([^{quote}\\]*(?:\\.[^{quote}\\]*)*){quote}(?=[ \t\n\r]*[,}}\]])", re.DOTALL)
    for quote in ('"', "'")
}
"""A value in such quotes."""
_NOT_IN_KEYS = lazy_pattern("""["',{]""")

FindSchema = Callable[[str], Schema | None]
"""Return the schema of a member of an object. None if its types are unknown."""


class _ArgumentReader:
    """Read the arguments in one payload, from a position on. Broken text ends them: everything before it is kept."""

    def __init__(self, payload: Payload, quote: str, position: int, *, quotes_all: bool) -> None:
        """`quotes_all` is True if the format writes values of every type in quotes."""
        self._quotes_all = quotes_all
        self._text, self._decode, self._quote = payload.byte_text, payload.decode, payload.mark(quote)
        self.position = position
        self.well_formed = True
        """False if brackets, quotes or separators are missing, or if a key occurs twice."""
        self.fits = True
        """False if a value does not have the type that the schema requires, or is text without quotes."""
        self.requoted = False
        """True if a string has no quotes, or if a key or another value has quotes that the format does not write."""

    def read_object(self, find_schema: FindSchema, depth: int = 1) -> dict[str, Any]:
        """Read the members of an object after its brace, and the brace that closes it."""
        members: dict[str, Any] = {}
        while not self._skip("}"):
            key = self._read_key()
            if key is None:
                break
            self.well_formed = self.well_formed and key not in members
            members[key] = self._read_value(find_schema(key), depth)
            if not self._skip(",") and not self._text.startswith("}", self.position):
                self._fail()
                break
        return members

    def _read_list(self, schema: Schema | None, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self._skip("]"):
            if self.position == len(self._text):
                self._fail()
                break
            items.append(self._read_value(schema, depth))
            if not self._skip(",") and not self._text.startswith("]", self.position):
                self._fail()
                break
        return items

    def _read_value(self, schema: Schema | None, depth: int) -> Any:
        if self._skip(self._quote):
            return self._value_of(self._read_quoted(), schema)
        if self._text.startswith(('"', "'"), self.position):
            self.requoted = True
            return self._value_of(self._read_other_quoted(), schema)
        if depth < MAX_JSON_DEPTH and self._skip("{"):
            self._require("object", schema)
            return self.read_object(schema.member if schema else _no_schema, depth + 1)
        if depth < MAX_JSON_DEPTH and self._skip("["):
            self._require("array", schema)
            return self._read_list(schema.item() if schema else None, depth + 1)
        return self._read_bare(schema)

    def _value_of(self, text: str, schema: Schema | None) -> Any:
        """Return the value of a text in quotes. A value of another type may be in quotes, too."""
        value, fits = (text, True) if schema is None else read_value(text, schema)
        self.fits = self.fits and fits
        if schema is None or "string" in schema.types:
            return text
        self.requoted = self.requoted or not self._quotes_all
        return value

    def _require(self, kind: str, schema: Schema | None) -> None:
        self.fits = self.fits and (schema is None or kind in schema.types)

    def _read_bare(self, schema: Schema | None) -> Any:
        """Read a value without quotes."""
        match = _BARE.match(self._text, self.position)
        assert match is not None
        self.position = match.end()
        text = self._decode(match[0]).strip()
        if text == "None" and (schema is None or "null" in schema.types):
            return None
        value, fits = read_value(text, schema)
        # A string has quotes, unless the schema shows that this is one.
        self.fits = self.fits and fits and (schema is not None or not isinstance(value, str))
        self.well_formed = self.well_formed and bool(text) and self._quote not in match[0]
        self.requoted = self.requoted or isinstance(value, str)
        return value

    def _read_quoted(self) -> str:
        """Read a string after its first quote, and the quote that closes it."""
        end = self._text.find(self._quote, self.position)
        if end < 0:
            end = len(self._text)
            self.well_formed = False
        text = self._decode(self._text[self.position : end])
        self.position = min(end + len(self._quote), len(self._text))
        return text

    def _read_other_quoted(self) -> str:
        """Read a string in the quotes of JSON or Python. Text after it, or an invalid escape, ends the arguments."""
        quote = self._text[self.position]
        match = _QUOTED_VALUE[quote].match(self._text, self.position)
        if match is None:
            text = self._decode(self._text[self.position + 1 :])
            self._fail()
            return text
        self.position = match.end()
        text = self._decode(match[1])
        value = read_string(f'"{text}"') if quote == '"' else unescape_python(text)
        if value is None:
            self._fail()
        return text if value is None else value

    def _read_key(self) -> str | None:
        """Read a key and the colon after it. None if there is none."""
        if self._skip(self._quote):
            key = self._read_quoted()
            colon = self.position if self._skip(":") else -1
        elif quoted := _QUOTED_KEY.match(self._text, self.position):
            key, self.position, colon = self._decode(quoted[1][1:-1]), quoted.end(), quoted.end()
            self.requoted = True
        else:
            colon = self._text.find(":", self.position)
            key = self._decode(self._text[self.position : colon]).strip()
            self.position = colon + 1
            colon = -1 if _NOT_IN_KEYS.search(key) else colon
        if colon < 0:
            self._fail()
            return None
        return key

    def _skip(self, text: str) -> bool:
        """Skip whitespace, and a text after it. Return False if the text is not there."""
        match = _SPACE.match(self._text, self.position)
        assert match is not None
        self.position = match.end()
        is_next = self._text.startswith(text, self.position)
        self.position += len(text) if is_next else 0
        return is_next

    def _fail(self) -> None:
        self.well_formed, self.position = False, len(self._text)


def _no_schema(_: str) -> None:
    return None


def _read(payload: Payload, *, quote: str, quotes_all: bool = False) -> ParsedToolCall:
    byte_text = payload.byte_text
    brace = byte_text.find("{")
    head = payload.decode(byte_text if brace < 0 else byte_text[:brace]).strip()
    name = head.removeprefix(_PREFIX).strip()
    if brace < 0:
        return failed_call(MALFORMED, name or None)
    reader = _ArgumentReader(payload, quote, brace + 1, quotes_all=quotes_all)
    arguments = reader.read_object(payload.schemas.parameters(name))
    ended = not byte_text[reader.position :].strip()
    status = OK if reader.fits else INVALID
    well_formed = reader.well_formed and ended and head.startswith(_PREFIX)
    recoveries = (RecoveryKind.VALUE_QUOTES,) if reader.requoted and reader.fits else ()
    return named_call(name, arguments, status if well_formed else MALFORMED, recoveries)


def _read_head(payload: Payload) -> CallHead:
    head, end = payload.head("{")
    return CallHead() if head is None else CallHead(head.strip().removeprefix(_PREFIX).strip(), end)


_GEMMA_QUOTE, _FUNCTION_GEMMA_QUOTE = '<|"|>', "<escape>"
GEMMA = ToolFormat(
    key="gemma",
    call=("<|tool_call>", "<tool_call|>"),
    value=(_GEMMA_QUOTE, _GEMMA_QUOTE),
    last=("}",),
    separates_calls=True,
    keeps_text=True,
    rejects_unknown_tools=True,
    read=functools.partial(_read, quote=_GEMMA_QUOTE),
    read_head=_read_head,
)
FUNCTION_GEMMA = dataclasses.replace(
    GEMMA,
    key="functiongemma",
    call=("<start_function_call>", "<end_function_call>"),
    value=(_FUNCTION_GEMMA_QUOTE, _FUNCTION_GEMMA_QUOTE),
    read=functools.partial(_read, quote=_FUNCTION_GEMMA_QUOTE, quotes_all=True),
)
