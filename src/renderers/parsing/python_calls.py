"""Parse calls in the syntax of Python, as models write them. Any text gives a call or a `PythonError`, in linear time.

Values are literals of Python or JSON. A string can contain its own quote without an escape: in the lenient mode only
a quote before a bracket, a comma or a colon that can follow a value ends a string. There, a value without quotes is a
string too.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from renderers.core.lazy import lazy_pattern
from renderers.core.messages import MAX_JSON_DEPTH
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.schema import unescape_python

_SPACE = lazy_pattern(r"[ \t\n\r]*")
# Any character beyond ASCII can be part of a name: the text can be bytes.
_NAME = r"[A-Za-z0-9_.\-\x80-\U0010ffff]"
CALL_START = lazy_pattern(rf"[ \t\n\r]*({_NAME}+)[ \t]*\(")
"""The name of a call and its opening parenthesis."""
_KEY = lazy_pattern(rf"({_NAME}+)[ \t\n\r]*=(?!=)[ \t\n\r]*")
_STRING = {
    quote: lazy_pattern(rf"{quote}([^{quote}\\]*(?:\\.[^{quote}\\]*)*){quote}", re.DOTALL) for quote in ("'", '"')
}
_SIMPLE = lazy_pattern(r"(?:True|False|None|true|false|null|[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])")
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
# Bounded, because they are tried at many positions.
_FEW_SPACES, _SHORT_KEY = r"[ \t\n\r]{0,16}", rf"{_NAME}{{1,64}}"
_AFTER_ARGUMENT = (
    rf"{_FEW_SPACES}(?:,{_FEW_SPACES}{_SHORT_KEY}{_FEW_SPACES}=|,?{_FEW_SPACES}\)[ \t]{{0,16}}(?:[\],;\n]|\Z))"
)
_AFTER_ITEM = rf"{_FEW_SPACES}[,:\]}})]"
_LENIENT_STRING = {
    (quote, nested): lazy_pattern(rf"{quote}((?:\\.|[^{quote}\\]|{quote}(?!{after}))*+){quote}", re.DOTALL)
    for quote in _STRING
    for nested, after in ((False, _AFTER_ARGUMENT), (True, _AFTER_ITEM))
}
"""A string in the lenient mode."""
_BARE = lazy_pattern(rf"(?:[^ \t\n\r,)]|(?!{_AFTER_ARGUMENT}).)++", re.DOTALL)
_ENDS_ARGUMENT = lazy_pattern(_AFTER_ARGUMENT)
_CLOSERS = {"[": "]", "{": "}", "(": ")"}


class PythonError(ValueError):
    """A text is not a call in the syntax of Python."""


class PythonCall(NamedTuple):
    """A call in the syntax of Python."""

    name: str
    arguments: dict[str, Any]
    end: int
    """The position after the call."""
    bare: tuple[str, ...] = ()
    """The keys of values that are text without quotes, in the lenient mode."""


def read_call(text: str, position: int = 0, *, lenient: bool = False) -> PythonCall:
    """Parse the call at a position, or after whitespace there.

    Raises:
        PythonError: There is no call at that position, or it is broken.

    >>> read_call("f(city='Rome', days=[1, None])")
    PythonCall(name='f', arguments={'city': 'Rome', 'days': [1, None]}, end=30, bare=())
    >>> read_call("sh(command='echo 'hi'')", lenient=True).arguments
    {'command': "echo 'hi'"}
    """
    start = CALL_START.match(text, position)
    if start is None:
        raise PythonError
    reader = _Reader(text, start.end(), lenient=lenient)
    arguments = reader.arguments()
    return PythonCall(start[1], arguments, reader.position, tuple(reader.bare))


class _Reader:
    """A position in a text, and functions that read on from there."""

    def __init__(self, text: str, position: int, *, lenient: bool) -> None:
        self.text, self.position, self._lenient = text, position, lenient
        self._depth = 0
        self.bare: list[str] = []

    def arguments(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        self._skip_space()
        while not self._skip(")"):
            key = _KEY.match(self.text, self.position)
            if key is None:
                raise PythonError
            self.position = key.end()
            self._is_bare = False
            values[key[1]] = self._value(nested=False)
            if self._is_bare:
                self.bare.append(key[1])
            if not self._skip(",") and self._next() != ")":
                raise PythonError
            self._skip_space()
        return values

    def _value(self, *, nested: bool) -> Any:
        character = self._next()
        if character in _STRING:
            return self._string(character, nested=nested)
        if character in _CLOSERS:
            return self._container(character)
        bare = _BARE.match(self.text, self.position) if self._lenient and not nested else None
        simple = _SIMPLE.match(self.text, self.position)
        if bare is not None and (simple is None or not _ENDS_ARGUMENT.match(self.text, simple.end())):
            self.position = bare.end()
            self._is_bare = True
            return bare[0]
        if simple is None:
            raise PythonError
        self.position = simple.end()
        return _WORDS[simple[0]] if simple[0] in _WORDS else _number(simple[0])

    def _string(self, quote: str, *, nested: bool) -> str:
        pattern = _LENIENT_STRING[quote, nested] if self._lenient else _STRING[quote]
        match = pattern.match(self.text, self.position)
        if match is None:
            raise PythonError
        self.position = match.end()
        return unescape_python(match[1])

    def _container(self, opener: str) -> Any:
        self._depth += 1
        if self._depth > MAX_JSON_DEPTH:
            raise PythonError
        self.position += 1
        closer, values, pairs = _CLOSERS[opener], list[Any](), dict[str, Any]()
        self._skip_space()
        is_pairs = opener == "{" and self._next() == "}"
        while not self._skip(closer):
            value = self._value(nested=True)
            self._skip_space()
            if opener == "{" and self._skip(":"):
                is_pairs = True
                self._skip_space()
                pairs[value if isinstance(value, str) else str(value)] = self._value(nested=True)
            else:
                values.append(value)
            self._skip_space()
            if not self._skip(",") and self._next() != closer:
                raise PythonError
            self._skip_space()
        self._depth -= 1
        if is_pairs and values:
            raise PythonError
        return pairs if is_pairs else values

    def _next(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip(self, character: str) -> bool:
        self._skip_space()
        is_next = self._next() == character
        self.position += is_next
        return is_next

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position


def _number(text: str) -> Any:
    """Return a number. Zeros before an integer and underscores in it are ignored."""
    digits = text.replace("_", "").lstrip("+")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    try:
        # JSON has no numbers such as `1.` and `.5`.
        return read_json(sign + (digits.lstrip("0") or "0")) if digits.isdigit() else float(sign + digits)
    except JsonError:
        raise PythonError from None
