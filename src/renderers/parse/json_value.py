"""JSON that a model wrote: any text may come, and it is a value or one kind of error, in linear time.

What Python's `json` reads is read, with NaN, Infinity and keys that are there twice (the last one wins). Raw line
breaks and other control characters in strings are read too: models write them, and what is meant is clear.
Refused beyond that is what nobody could pass on: data nested too deep, integers that Python does not convert, and
strings that have no UTF-8 form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from renderers.core.messages import MAX_JSON_DEPTH

__all__ = ["JsonError", "member_text", "read_json", "read_json_prefix"]

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SIMPLE = re.compile(
    _STRING + r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|-?Infinity|NaN|true|false|null", re.DOTALL
)
_NEXT = re.compile(r"[-+.,:0-9A-Za-z \t\n\r]*(?:" + _STRING + r"|([\[{])|([\]}]))", re.DOTALL)
"""All up to the end of the next string or bracket, as long as it can be JSON."""
_SPACE = " \t\n\r"
_NO_SPACE = re.compile(f"[^{_SPACE}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_DECODER = json.JSONDecoder(strict=False)


class JsonError(ValueError):
    """A text is not a JSON value; `reason` says why, as what follows "it"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_json(text: str) -> Any:
    r"""Returns the JSON value that a text is, with whitespace around it or not.

    Raises:
        JsonError: The text is something else, or there is more in it.

    >>> read_json(' {"code": "a\nb"} ')
    {'code': 'a\nb'}
    """
    if text.count("{") + text.count("[") <= MAX_JSON_DEPTH:
        # Nothing in it can be too deep, so nothing has to be counted. What is wrong is found out below.
        try:
            return _decoded(text.strip(_SPACE), 0)
        except JsonError:
            pass
    value, end = read_json_prefix(text, 0)
    after = _skip_space(text, end)
    if after < len(text):
        raise JsonError(f"goes on after the value, at character {after}")
    return value


def read_json_prefix(text: str, at: int) -> tuple[Any, int]:
    """Returns the JSON value that begins at a place, or after whitespace there, and where it ends.

    What follows the value is not looked at, so reading value after value takes linear time in all.

    Raises:
        JsonError: No value begins there, or it is broken.

    >>> read_json_prefix('{"a": 1} {"b": 2}', 0)
    ({'a': 1}, 8)
    """
    start = _skip_space(text, at)
    end = _end_of(text, start)
    # Only the value: an error of the decoder counts lines in all that it was given.
    return _decoded(text[start:end], start), end


def member_text(text: str, key: str) -> str:
    """Returns how the value of a key is written in a text that can be read as a JSON object and has that key.

    Raises:
        JsonError: The text is something else.

    >>> member_text('{"a": 1, "b": [1,  2]}', "b")
    '[1,  2]'
    """
    written = ""
    at = _skip_space(text, 0)
    while text[at : at + 1] in ("{", ","):
        start = _skip_space(text, at + 1)
        end = _end_of(text, start)
        value = _skip_space(text, _skip_space(text, end) + len(":"))
        at = _end_of(text, value)
        if _decoded(text[start:end], start) == key:
            # Of keys that are there twice the last one counts, as in reading.
            written = text[value:at]
        at = _skip_space(text, at)
    return written


def _decoded(piece: str, start: int) -> Any:
    """Returns the value that a part of a text is, which begins at a place in it and is not too deep."""
    try:
        value, end = _DECODER.raw_decode(piece)
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON at character {start + error.pos}: {error.msg}") from None
    except ValueError:
        raise JsonError("has an integer with too many digits") from None
    if end < len(piece):
        raise JsonError(f"goes on after the value, at character {start + end}")
    escaped = "\\u" in piece and _SURROGATE_ESCAPE.search(piece) and any(map(_SURROGATE.search, _strings_in(value)))
    if escaped or (not piece.isascii() and _SURROGATE.search(piece)):
        raise JsonError("has a string with a lone surrogate, which has no UTF-8 form")
    return value


def _skip_space(text: str, at: int) -> int:
    found = _NO_SPACE.search(text, at)
    return found.start() if found else len(text)


def _end_of(text: str, start: int) -> int:
    """Returns where a value ends that begins at a place, if it is one; what is in its brackets may be no JSON."""
    if text[start : start + 1] not in ("[", "{"):
        simple = _SIMPLE.match(text, start)
        if simple is None:
            raise JsonError(f"has no value at character {start}")
        return simple.end()
    # Brackets are counted before anything is decoded: the decoder would call itself for each.
    at, depth = start, 0
    while (found := _NEXT.match(text, at)) is not None:
        at = found.end()
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > MAX_JSON_DEPTH:
            raise JsonError(f"is nested more than {MAX_JSON_DEPTH} levels deep")
        if depth == 0:
            return at
    raise JsonError(f"is broken or cut off after character {at}")


def _strings_in(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
