"""Calls of MiniMax M3: elements named by the keys, with a token before every tag.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Rome]<]minimax[>[</city>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Members of an object are nested elements, and so are items of a list, all with the name `item`. Values have no quotes,
so the schema determines their types, as well as the type of an empty element. A value that is null is left out.
"""

from __future__ import annotations

import functools
from typing import Any

from renderers.core.completions import ParsedToolCall
from renderers.core.messages import MAX_JSON_DEPTH
from renderers.parsing.schema import Schema, read_value
from renderers.parsing.tool_formats.base import INVALID, MALFORMED, OK, CallHead, Payload, ToolFormat, named_call

_NAMESPACE = "]<]minimax[>["
_NAME_END = '">'
_ITEM = "item"


class _Element:
    """An element that is open: its key, its schema, its text, and the elements in it so far."""

    __slots__ = ("children", "key", "schema", "text")

    def __init__(self, key: str, schema: Schema | None, text: str) -> None:
        self.key, self.schema, self.text = key, schema, text
        self.children: list[tuple[str, Any]] = []

    def value(self) -> tuple[Any, bool]:
        """Return the value of the element, and True if it fits its schema."""
        types = frozenset[str]() if self.schema is None else self.schema.types
        is_list = types == {"array"} or ("object" not in types and all(key == _ITEM for key, _ in self.children))
        if self.children:
            value: Any = [child for _, child in self.children] if is_list else dict(self.children)
            kind = "array" if is_list else "object"
            return value, (not types or kind in types) and not self.text.strip()
        if not self.text and types and types <= {"array", "object"}:
            return ([] if is_list else {}), True
        return read_value(self.text, self.schema)


class _ElementReader:
    """Read the elements of one call. Elements that are not closed end with the call."""

    def __init__(self, payload: Payload, tool: str) -> None:
        self._decode = payload.decode
        self._find_schema = functools.partial(payload.schemas.parameter, tool)
        self._open: list[_Element] = []
        self.arguments: dict[str, Any] = {}
        self.well_formed = self.fits = True

    def read(self, parts: list[str]) -> None:
        """Read texts that begin with a tag each."""
        for part in parts:
            tag, closing, text = part.partition(">")
            if not closing or not tag.startswith("<"):
                self.well_formed = False
            elif tag.startswith("</"):
                self._close(self._decode(tag[2:]), text)
            else:
                self._begin(self._decode(tag[1:]), self._decode(text))
        self.well_formed = self.well_formed and not self._open
        while self._open:
            self._end()

    def _begin(self, key: str, text: str) -> None:
        schema: Schema | None = None
        if len(self._open) >= MAX_JSON_DEPTH:
            self.well_formed = False
            return
        if not self._open:
            schema = self._find_schema(key)
        elif (parent := self._open[-1].schema) is not None:
            schema = parent.item() if key == _ITEM and "object" not in parent.types else parent.member(key)
        self._open.append(_Element(key, schema, text))

    def _close(self, key: str, text_after: str) -> None:
        """Close an element with a key. Elements in it that are not closed end as well."""
        if not self._open or self._open[-1].key != key:
            self.well_formed = False
            if not any(element.key == key for element in self._open):
                return
        while self._open[-1].key != key:
            self._end()
        self._end()
        self.well_formed = self.well_formed and not text_after.strip()

    def _end(self) -> None:
        element = self._open.pop()
        value, fits = element.value()
        self.fits = self.fits and fits
        if element.children and isinstance(value, dict) and len(value) < len(element.children):
            # A key occurs twice.
            self.well_formed = False
        if self._open:
            self._open[-1].children.append((element.key, value))
        else:
            self.well_formed = self.well_formed and element.key not in self.arguments
            self.arguments[element.key] = value


def _read(payload: Payload) -> ParsedToolCall:
    head, *parts = payload.byte_text.split(payload.mark(_NAMESPACE))
    name, closing, before = head.partition(_NAME_END)
    tool = payload.decode(name).strip()
    reader = _ElementReader(payload, tool)
    reader.read(parts)
    well_formed = bool(closing) and reader.well_formed and not before.strip()
    return named_call(tool, reader.arguments, (OK if reader.fits else INVALID) if well_formed else MALFORMED)


def _read_head(payload: Payload) -> CallHead:
    name, end = payload.head(_NAME_END)
    return CallHead() if name is None else CallHead(name.strip(), end)


MINIMAX_M3 = ToolFormat(
    key="minimax_m3",
    section=(f"{_NAMESPACE}<tool_call>", f"{_NAMESPACE}</tool_call>"),
    call=(f'{_NAMESPACE}<invoke name="', f"{_NAMESPACE}</invoke>"),
    inner=(_NAMESPACE,),
    rejects_unknown_tools=True,
    read=_read,
    read_head=_read_head,
)
