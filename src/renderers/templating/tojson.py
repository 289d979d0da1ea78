"""The filter `tojson` with owners: each field in the JSON text keeps its owner."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from renderers.core.native import COMPILED, native
from renderers.templating.limits import Budget
from renderers.templating.sizes import depth_of, longest_text, size_of_text
from renderers.templating.texts import (
    coarse_text,
    field_text,
    fill_gaps,
    join_runs,
    join_texts,
    mixed_text,
    plain,
    runs_of,
)
from renderers.templating.values import DataDict, DataList, FieldFloat, FieldInt, FieldText
from renderers.templating.wrapping import open_data

_ESCAPED = 6
"""The most characters that escaping makes of one character."""
_NARROW = 8
"""Indents of at most this many characters are not charged for data of the caller."""
_CACHED = 4
"""The number of JSON texts that are kept for each container of tools."""


_DEFAULTS: tuple[bool, Any, Any, bool] = (False, None, None, False)


@functools.lru_cache(maxsize=64)
def _encoder(ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool) -> Callable[[Any], str]:
    return json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys).encode


_encode_in_python = _encoder(*_DEFAULTS)


def _encode_in_c(value: Any) -> str:
    text = native.json_text(value)
    return _encode_in_python(value) if text is None else text


_encode = _encode_in_c if COMPILED else _encode_in_python
"""Return the JSON text of a value with the default options."""


def to_json(
    budget: Budget,
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """Return the JSON text of a value with its owners.

    All text of a container that the caller passed belongs to that container. Messages and tool calls are exceptions,
    because their names and arguments are separate fields: each value belongs to its field. So does each value in a
    container that the template built, and the rest is template text. The quotes of a string do not belong to it.
    """
    if not ensure_ascii and indent is None and separators is None and not sort_keys:
        options, dump = _DEFAULTS, _encode
    else:
        options = (bool(ensure_ascii), indent, separators and tuple(separators), bool(sort_keys))
        dump = _encoder(*options)
    if _is_single_field(value):
        # The same tools are rendered in many runs.
        known: dict[Any, FieldText] = getattr(value, "_json", {}) if value._owner[0] < 0 else {}
        if options in known:
            return known[options]
        is_narrow = indent is None or (isinstance(indent, int) and indent <= _NARROW)
        if not is_narrow or separators is not None:
            _charge(budget, value, indent, separators)
        text = field_text(dump(value), value._owner)
        budget.charge(len(text))
        if value._owner[0] < 0 and len(known) < _CACHED:
            value._json = {**known, options: text}
        return text
    if isinstance(value, int | float | None):
        return field_text(dump(value), value._owner) if isinstance(value, FieldInt | FieldFloat) else dump(value)
    if value.__class__ is FieldText:
        budget.charge(_ESCAPED * len(value))
        dumped = dump(value)
        return mixed_text(dumped, ((1, None), (len(dumped) - 1, value._owner), (len(dumped), None)))
    _charge(budget, value, indent, separators)
    dumped = dump(value)
    if not isinstance(value, dict | list | tuple | str):
        return coarse_text(dumped, value)
    pieces = list(_Writer(*options).pieces(value, 0))
    return mixed_text(dumped, join_runs(pieces)) if "".join(pieces) == dumped else coarse_text(dumped, value)


def _charge(budget: Budget, value: Any, indent: Any, separators: Any) -> None:
    """Charge an upper bound on the JSON text of a value."""
    width = indent if isinstance(indent, int) else len(indent) if isinstance(indent, str) else 0
    budget.charge(
        size_of_text(value) * (_ESCAPED + longest_text(separators or ()) + (width * depth_of(value) if width else 0))
    )


def _is_single_field(value: Any) -> bool:
    """Return True for a container that the caller passed, unless it is a message or a tool call."""
    if not isinstance(value, DataDict | DataList):
        return False
    message, path = value._owner
    return message < 0 or (bool(path) and (path[0] != "tool_calls" or "arguments" in path))


class _Writer:
    """Dump a value to pieces of JSON text with owners."""

    def __init__(self, ensure_ascii: bool, indent: Any, separators: Any, sort_keys: bool) -> None:
        self._padding = indent if indent is None or isinstance(indent, str) else " " * indent
        self._separators = separators or (("," if indent is not None else ", "), ": ")
        self._sort_keys = sort_keys
        self._dump = _encoder(ensure_ascii, self._padding, self._separators, sort_keys)

    def pieces(self, value: Any, depth: int) -> Iterator[str]:
        """Yield the pieces of a value at a nesting depth."""
        if _is_single_field(value):
            yield field_text(self._dump(value).replace("\n", self._line(depth) or "\n"), value._owner)
        elif isinstance(value, str):
            yield from self._string(value)
        elif isinstance(value, DataDict | DataList):
            # The name of a field belongs to the container, not to the field.
            contents = dict(open_data(value)) if isinstance(value, DataDict) else list(open_data(value))
            yield fill_gaps(join_texts(list(self.pieces(contents, depth))), value._owner)
        elif isinstance(value, dict):
            keys = sorted(value) if self._sort_keys else list(value)
            yield from self._items("{}", [(key, value[key]) for key in keys], depth, keyed=True)
        elif isinstance(value, list | tuple):
            yield from self._items("[]", [(None, item) for item in value], depth, keyed=False)
        elif isinstance(value, FieldInt | FieldFloat):
            yield field_text(self._dump(value), value._owner)
        else:
            yield self._dump(value)

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

    def _string(self, text: Any) -> Iterator[str]:
        quoted = self._dump(text)
        bare = quoted[1:-1] if isinstance(text, str) else quoted
        yield '"'
        unchanged = isinstance(text, str) and bare == plain(text)
        yield mixed_text(bare, runs_of(text)) if unchanged else coarse_text(bare, text)
        yield '"'

    def _line(self, depth: int) -> str:
        return "" if self._padding is None else "\n" + self._padding * depth
