"""Parse JSON that a model wrote. Any text gives a value or a `JsonError`, in linear time.

Accepts everything that Python's `json` accepts, and raw control characters in strings, which models
write. Rejected are values that cannot be passed on: data nested too deep, integers that Python does not
convert, and strings without a UTF-8 form.
"""

from __future__ import annotations

import json
import re
from typing import Any

from renderers.core.lazy import lazy_pattern
from renderers.core.messages import MAX_JSON_DEPTH
from renderers.core.native import native

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SIMPLE = lazy_pattern(
    _STRING + r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|-?Infinity|NaN|true|false|null", re.DOTALL
)
_NEXT = lazy_pattern(r"[-+.,:0-9A-Za-z \t\n\r]*(?:" + _STRING + r"|([\[{])|([\]}]))", re.DOTALL)
"""Everything up to the end of the next string or bracket, if it can be JSON."""
_SPACE = " \t\n\r"
_NO_SPACE = lazy_pattern(f"[^{_SPACE}]")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_SURROGATE_ESCAPE = lazy_pattern(r"\\u[dD][89a-fA-F]")
_FIRST_CHARACTERS = frozenset('{["-0123456789tfnIN')
"""The characters that a value can begin with."""
_DECODER = json.JSONDecoder(strict=False)


class JsonError(ValueError):
    """A text is not a JSON value. The message completes the sentence "it …"."""


def is_simple_in_python(text: str, brackets: int, /) -> bool:
    """Return True if a text is ASCII, has at most some opening brackets, and no escape of a code unit."""
    return text.isascii() and text.count("{") + text.count("[") <= brackets and "\\u" not in text


_is_simple = is_simple_in_python if native is None else native.is_simple_json
"""Called for ASCII texts only: in C, any other text would be encoded, and Python would keep the copy."""


def read_json(text: str) -> Any:
    r"""Parse a JSON value. Whitespace around it is ignored.

    Raises:
        JsonError: The text is not a JSON value, or has more text after the value.

    >>> read_json(' {"code": "a\nb"} ')
    {'code': 'a\nb'}
    """
    if is_shallow(text):
        stripped = text.lstrip(_SPACE)
        start = len(text) - len(stripped)
        if stripped[:1] not in _FIRST_CHARACTERS:
            raise JsonError(f"has no value at character {start}")
        return _decode(stripped.rstrip(_SPACE), start)
    value, end = read_json_prefix(text, 0)
    after = _skip_space(text, end)
    if after < len(text):
        raise JsonError(f"goes on after the value, at character {after}")
    return value


def begins_value(text: str) -> bool:
    """Return True if a text begins with a character that a JSON value can begin with, after whitespace."""
    return text.lstrip(_SPACE)[:1] in _FIRST_CHARACTERS


def is_shallow(text: str) -> bool:
    """Return True if no value in a text can be nested too deep, because it has few brackets."""
    if len(text) <= MAX_JSON_DEPTH or (text.isascii() and _is_simple(text, MAX_JSON_DEPTH)):
        return True
    # Splitting finds the next bracket faster than `str.count`, which compares each character.
    most = MAX_JSON_DEPTH + 1
    return len(text.split("{", most)) + len(text.split("[", most)) <= most + 1


def read_json_prefix(text: str, position: int, *, shallow: bool = False) -> tuple[Any, int]:
    """Parse the JSON value at a position, or after whitespace there. Return it and its end.

    The text after the value is not examined, so parsing consecutive values takes linear time in total. `shallow` is
    the result of `is_shallow` for the whole text, if it is known. It saves counting brackets.

    Raises:
        JsonError: There is no value at that position, or it is broken.

    >>> read_json_prefix('{"a": 1} {"b": 2}', 0)
    ({'a': 1}, 8)
    """
    start = _skip_space(text, position)
    if shallow:
        # If the value is not valid, the code below finds the reason.
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            pass
        else:
            _reject_surrogates(text[start:end], value)
            return value, end
    end = _end_of(text, start)
    # The decoder gets only the value: on an error it counts the lines of all its input.
    return _decode(text[start:end], start), end


def member_text(text: str, key: str) -> str:
    """Return the JSON text of the value of a key. The text must be a JSON object with that key.

    >>> member_text('{"a": 1, "b": [1,  2]}', "b")
    '[1,  2]'
    """
    member, position = "", _skip_space(text, 0)
    while text[position : position + 1] in ("{", ","):
        name, end = read_json_prefix(text, position + 1)
        start = _skip_space(text, _skip_space(text, end) + len(":"))
        end = _end_of(text, start)
        if name == key:
            # The last one of duplicate keys counts, as in parsing.
            member = text[start:end]
        position = _skip_space(text, end)
    return member


def _decode(piece: str, start: int) -> Any:
    """Decode a part of a text that is not nested too deep, from `start` on."""
    try:
        value, end = _DECODER.raw_decode(piece)
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON at character {start + error.pos}: {error.msg}") from None
    except ValueError:
        raise JsonError("has an integer with too many digits") from None
    if end < len(piece):
        raise JsonError(f"goes on after the value, at character {start + end}")
    _reject_surrogates(piece, value)
    return value


def _reject_surrogates(piece: str, value: Any) -> None:
    """Raise if a string in a value, decoded from a text, has no UTF-8 form."""
    if piece.isascii() and _is_simple(piece, len(piece)):
        return
    searched = piece
    if "\\u" in piece and _SURROGATE_ESCAPE.search(piece):
        # Two escapes can form a character, so the decoded strings are searched.
        searched += json.dumps(value, ensure_ascii=False)
    if not searched.isascii() and _SURROGATE.search(searched):
        raise JsonError("has a string with a lone surrogate, which has no UTF-8 form")


def _skip_space(text: str, position: int) -> int:
    match = _NO_SPACE.search(text, position)
    return match.start() if match else len(text)


def _end_of(text: str, start: int) -> int:
    """Return the end of the value at a position. The text within its brackets is not validated."""
    if text[start : start + 1] not in ("[", "{"):
        simple = _SIMPLE.match(text, start)
        if simple is None:
            raise JsonError(f"has no value at character {start}")
        return simple.end()
    # Brackets are counted before decoding: the decoder recurses for each of them.
    position, depth = start, 0
    while (match := _NEXT.match(text, position)) is not None:
        position = match.end()
        depth += (match[1] is not None) - (match[2] is not None)
        if depth > MAX_JSON_DEPTH:
            raise JsonError(f"is nested more than {MAX_JSON_DEPTH} levels deep")
        if depth == 0:
            return position
    raise JsonError(f"is broken or cut off after character {position}")
