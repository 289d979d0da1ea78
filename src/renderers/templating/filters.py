"""The filters of templates. Filters that write text keep owners; the rest are those of Jinja on wrapped values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import FilterArgumentError, TemplateRuntimeError
from markupsafe import Markup

from renderers.templating.iteration import iterate, mapping_pairs, pairs_of, type_name
from renderers.templating.limits import Budget
from renderers.templating.lookups import attribute, item, own_attribute, slice_of
from renderers.templating.methods import call_method, join, replace, splitlines
from renderers.templating.operators import make_safe, modulo, need_text, to_text, weighed, without_owners
from renderers.templating.predicates import PREDICATES, test
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.sizes import ITEM, depth_of, longest_text, size_of_sum, size_of_text
from renderers.templating.texts import coarse_text, cut, field_text, join_runs, join_texts, mixed_text, plain
from renderers.templating.tojson import to_json
from renderers.templating.values import DataDict, FieldText, GroupValue

_ESCAPED = 6
"""The most characters that escaping makes of one character."""
_LINK = 40
"""The characters that `urlize` writes around a link."""
_DIGIT = 64
"""The characters that a digit of a rounded number counts as: `round` multiplies for each."""


class _FilterEnvironment(ChatEnvironment):
    """The environment of Jinja's own filters. Their look-ups are those of templates."""

    def getattr(self, obj: Any, attribute_: str) -> Any:
        return attribute(obj, attribute_, self.undefined(name=attribute_))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return item(obj, argument, self.undefined(name=str(argument)))


@functools.cache
def filter_environment() -> ChatEnvironment:
    """Return the environment that holds Jinja's own filters."""
    return _FilterEnvironment()


# ==================
# Texts
# ==================


def _soft(budget: Budget, value: Any) -> str:
    """Return a value as text. A text that is marked as safe stays so."""
    return value if isinstance(value, str) else to_text(budget, value)


def trim(budget: Budget, value: Any, chars: str | None = None) -> str:
    """Return the text of a value without the characters at its ends."""
    if value.__class__ is FieldText and chars is None:
        stripped = str.strip(value)
        return value if len(stripped) == len(value) else field_text(stripped, value._owner)
    return call_method(budget, _soft(budget, value), "strip", chars)  # type: ignore[no-any-return]


def _of_method(name: str) -> Callable[..., str]:
    """Return the filter that calls a method of texts."""

    def apply(budget: Budget, value: Any, *args: Any) -> str:
        return call_method(budget, _soft(budget, value), name, *args)  # type: ignore[no-any-return]

    return apply


def _center(budget: Budget, value: Any, width: int = 80) -> Any:
    return call_method(budget, _soft(budget, value), "center", width)


