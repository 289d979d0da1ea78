"""A fast check of a run, which decides whether losses have to be searched for at all. Every render runs it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from renderers.core.jsontypes import JsonObject
from renderers.core.losses import LossKind
from renderers.core.messages import REASONING_NAMES
from renderers.core.native import COMPILED, native
from renderers.core.spans import Path
from renderers.programs.base import ProgramRun
from renderers.templating.scopes import TEXT_TYPES, field_texts

Items = tuple[tuple[LossKind, Sequence[Any] | None], ...]
"""The tools and the documents, each with the kind of its losses."""

_WORDS = (
    *("_owner", "_runs", "role", "content", "name", "tool_calls", "function", "arguments"),
    *("reasoning", "thinking", "reasoning_content", "type", "text", "tool", "function_call", "refusal"),
    *("system", "developer", "user", "assistant", "id", "text_beside_calls"),
)
"""The names of attributes and keys that the C extension compares with, in its order."""
_USUAL_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_MOST = 64
"""Calls and parts from this number on are not looked at."""
_SPACE = " \t\n\v\f\r"
_NO_ARGUMENTS = re.compile(rf"[{_SPACE}]*(?:\{{[{_SPACE}]*\}}[{_SPACE}]*)?")
_WORD_CHARACTER = "[0-9A-Za-z_\x80-\U0010ffff]"


def may_lose(run: ProgramRun, messages: list[JsonObject], items: Items, kinds: Container[LossKind]) -> bool:
    """Return False if something was written of every field of some kinds. True may be a false alarm."""
    if run.pieces is None:
        text = run.trace.text
        texts = (
            ((message, path), text[start:end]) for start, end, message, path in run.trace.spans if path and start < end
        )
        return _may_lose_fields(texts, messages, items, kinds)
    return check_pieces(run.pieces, messages, items, kinds, TEXT_TYPES, _WORDS)


def _check_pieces(
    pieces: list[str],
    messages: list[JsonObject],
    items: Items,
    kinds: Container[LossKind],
    _types: tuple[type, type, type],
    _words: tuple[str, ...],
) -> bool:
    return _may_lose_fields(field_texts(pieces), messages, items, kinds)


check_pieces = native.may_lose if COMPILED else _check_pieces


def _may_lose_fields(
    written: Iterable[tuple[tuple[int, Path], str]],
    messages: list[JsonObject],
    items: Items,
    kinds: Container[LossKind],
) -> bool:
    """Do the work of `may_lose`. `written` are the texts of fields in the output, with their owners."""
    by_message: dict[int, _WrittenFields] = defaultdict(_WrittenFields)
    written_items = set()
    for (index, path), text in written:
        if index >= 0:
            by_message[index].add(path, text)
        elif path:
            written_items.add(path[0])
    called: set[str] = set()
    for index, message in enumerate(messages):
        if not _MessageCheck(message, by_message[index], kinds, called).writes_all():
            return True
    return any(values and kind not in written_items and kind in kinds for kind, values in items)


@dataclass(slots=True)
class _WrittenFields:
    """The fields of a message that were written. Calls and parts are numbers."""

    names: set[int] = field(default_factory=set)
    arguments: set[int] = field(default_factory=set)
    ids: set[int] = field(default_factory=set)
    parts: set[int] = field(default_factory=set)
    content: bool = False
    content_size: int = 0
    """The length of the longest text of the content as a whole, without white space around it."""
    reasoning: bool = False
    name: bool = False

    def add(self, path: Path, text: str) -> None:
        """Add a text of a field. Text of a message as a whole, with an empty path, does not count."""
        key = path[0] if path else None
        if key in REASONING_NAMES or (key == "content" and len(path) > 1 and path[-1] == "thinking"):
            self.reasoning = True
        elif key == "content":
            self.content = True
            if len(path) == 1:
                self.content_size = max(self.content_size, len(text.strip(_SPACE)))
            elif isinstance(path[1], int):
                self.parts.add(path[1])
        elif key == "tool_calls" and len(path) > 2 and isinstance(path[1], int):
            inner = path[3:4] if path[2] == "function" else path[2:3]
            if inner in _CALL_FIELDS:
                getattr(self, _CALL_FIELDS[inner]).add(path[1])
        elif key == "name":
            self.name = True


_CALL_FIELDS: dict[Path, str] = {("name",): "names", ("arguments",): "arguments", ("id",): "ids"}


@dataclass(frozen=True, slots=True)
class _MessageCheck:
    message: JsonObject
    written: _WrittenFields
    kinds: Container[LossKind]
    called: set[str]
    """The names of the calls of earlier messages. Those of this message are added to it."""

    def writes_all(self) -> bool:
        """Return True if something was written of every field, or if a loss of it does not count."""
        return all(self._writes_field(key, value) for key, value in self.message.items())

    def _writes_field(self, key: str, value: Any) -> bool:
        written, kinds = self.written, self.kinds
        if key == "role":
            return written.content or value in _USUAL_ROLES
        if key == "content":
            return self._writes_content(value)
        if key == "tool_calls":
            return value is None or (type(value) is list and self._writes_calls(value))
        if key == "name":
            if written.name or "name" not in kinds or _is_blank(value):
                return True
            return isinstance(value, str) and self.message.get("role") == "tool" and value in self.called
        if key in REASONING_NAMES:
            return "reasoning" not in kinds or self._writes_reasoning(value)
        if key in ("function_call", "refusal"):
            return _is_blank(value)
        # Any other key may hold the content of a message that has none.
        return "content" in self.message or "tool_calls" in self.message

    def _writes_content(self, content: Any) -> bool:
        if _is_blank(content):
            return True
        is_ignored = (
            bool(self.written.names)
            and "text_beside_calls" not in self.kinds
            and "reasoning" not in self.kinds
            and self.message.get("role") == "assistant"
        )
        if isinstance(content, str):
            return self.written.content or is_ignored
        if type(content) is not list:
            return False
        for part in content:
            if type(part) is not dict or part.get("type") != "text" or not isinstance(part.get("text"), str):
                return False
        texts = [part["text"] for part in content]
        # A program may write the joined text of all parts.
        if is_ignored or self.written.content_size >= len("".join(texts).strip(_SPACE)):
            return True
        numbers = [number for number, text in enumerate(texts) if not _is_blank(text)]
        return all(number in self.written.parts and number < _MOST for number in numbers) or (
            len(texts) == 1 and self.written.content
        )

    def _writes_calls(self, calls: list[Any]) -> bool:
        return len(calls) <= _MOST and all(self._writes_call(call, number) for number, call in enumerate(calls))

    def _writes_call(self, call: Any, number: int) -> bool:
        function = call.get("function") if type(call) is dict else None
        if type(function) is not dict or not isinstance(function.get("name"), str):
            return False
        name = function["name"]
        self.called.add(name)
        written = self.written
        has_name, has_arguments, has_id = (
            number in numbers for numbers in (written.names, written.arguments, written.ids)
        )
        is_known = has_name or (has_id and _is_word_in(name, call.get("id")))
        if not is_known and ("name" in self.kinds or not (has_arguments or has_id)):
            return False
        if has_arguments or (has_name and "tool_calls" not in self.kinds):
            return True
        arguments = function.get("arguments")
        return _NO_ARGUMENTS.fullmatch(arguments) is not None if isinstance(arguments, str) else not arguments

    def _writes_reasoning(self, reasoning: Any) -> bool:
        """Return True if reasoning was written, and the message has no other reasoning under another name."""
        if _is_blank(reasoning):
            return True
        if not self.written.reasoning or not isinstance(reasoning, str):
            return False
        others = (self.message.get(key) for key in REASONING_NAMES)
        return all(_is_blank(other) or other == reasoning for other in others)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip(_SPACE))


def _is_word_in(name: str, text: Any) -> bool:
    """Return True if a text contains a name as a word. All characters beyond ASCII count as letters."""
    pattern = rf"(?<!{_WORD_CHARACTER}){re.escape(name)}(?!{_WORD_CHARACTER})"
    return bool(name) and isinstance(text, str) and name in text and re.search(pattern, text) is not None
