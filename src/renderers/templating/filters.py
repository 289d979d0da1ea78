"""Filters that keep provenance, and upper bounds on the work of every filter."""

from __future__ import annotations

import functools
import json
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.filters import FILTERS
from jinja2.utils import pass_context
from markupsafe import Markup

from renderers.templating.runs import owner_runs, runs_of
from renderers.templating.sizes import (
    ITEM,
    depth_of,
    length_of,
    longest_word,
    size_of_method,
    size_of_percent,
    size_of_replacing,
    size_of_sum,
    size_of_text,
    widest_key,
)
from renderers.templating.tojson import trace_json
from renderers.templating.traced_str import TracedMarkup, TracedStr, coarsen, join_traced, plain, to_traced_text

if TYPE_CHECKING:
    from renderers.templating.environment import TracingContext

TEXT_FILTERS = frozenset(
    "capitalize center e escape filesizeformat forceescape format indent join lower pprint replace reverse safe string "
    "striptags title tojson trim truncate upper urlencode urlize wordwrap xmlattr".split()
)
"""The filters that return a text; the others select, count or rearrange."""

ITERATING_FILTERS = frozenset(
    "batch dictsort groupby items list map max min reject rejectattr select selectattr slice sort sum unique".split()
)
"""The filters that iterate over their input."""

_COMPARING = frozenset("dictsort groupby max min sort unique".split())
"""The iterating filters that compare items, and may convert them to text for that."""
_READING = frozenset("float int wordcount".split())
"""The filters that scan a text and return a number."""
_ESCAPING = frozenset("e escape forceescape pprint tojson urlencode xmlattr".split())
_ESCAPED = 6
"""The most characters that escaping makes of one character."""
_LINK = 40
"""The characters that `urlize` writes around a link."""
_DIGIT = 64
"""The characters that a digit of a rounded number counts as: `round` multiplies for each."""


def _map_attribute(context: TracingContext, values: Iterable[Any], attribute: str | int) -> Iterator[Any]:
    """Return an iterator over an attribute of each value, as the filter `map` does."""
    attributes: Iterator[Any] = context.environment.filters["map"](context, iter(values), attribute=attribute)
    return attributes