def _replace(budget: Budget, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    limit = -1 if count is None else count
    return replace(budget, to_text(budget, value), to_text(budget, old), to_text(budget, new), limit)


def _format(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Any:
    if args and kwargs:
        raise FilterArgumentError("can't handle positional and keyword arguments at the same time")
    return modulo(budget, _soft(budget, value), kwargs or args)


def _join(budget: Budget, value: Any, d: Any = "", attribute: Any = None) -> str:
    if attribute is not None:
        value = map(_attribute_getter(budget, attribute), iterate(budget, value))
    return join(budget, to_text(budget, d), [to_text(budget, member) for member in iterate(budget, value)])


def _indent(budget: Budget, value: Any, width: Any = 4, first: bool = False, blank: bool = False) -> str:
    need_text(value)
    padding = plain(width) if isinstance(width, str) else " " * min(width, budget.limits.characters + 1)
    budget.charge(len(value) + (len(str.splitlines(value)) + 1) * len(padding))
    text = filter_environment().call_filter("indent", without_owners(value), (width, first, blank))
    pieces = []
    for index, line in enumerate(splitlines(budget, join_texts([value, "\n"]))):
        if index:
            pieces.append("\n")
        if (line or blank or not index) and (index or first):
            pieces.append(padding)
        pieces.append(line)
    safe = isinstance(text, Markup)
    if "".join(pieces) == plain(text):
        return mixed_text(plain(text), join_runs(pieces), safe=safe)
    return coarse_text(plain(text), value, safe=safe)


# ==================
# Items
# ==================


def _length(_: Budget, value: Any) -> int:
    try:
        return len(value)
    except TypeError:
        raise TypeError(f"object of type {type_name(value)!r} has no len()") from None


def _default(_: Budget, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    return default_value if isinstance(value, Undefined) or (boolean and not value) else value


def _list(budget: Budget, value: Any) -> list[Any]:
    items = list(iterate(budget, value))
    budget.tick(len(items))
    weighed(budget, items)
    return items


def _items(_: Budget, value: Any) -> Iterator[tuple[Any, Any]]:
    yield from mapping_pairs(value)


def _first(budget: Budget, value: Any) -> Any:
    if isinstance(value, str) and value:
        return to_text(budget, cut(value, 0, 1))
    items = iter(value if isinstance(value, Iterator) else iterate(budget, value))
    return next(items, Undefined("No first item, sequence was empty."))


def _last(budget: Budget, value: Any) -> Any:
    if isinstance(value, str) and value:
        return cut(value, len(value) - 1, len(value))
    if isinstance(value, Iterator):
        raise TypeError("'generator' object is not reversible")
    items = iterate(budget, value)
    return items[-1] if items else Undefined("No last item, sequence was empty.")


def _reverse(budget: Budget, value: Any) -> Any:
    if isinstance(value, str):
        return slice_of(budget, value, None, None, -1)
    items = iterate(budget, value)[::-1]
    return items if isinstance(value, Iterator) else iter(items)


def _attribute_getter(budget: Budget, name: Any, default: Any = None) -> Callable[[Any], Any]:
    """Return the function that looks up a dotted attribute, as `map(attribute=...)` does."""
    parts: list[Any] = []
    if isinstance(name, str):
        parts = [int(part) if part.isdigit() else part for part in plain(name).split(".")]
    elif name is not None:
        parts = [name]
    pairs = [(part, Undefined(name=str(part))) for part in parts]

    def get(value: Any) -> Any:
        if len(pairs) > 1:
            budget.tick(len(pairs))
        for part, missing in pairs:
            value = item(value, part, missing)
            if default is not None and isinstance(value, Undefined):
                value = default
        return value

    return get


def _map(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
    if not value:
        return
    if not args and "attribute" in kwargs:
        get = _attribute_getter(budget, kwargs.pop("attribute"), kwargs.pop("default", None))
        if kwargs:
            raise FilterArgumentError(f"Unexpected keyword argument {next(iter(kwargs))!r}")
    elif not args:
        raise FilterArgumentError("map requires a filter argument")
    else:
        name, rest = plain(args[0]), args[1:]

        def get(member: Any) -> Any:
            return apply_filter(budget, name, member, *rest, **kwargs)

    for member in iterate(budget, value):
        budget.tick()
        yield get(member)


def _selecting(*, selects: bool, by_attribute: bool) -> Callable[..., Iterator[Any]]:
    def select(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        if not value:
            return
        get: Callable[[Any], Any] | None = None
        if by_attribute:
            if not args:
                raise FilterArgumentError("Missing parameter for attribute name")
            get, args = _attribute_getter(budget, args[0]), args[1:]
        for member in iterate(budget, value):
            budget.tick()
            tested = member if get is None else get(member)
            if bool(test(budget, plain(args[0]), tested, *args[1:], **kwargs) if args else tested) is selects:
                yield member

    return select


def _attr(_: Budget, value: Any, name: Any) -> Any:
    if isinstance(value, Undefined):
        return value[name]
    return own_attribute(value, str(name), Undefined(name=str(name)))


def _sum(budget: Budget, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    if attribute is not None:
        value = map(_attribute_getter(budget, attribute), iterate(budget, value))
    values = iterate(budget, value)
    budget.tick(len(values))
    budget.charge(size_of_sum((start, *values)))
    return sum(values, start)


# ==================
# Filters of Jinja
# ==================

_TEXT_FILTERS = frozenset(
    "e escape filesizeformat forceescape pprint striptags title truncate urlencode urlize wordwrap xmlattr".split()
)
_LAZY_FILTERS = frozenset({"batch", "slice", "unique"})
_ITEM_FILTERS = _LAZY_FILTERS | {"dictsort", "groupby", "max", "min", "random", "sort"}


def _stock_text(name: str) -> Callable[..., str]:
    """Return a filter of Jinja that writes text. Its result has the common owner of its inputs."""

    def apply(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        size = size_of_text(value)
        if name in {"urlize", "wordwrap"}:
            # Both are quadratic in the length of a word.
            word = max(map(len, str.split(value)), default=0) if isinstance(value, str) else 0
            size = size * (_LINK + longest_text(values)) + (word**2 >> 4)
        elif name == "pprint":
            # Each nesting level indents its lines by the width of a key.
            size *= longest_text(value) * depth_of(value)
        budget.charge(_ESCAPED * size)
        named = {key: without_owners(argument) for key, argument in kwargs.items()}
        text = filter_environment().call_filter(name, without_owners(value), without_owners(args), named)
        return (
            coarse_text(plain(text), (value, *values), safe=isinstance(text, Markup)) if isinstance(text, str) else text
        )

    return apply


def _stock(name: str) -> Callable[..., Any]:
    """Return a filter of Jinja that gives a number, or selects or rearranges items."""

    def apply(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        numbers = sum(abs(number) for number in values if isinstance(number, int))
        if name in _ITEM_FILTERS:
            value = dict(pairs_of(value)) if name == "dictsort" and isinstance(value, dict) else iterate(budget, value)
            dots = sum(text.count(".") + text.count(",") for text in values if isinstance(text, str))
            budget.tick((1 + dots) * len(value) + (numbers if name in _LAZY_FILTERS else 0))
        if name not in _LAZY_FILTERS:
            budget.charge(size_of_text(value) * (ITEM // 2 if name == "wordcount" else 1))
            budget.charge(_DIGIT * numbers if name == "round" else 0)
        # Jinja's `random` needs a context, although it reads nothing from it.
        context = filter_environment().from_string("").new_context() if name == "random" else None
        result = filter_environment().call_filter(name, without_owners(value), args, kwargs, context)
        if isinstance(result, int):
            budget.check_bits(result.bit_length())
        return [GroupValue(*group) for group in result] if name == "groupby" else result

    return apply


_sort_pairs = _stock("dictsort")


def _dictsort(budget: Budget, value: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or not isinstance(value, DataDict):
        return _sort_pairs(budget, value, *args, **kwargs)
    pairs = pairs_of(value)
    budget.tick(len(pairs))
    return sorted(pairs, key=_lower_name)


def _lower_name(pair: tuple[str, Any]) -> str:
    return pair[0].lower()


def _lazily(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """Return a filter that does nothing before its first item is read."""

    def apply(*args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from function(*args, **kwargs)

    return apply


FILTERS: dict[str, Callable[..., Any]] = {
    "trim": trim,
    "string": _soft,
    **{name: _of_method(name) for name in ("upper", "lower", "capitalize")},
    "center": _center,
    "replace": _replace,
    "format": _format,
    "join": _join,
    "indent": _indent,
    "safe": make_safe,
    "tojson": to_json,
    **dict.fromkeys(("length", "count"), _length),
    **dict.fromkeys(("default", "d"), _default),
    "list": _list,
    "items": _items,
    "dictsort": _dictsort,
    "first": _first,
    "last": _last,
    "reverse": _reverse,
    "map": _map,
    "select": _selecting(selects=True, by_attribute=False),
    "reject": _selecting(selects=False, by_attribute=False),
    "selectattr": _selecting(selects=True, by_attribute=True),
    "rejectattr": _selecting(selects=False, by_attribute=True),
    "attr": _attr,
    "sum": _sum,
    **{name: _stock_text(name) for name in _TEXT_FILTERS},
    **{name: _stock(name) for name in "abs float groupby int max min random round sort wordcount".split()},
    **{name: _lazily(_stock(name)) for name in _LAZY_FILTERS},
}
"""Every filter of Jinja."""

PREDICATES["filter"] = lambda name: name in FILTERS
PREDICATES["test"] = lambda name: name in PREDICATES


def apply_filter(budget: Budget, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a filter by its name."""
    if name not in FILTERS:
        raise TemplateRuntimeError(f"No filter named {name!r}.")
    return FILTERS[name](budget, value, *args, **kwargs)
