"""Follow a tool call while it is written: its name as soon as it is complete, and the text of its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

from renderers.core.lazy import lazy_pattern
from renderers.parsing.buffer import InputBuffer, MarkerSet
from renderers.parsing.schema import NO_SCHEMAS
from renderers.parsing.tool_formats import MarkerPair, Payload, ToolFormat

_LONGEST_HEAD = 1024
"""The number of bytes in which the name and the beginning of the arguments are searched for."""
_OUTSIDE = lazy_pattern(r'["{}]')
_IN_STRING = lazy_pattern(r'["\\]')
STRING_TEXT = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
"""The text of a JSON string up to its closing quote, or to an escape that is cut off."""
_STRING_TEXT = lazy_pattern(STRING_TEXT, re.DOTALL)


class ObjectEnd:
    """Find the end of a JSON object that arrives in pieces. The first piece begins with its brace.

    >>> end = ObjectEnd()
    >>> [end.find(piece) for piece in ('{"a": "', '}\\\\', '""', "}}")]
    [None, None, None, 1]
    """

    __slots__ = ("_depth", "_escaped", "_in_string")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False

    def find(self, piece: str) -> int | None:
        """Return the position after the object in a piece; None if the object goes on."""
        position = 1 if self._escaped and piece else 0
        self._escaped = self._escaped and not piece
        while match := (_IN_STRING if self._in_string else _OUTSIDE).search(piece, position):
            character, position = match[0], match.end()
            if character == '"':
                self._in_string = not self._in_string
            elif character == "\\":
                self._escaped = position == len(piece)
                position += 1
            else:
                self._depth += 1 if character == "{" else -1
                if self._depth == 0:
                    return position
        return None


class ObjectCursor:
    """Find the end of a JSON object in the input, from the position of the buffer on. Scans each byte once."""

    def __init__(self, buffer: InputBuffer) -> None:
        self._buffer, self._object = buffer, ObjectEnd()
        self._scanned = buffer.offset_of(buffer.position)

    def find(self, limit: int) -> int | None:
        """Return the position after the object. None if it does not end before a position."""
        start = max(self._scanned - self._buffer.offset_of(0), self._buffer.position)
        self._scanned = self._buffer.offset_of(max(start, limit))
        end = self.find_in(self._buffer.byte_text[start:limit])
        return None if end is None else start + end

    def find_in(self, text: str) -> int | None:
        """Return the position after the object in a text that follows the texts before it. None if it goes on."""
        return self._object.find(text)


class ArgumentsEnd(ObjectCursor):
    """Find the end of the JSON object with the arguments of a call, in the input from the beginning of the call on."""

    def __init__(
        self, buffer: InputBuffer, tool_format: ToolFormat, *, mark: Callable[[str], str], decode: Callable[[str], str]
    ) -> None:
        super().__init__(buffer)
        self._format, self._mark, self._decode = tool_format, mark, decode
        self._head: str | None = ""
        """The byte text in which the beginning of the arguments is searched for. None if there is nothing to find."""
        self._found = False
        """True if the arguments have begun."""

    def find_in(self, text: str) -> int | None:
        """Return the position after the arguments in a text. None if these go on, or have not begun."""
        if self._found or self._head is None:
            return super().find_in(text) if self._found else None
        size, self._head = len(self._head), self._head + text
        head = self._format.read_head(Payload(self._head, self._mark, self._decode, NO_SCHEMAS))
        rest = "" if head.arguments_start is None or not head.name else self._head[head.arguments_start :].lstrip()
        start = len(self._head) - len(rest)
        if start > _LONGEST_HEAD or (rest and not rest.startswith("{")):
            self._head = None
        elif rest:
            self._found = True
            end = super().find_in(rest)
            return None if end is None else start + end - size
        return None


def ends_in_value(text: str, markers: MarkerPair) -> bool:
    """Return True if a whole call ends within a value. The markers are those before and after a value, as byte text."""
    opener, closer = markers
    if opener == closer:
        return text.count(opener) % 2 == 1
    return text.rfind(opener) > text.rfind(closer)


class OpenValue:
    """Know whether a call so far ends within a value. Examines each piece once."""

    __slots__ = ("_captured", "_examined", "_is_open", "_markers", "_overlap")

    def __init__(self, captured: list[tuple[str, str]], markers: MarkerPair) -> None:
        """`captured` are the pieces of the call. `markers` are those before and after a value, as byte text.

        If both are the same, every second one closes a value.
        """
        self._captured, self._markers = captured, markers
        self._examined, self._overlap, self._is_open = 0, "", False

    def examine(self) -> bool:
        """Return True if the call ends within a value."""
        text = self._overlap + "".join([part for part, _ in self._captured[self._examined :]])
        self._examined = len(self._captured)
        opener, closer = self._markers
        opened, closed = text.rfind(opener), text.rfind(closer)
        if opener == closer:
            self._is_open ^= text.count(opener) % 2 == 1
            text = text[opened + len(opener) :] if opened >= 0 else text
        elif opened >= 0 or closed >= 0:
            self._is_open = opened > closed
        self._overlap = text[-max(len(opener), len(closer)) :]
        return self._is_open


class OpenString:
    """Know whether a call so far ends within a JSON string. Examines each piece once."""

    __slots__ = ("_captured", "_escape", "_examined", "_is_open")

    def __init__(self, captured: list[tuple[str, str]], *, first: int = 0) -> None:
        """`captured` are the pieces of the call. `first` is the first of these to examine."""
        self._captured, self._examined, self._escape, self._is_open = captured, first, "", False

    def examine(self) -> bool:
        """Return True if the call ends within a string.

        >>> pieces = [('{"a": "', ""), ("\\\\", "")]
        >>> string = OpenString(pieces)
        >>> string.examine(), pieces.append(('" b', "")), string.examine(), pieces.append(('"', "")), string.examine()
        (True, None, True, None, False)
        """
        text = self._escape + "".join([part for part, _ in self._captured[self._examined :]])
        self._examined, self._escape = len(self._captured), ""
        if "\\" in text:
            text = text.replace("\\\\", "").replace('\\"', "")
            self._escape = "\\" if text.endswith("\\") else ""
        if text.count('"') % 2:
            self._is_open = not self._is_open
        return self._is_open


class StringEnd:
    """Know whether the end of a JSON string has arrived, and text after it, or a stop token. Examines each piece once.

    >>> end = StringEnd(MarkerSet.of())
    >>> [end.has_arrived(piece) for piece in ("a\\\\", '"b', '"', " ", "}")]
    [False, False, False, False, True]
    """

    __slots__ = ("_escape", "_is_open", "_stops")

    def __init__(self, stops: MarkerSet) -> None:
        self._stops, self._escape, self._is_open = stops, "", True

    def has_arrived(self, piece: str) -> bool:
        after = piece
        if self._is_open:
            text = self._escape + piece
            read = _STRING_TEXT.match(text)
            assert read is not None
            rest = text[read.end() :]
            self._is_open = not rest.startswith('"')
            self._escape, after = (rest, "") if self._is_open else ("", rest[1:])
        return bool(after.strip(" \t\n\r")) or self._stops.occurs_in(piece)


class CallProgress:
    """The name and the arguments of one call, from its pieces so far. The joined result is the same for any pieces."""

    __slots__ = ("_captured", "_decode", "_examined", "_format", "_head", "_mark", "_named", "arguments")

    def __init__(
        self,
        captured: list[tuple[str, str]],
        tool_format: ToolFormat,
        *,
        mark: Callable[[str], str],
        decode: Callable[[str], str],
    ) -> None:
        """`captured` are the pieces of the call, as byte text and decoded. More pieces are appended to it."""
        self._captured, self._format, self._mark, self._decode = captured, tool_format, mark, decode
        self._head: str | None = ""
        """The byte text in which the head is searched for. None if there is nothing more to find."""
        self.arguments: ObjectEnd | None = None
        """The object with the arguments, while it is open. Only a piece with a closing brace can end it."""
        self._named = False
        self._examined = 0

    def advance(self) -> tuple[str | None, str]:
        """Return the name, if it is complete now, and more text of the arguments.

        Call it after each piece. Pieces without a closing brace can be left out if `arguments` is open: these are text
        of the arguments.
        """
        new = [byte_text for byte_text, _ in self._captured[self._examined :]]
        self._examined = len(self._captured)
        if self.arguments is not None:
            end = self.arguments.find("".join(new))
            if end is None:
                return None, self._captured[-1][1]
            self.arguments = None
            before = sum(map(len, new[:-1]))
            return None, self._decode(new[-1][: end - before])
        return (None, "") if self._head is None else self._search_head("".join(new))

    def _search_head(self, byte_text: str) -> tuple[str | None, str]:
        """Search for the name and for the beginning of the arguments."""
        assert self._head is not None
        self._head = text = self._head + byte_text
        head = self._format.read_head(Payload(text, self._mark, self._decode, NO_SCHEMAS))
        name, arguments, start = None, "", head.arguments_start
        if not self._named and head.name and head.name_end <= _LONGEST_HEAD:
            self._named, name = True, head.name
        rest = "" if start is None else text[start:].lstrip()
        if rest or len(text) > _LONGEST_HEAD or (self._named and not self._format.json_arguments):
            self._head = None
        if rest.startswith("{") and len(text) - len(rest) <= _LONGEST_HEAD:
            end = ObjectEnd()
            closed = end.find(rest)
            self.arguments = end if closed is None else None
            arguments = self._decode(rest[:closed])
        return name, arguments