@pass_context
def _join(context: TracingContext, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> Any:
    if attribute is not None:
        value = _map_attribute(context, value, attribute)
    values = list(value)
    context.budget.charge(size_of_method("join", str(d), (values,), {}))
    if context.eval_ctx.autoescape:
        return FILTERS["join"](context.eval_ctx, values, d)
    parts, separator = list(map(context.to_text, values)), str(d)
    return TracedStr(separator, runs_of(separator)).join(parts)


@pass_context
def _replace(context: TracingContext, s: Any, old: Any, new: Any, count: int | None = None) -> Any:
    if context.eval_ctx.autoescape:
        return FILTERS["replace"](context.eval_ctx, s, old, new, count)
    text = context.to_text(s)
    return TracedStr(text, runs_of(text)).replace(str(old), str(new), -1 if count is None else count)


def _indent(s: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> Any:
    text = FILTERS["indent"](Markup(plain(s)) if isinstance(s, Markup) else plain(s), width, first, blank)
    padding = width if isinstance(width, str) else " " * width
    lines = (TracedStr(s, runs_of(s)) + "\n").splitlines()
    padded = [
        line if index == 0 and not first else padding + line if line or blank or index == 0 else line
        for index, line in enumerate(lines)
    ]
    traced = join_traced(part for line in padded for part in ("\n", line))[1:]
    runs = runs_of(traced) if plain(traced) == plain(text) else owner_runs(s, len(text))
    return TracedMarkup(text, runs) if isinstance(text, Markup) else TracedStr(text, runs)


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return TracedMarkup(plain(value), runs_of(value))
    return coarsen(Markup(value), value)


@pass_context
def _string(context: TracingContext, object: Any) -> str:  # noqa: A002
    return object if isinstance(object, str) else context.to_text(object)


def _tojson(
    x: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> TracedStr:
    text = json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return trace_json(x, text, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@pass_context
def _sum(context: TracingContext, iterable: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
    if attribute is not None:
        iterable = _map_attribute(context, iterable, attribute)
    values = list(iterable)
    context.budget.charge(size_of_sum((start, *values)))
    return sum(values, start)


TRACED_FILTERS: Mapping[str, Callable[..., Any]] = {
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "safe": _safe,
    "string": _string,
    "sum": _sum,
    "tojson": _tojson,
}
"""Filters of our own, which keep the owner of every character."""


def size_of_filter(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, int]:
    """Return upper bounds on the steps of a filter and on the characters that it creates.

    >>> size_of_filter("center", ("a", 1000), {})
    (1, 1001)
    """
    value, rest = (args[0] if args else None), (*args[1:], *kwargs.values())
    numbers = [abs(argument) for argument in rest if isinstance(argument, int)]
    if name not in TEXT_FILTERS:
        steps = 1 + (max(numbers, default=0) if name in {"batch", "slice"} else 0)
        if name in ITERATING_FILTERS and not isinstance(value, Iterator):
            steps_per_item, _ = size_of_item(name, None, rest)
            steps += steps_per_item * length_of(value)
        if name in _COMPARING or (name in _READING and isinstance(value, str)):
            return steps, size_of_text(value) * (ITEM // 2 if name == "wordcount" else 1)
        return steps, _DIGIT * max(numbers, default=0) if name == "round" else 0
    if isinstance(value, jinja2.Undefined):
        return 1, 0
    size = size_of_text(value)
    longest = max((len(text) for text in _texts(rest)), default=0)
    if name == "center":
        size += max(numbers, default=80)
    elif name == "trim":
        size *= 1 + longest
    elif name == "indent":
        lines = len(str.splitlines(value)) + 1 if isinstance(value, str) else 1
        size += lines * max(*numbers, longest, 4)
    elif name == "replace":
        old, new = kwargs.get("old", rest[0] if rest else ""), kwargs.get("new", rest[1] if len(rest) > 1 else "")
        size = size_of_replacing(value, old, new) if isinstance(value, str) else size * (1 + len(str(new)))
    elif name == "format":
        size = size_of_percent(value, kwargs or args[1:]) if isinstance(value, str) else size + size_of_text(rest)
    elif name in {"urlize", "wordwrap"}:
        # Both are quadratic in the length of a word.
        size = size * (_LINK + longest) + (longest_word(value) ** 2 >> 4)
    elif name in _ESCAPING:
        # Each nesting level indents its lines by the given indent, or by the width of a key.
        indent = widest_key(value) if name == "pprint" else max(*numbers, longest, 0)
        size *= _ESCAPED + (indent * depth_of(value) if indent else 0)
    return 1, size


def size_of_item(name: str, item: Any, rest: Iterable[Any]) -> tuple[int, int]:
    """Return the steps and characters that an iterating filter needs for one item.

    >>> size_of_item("map", {"a": 1}, ("a.b",))
    (2, 0)
    """
    # "a.b" looks up two attributes, and "a,b" sorts by two.
    steps = 1 + sum(str.count(text, ".") + str.count(text, ",") for text in _texts(rest))
    return steps, size_of_text(item) if name in _COMPARING else 0


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | list):
            yield from (item for item in value if isinstance(item, str))


def trace_format(formatted: Callable[..., str], method: Any) -> Callable[..., str]:
    """Return the `str.format` or `format_map` of the sandbox, with the owners of the formatted values.

    The text is always that of the sandbox. If its fields are plain names or numbers, and their values without a format
    spec add up to the same text, every value keeps its runs. Otherwise the text has the common owner of all inputs.
    """
    template: str = method.__self__

    @functools.wraps(method)
    def traced(*args: Any, **kwargs: Any) -> str:
        result = formatted(*args, **kwargs)
        values = args[0] if method.__name__ == "format_map" else kwargs
        pieces = list(_format_pieces(template, args, values))
        if "".join(map(plain, pieces)) == plain(result):
            runs = runs_of(join_traced(pieces))
        else:
            runs = owner_runs((template, args, values), len(result))
        return TracedMarkup(plain(result), runs) if isinstance(result, Markup) else TracedStr(plain(result), runs)

    return traced


def _format_pieces(template: str, args: tuple[Any, ...], values: Mapping[str, Any]) -> Iterator[str]:
    next_index = 0
    for literal, field, _, _ in string.Formatter().parse(plain(template)):
        yield literal
        if field is None:
            continue
        if field == "" or field.isdigit():
            index = int(field) if field else next_index
            next_index += not field
            yield to_traced_text(args[index]) if index < len(args) else ""
        else:
            yield to_traced_text(values.get(field, ""))
