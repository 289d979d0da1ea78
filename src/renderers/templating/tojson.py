"""The filter `tojson` with provenance: each field in the JSON text keeps its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from renderers.templating.runs import owner_of, owner_runs, runs_of
from renderers.templating.traced_str import TracedStr, fill_gaps, join_traced, plain
from renderers.templating.traced_values import TracedDict, TracedFloat, TracedInt, TracedList


def trace_json(
    value: Any, text: str, *, ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool
) -> TracedStr:
    """Return the JSON text of a value with its owners.

    All text of a container that the caller passed belongs to that container. Messages and tool calls are exceptions,
    because their names and arguments are separate fields: each value belongs to its field. So does each value in a
    container that the template built, and the rest is template text. The quotes of a string do not belong to it.
    If the pieces do not add up to `text`, all of it has the common owner of the value.
    """
    if _is_single_field(value) or not isinstance(value, dict | list | tuple | str):
        return TracedStr(text, owner_runs(value, len(text)))
    comma, colon = separators or (("," if indent is not None else ", "), ": ")
    writer = _Writer(ensure_ascii=ensure_ascii, indent=indent, comma=comma, colon=colon, sort_keys=sort_keys)
    traced = join_traced(writer.pieces(value, 0))
    return traced if plain(traced) == text else TracedStr(text, owner_runs(value, len(text)))


def _is_single_field(value: Any) -> bool:
    """Return True for a container that the caller passed, unless it is a message or a tool call."""
    if not isinstance(value, TracedDict | TracedList):
        return False
    message, path = owner_of(value)
    return message < 0 or (bool(path) and (path[0] != "tool_calls" or "arguments" in path))


class _Writer:
    """Dump a value to pieces of JSON text with owners."""

    def __init__(self, *, ensure_ascii: bool, indent: Any, comma: str, colon: str, sort_keys: bool) -> None:
        self._ensure_ascii = ensure_ascii
        self._padding = indent if indent is None or isinstance(indent, str) else " " * indent
        self._separators = (comma, colon)
        self._sort_keys = sort_keys

    def pieces(self, value: Any, depth: int) -> Iterator[str]:
        if _is_single_field(value):
            text = self._dumped(value).replace("\n", self._line(depth) or "\n")
            yield TracedStr(text, owner_runs(value, len(text)))
        elif isinstance(value, str):
            yield from self._string(value)
        elif isinstance(value, TracedDict):
            # The name of a field belongs to the container, not to the field.
            untraced_keys = {plain(key): item for key, item in value.items()}
            yield fill_gaps(join_traced(self.pieces(untraced_keys, depth)), owner_of(value))
        elif isinstance(value, TracedList):
            yield fill_gaps(join_traced(self.pieces(tuple(value), depth)), owner_of(value))
        elif isinstance(value, dict):
            keys = sorted(value) if self._sort_keys else list(value)
            yield from self._items("{}", [(key, value[key]) for key in keys], depth, keyed=True)
        elif isinstance(value, list | tuple):
            yield from self._items("[]", [(None, item) for item in value], depth, keyed=False)
        else:
            text = self._dumped(value)
            yield TracedStr(text, owner_runs(value, len(text)) if isinstance(value, TracedInt | TracedFloat) else ())

    def _items(self, brackets: str, items: list[tuple[Any, Any]], depth: int, *, keyed: bool) -> Iterator[str]:
        comma, colon = self._separators
        yield brackets[0]
        for index, (key, item) in enumerate(items):
            yield (comma if index else "") + self._line(depth + 1)
            if keyed:
                yield from self._string(key)
                yield colon
            yield from self.pieces(item, depth + 1)
        yield (self._line(depth) if items else "") + brackets[1]

    def _string(self, text: str) -> Iterator[str]:
        unquoted = self._dumped(text)[1:-1]
        yield '"'
        unchanged = isinstance(text, str) and unquoted == plain(text)
        yield TracedStr(unquoted, runs_of(text) if unchanged else owner_runs(text, len(unquoted)))
        yield '"'

    def _line(self, depth: int) -> str:
        return "" if self._padding is None else "\n" + self._padding * depth

    def _dumped(self, value: Any) -> str:
        return json.dumps(
            value,
            ensure_ascii=self._ensure_ascii,
            indent=self._padding,
            separators=self._separators,
            sort_keys=self._sort_keys,
        )
