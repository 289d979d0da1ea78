"""Filters of chat templates that keep provenance, and what each filter can use up."""

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
"""The filters that make a text; the others choose, count or rearrange."""

ITERATING_FILTERS = frozenset(
    "batch dictsort groupby items list map max min reject rejectattr select selectattr slice sort sum unique".split()
)
"""The filters that go through what they are given, item by item."""

_COMPARING = frozenset("dictsort groupby max min sort unique".split())
"""Those of them that compare items, and make texts of them to do so."""
_READING = frozenset("float int wordcount".split())
"""Filters that read a text from beginning to end, and give a number."""
_ESCAPING = frozenset("e escape forceescape pprint tojson urlencode xmlattr".split())
_ESCAPED = 6
"""How many characters one character may become where it is escaped; those are of the smallest kind."""
_LINK = 40
"""How many characters are written around a link."""
_DIGIT = 64
"""How many characters a digit of a rounded number counts as: it is found by multiplying."""


def _each(context: TracingContext, values: Iterable[Any], attribute: str | int) -> Iterator[Any]:
    """Returns an attribute of each value, as the filter `map` gives it."""
    each: Iterator[Any] = context.environment.filters["map"](context, iter(values), attribute=attribute)
    return each


@pass_context
def _join(context: TracingContext, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> Any:
    if attribute is not None:
        value = _each(context, value, attribute)
    values = list(value)
    context.budget.charge(size_of_method("join", str(d), (values,), {}))
    if context.eval_ctx.autoescape:
        return FILTERS["join"](context.eval_ctx, values, d)
    parts, between = list(map(context.to_text, values)), str(d)
    return TracedStr(between, runs_of(between)).join(parts)


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
        line if at == 0 and not first else padding + line if line or blank or at == 0 else line
        for at, line in enumerate(lines)
    ]
    followed = join_traced(part for line in padded for part in ("\n", line))[1:]
    runs = runs_of(followed) if plain(followed) == plain(text) else owner_runs(s, len(text))
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
        iterable = _each(context, iterable, attribute)
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
"""Filters that say of every character where it came from."""


def size_of_filter(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many steps a filter takes and how many characters it makes at most, before it is called.

    >>> size_of_filter("center", ("a", 1000), {})
    (1, 1001)
    """
    value, rest = (args[0] if args else None), (*args[1:], *kwargs.values())
    numbers = [abs(one) for one in rest if isinstance(one, int)]
    if name not in TEXT_FILTERS:
        steps = 1 + (max(numbers, default=0) if name in {"batch", "slice"} else 0)
        if name in ITERATING_FILTERS and not isinstance(value, Iterator):
            each, _ = size_of_item(name, None, rest)
            steps += each * length_of(value)
        if name in _COMPARING or (name in _READING and isinstance(value, str)):
            return steps, size_of_text(value) * (ITEM // 2 if name == "wordcount" else 1)
        return steps, _DIGIT * max(numbers, default=0) if name == "round" else 0
    if isinstance(value, jinja2.Undefined):
        return 1, 0
    size = size_of_text(value)
    longest = max((len(one) for one in _texts(rest)), default=0)
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
        # Both go through a long word again and again.
        size = size * (_LINK + longest) + (longest_word(value) ** 2 >> 4)
    elif name in _ESCAPING:
        # Each line may be set off by what is asked for, or by a key, as often as what is in it is deep.
        wide = widest_key(value) if name == "pprint" else max(*numbers, longest, 0)
        size *= _ESCAPED + (wide * depth_of(value) if wide else 0)
    return 1, size


def size_of_item(name: str, item: Any, rest: Iterable[Any]) -> tuple[int, int]:
    """Returns the steps and characters that a filter uses for one item of what it goes through.

    >>> size_of_item("map", {"a": 1}, ("a.b",))
    (2, 0)
    """
    # An attribute may be one of an attribute, and several may be sorted by.
    steps = 1 + sum(str.count(one, ".") + str.count(one, ",") for one in _texts(rest))
    return steps, size_of_text(item) if name in _COMPARING else 0


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple | list):
            yield from (one for one in value if isinstance(one, str))


def trace_format(formatted: Callable[..., str], method: Any) -> Callable[..., str]:
    """Returns the sandbox's own `str.format` or `format_map` of a string, with the owners of what it puts in.

    The text is the sandbox's. Where fields are plain names or numbers its pieces are looked up once more;
    if these do not make up that text, it has the smallest owner that all that went into it have in common.
    """
    form: str = method.__self__

    @functools.wraps(method)
    def traced(*args: Any, **kwargs: Any) -> str:
        result = formatted(*args, **kwargs)
        values = args[0] if method.__name__ == "format_map" else kwargs
        pieces = list(_pieces(form, args, values))
        if "".join(map(plain, pieces)) == plain(result):
            runs = runs_of(join_traced(pieces))
        else:
            runs = owner_runs((form, args, values), len(result))
        return TracedMarkup(plain(result), runs) if isinstance(result, Markup) else TracedStr(plain(result), runs)

    return traced


def _pieces(form: str, args: tuple[Any, ...], values: Mapping[str, Any]) -> Iterator[str]:
    at = 0
    for literal, field, _, _ in string.Formatter().parse(plain(form)):
        yield literal
        if field is None:
            continue
        if field == "" or field.isdigit():
            number = int(field) if field else at
            at += not field
            yield to_traced_text(args[number]) if number < len(args) else ""
        else:
            yield to_traced_text(values.get(field, ""))
