"""Look-ups in the values of a template: attributes, items, slices, and the methods that a template can use."""

from __future__ import annotations

from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import TemplateRuntimeError

from renderers.templating.limits import Budget
from renderers.templating.sandbox import refuse_underscore
from renderers.templating.sizes import ITEM
from renderers.templating.texts import cut, field_text, join_runs, mixed_text, plain
from renderers.templating.values import (
    DataList,
    FieldText,
    GroupValue,
    LoopValue,
    MacroValue,
    MessageList,
    MethodValue,
    NamespaceValue,
    SafeText,
)
from renderers.templating.wrapping import open_data

MUTATORS = frozenset("append clear extend insert pop popitem remove reverse setdefault sort update".split())
"""Methods that change their receiver. The sandbox of transformers refuses all of them."""
_BYTES = {"encode", "from_bytes", "to_bytes"}
_NUMBER_FIELDS = frozenset({"denominator", "imag", "numerator", "real"})
_RANGE_FIELDS = frozenset({"start", "step", "stop"})
METHOD_NAMES: dict[type, frozenset[str]] = {
    kind: frozenset(name for name in dir(kind) if not name.startswith("_")) - _BYTES - _NUMBER_FIELDS - _RANGE_FIELDS
    for kind in (dict, list, tuple, str, int, float, range)
}
"""The methods that a template can use, by type."""
DICT_METHODS = METHOD_NAMES[dict]
# A tuple is checked faster than a union, which is built on every call.
_INDEXED = (dict, list, tuple, range)


def attribute(value: Any, name: str, undefined: Undefined) -> Any:
    """Return `value.name`: a method or attribute if there is one, else an item."""
    if isinstance(value, dict):
        if name in DICT_METHODS:
            return MethodValue(value, name)
        return open_data(value).get(name, undefined)
    result = own_attribute(value, name, undefined)
    if result is undefined and isinstance(value, Undefined):
        return value[name]
    return result


def own_attribute(value: Any, name: str, undefined: Undefined) -> Any:
    """Return a method or attribute of a value. Items do not count."""
    kind = value.__class__
    if kind is NamespaceValue:
        return value.values.get(name, undefined)
    if kind is MacroValue:
        return _macro_attribute(value, name, undefined)
    if kind is LoopValue:
        return loop_attribute(value, name, undefined)
    if kind is GroupValue and name in value._fields:
        return value[value._fields.index(name)]
    if kind is range and name in _RANGE_FIELDS:
        return getattr(value, name)
    for base, names in METHOD_NAMES.items():
        if isinstance(value, base) and name in names:
            return MethodValue(value, name)
    if isinstance(value, int | float) and name in _NUMBER_FIELDS:
        number = int(value) if isinstance(value, int) else float(value)
        return getattr(number, name, undefined)
    if kind is SafeText and name in {"striptags", "unescape"}:
        return MethodValue(value, name)
    return undefined


def _macro_attribute(macro: MacroValue, name: str, undefined: Undefined) -> Any:
    fields = {
        "name": macro.name,
        "arguments": macro.arguments,
        "catch_kwargs": "kwargs" in macro.uses,
        "catch_varargs": "varargs" in macro.uses,
        "caller": "caller" in macro.uses,
    }
    return fields.get(name, undefined)


def item(value: Any, key: Any, undefined: Undefined) -> Any:
    """Return `value[key]`: an item if there is one, else a method or attribute."""
    kind = value.__class__
    if (kind is DataList or kind is list or kind is MessageList) and key.__class__ is int:
        return value[key] if -len(value) <= key < len(value) else undefined
    if isinstance(value, str):
        if isinstance(key, int):
            index = key + len(value) if key < 0 else key
            return cut(value, index, index + 1) if 0 <= index < len(value) else undefined
    elif isinstance(value, _INDEXED):
        try:
            return open_data(value)[key]
        except (TypeError, LookupError):
            pass
    elif isinstance(value, Undefined):
        return value[key]
    return own_attribute(value, plain(key), undefined) if isinstance(key, str) else undefined


def loop_attribute(loop: LoopValue, name: str, undefined: Undefined) -> Any:
    """Return an attribute of the variable `loop`."""
    index, items = loop.index0, loop.items
    if name in {"changed", "cycle"}:
        return MethodValue(loop, name)
    if name == "previtem":
        return items[index - 1] if index else undefined
    if name in {"nextitem", "last"}:
        following = items[index + 1 : index + 2]
        return not following if name == "last" else following[0] if following else undefined
    if name in {"length", "revindex", "revindex0"}:
        return len(items) - {"length": 0, "revindex": index, "revindex0": index + 1}[name]
    numbers = {
        "index": index + 1,
        "index0": index,
        "first": index == 0,
        "depth": loop.depth0 + 1,
        "depth0": loop.depth0,
    }
    return numbers.get(name, undefined)


def slice_of(budget: Budget, value: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return `value[start:stop:step]`."""
    if not isinstance(value, str) or value.__class__ is str:
        part = open_data(value)[start:stop:step]
        budget.charge(len(part) if isinstance(part, str) else ITEM * len(part))
        return part
    first, last, stride = slice(start, stop, step).indices(len(value))
    if stride == 1:
        part = cut(value, first, max(first, last))
    else:
        text = str.__getitem__(value, slice(start, stop, step))
        if value.__class__ is FieldText:
            part = field_text(text, value._owner)
        else:
            runs = join_runs([cut(value, index, index + 1) for index in range(first, last, stride)])
            part = mixed_text(text, runs, safe=value.__class__ is SafeText)
    budget.charge(len(part))
    return part


def set_attribute(target: Any, name: str, value: Any) -> None:
    """Assign `{% set target.name = value %}`, which works on namespaces only."""
    if target.__class__ is not NamespaceValue:
        raise TemplateRuntimeError("cannot assign attribute on non-namespace object")
    refuse_underscore(name)
    target.values[name] = value
