"""The operations of generated code: texts, look-ups, iteration, operators, comparisons and calls.

Every operation gives exactly the text that Python gives for plain values, and carries owners along. An operation with
a result that can be much larger than its operands is charged before it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import TemplateRuntimeError
from markupsafe import Markup

from renderers.templating.limits import Budget
from renderers.templating.sandbox import RaisedByTemplateError, refuse_underscore
from renderers.templating.sizes import (
    ITEM,
    LARGE,
    bits_of_binary,
    is_template_container,
    size_of_percent,
    size_of_text,
    weight,
)
from renderers.templating.values import (
    NO_MESSAGE,
    DataDict,
    DataList,
    DictView,
    FieldFloat,
    FieldInt,
    FieldText,
    GroupValue,
    LazyList,
    LoopValue,
    MacroValue,
    MessageList,
    MethodValue,
    MixedText,
    NamespaceValue,
    SafeText,
    coarse_text,
    cut,
    field_text,
    fill_gaps,
    join_runs,
    key_text,
    mixed_text,
    open_data,
    plain,
    runs_of,
    safe_text,
)

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
_PERCENT_S = re.compile(r"%(?:%|s|\((\w+)\)s)")
_SCALARS = frozenset({str, FieldText, int, bool, float, type(None)})
# A tuple is checked faster than a union, which is built on every call.
_INDEXED, _SEQUENCES = (dict, list, tuple, range), (list, tuple)
_SHORT = 16
"""Comparisons with a list of at most this many scalars are not charged."""
_METERED = 128
"""Longer loops are charged as they run, so that the clock is checked repeatedly."""


# ==================
# Texts
# ==================


def to_text(budget: Budget, value: Any) -> str:
    """Return the text that `{{ value }}` emits."""
    kind = value.__class__
    if kind is FieldText or kind is str or kind is MixedText:
        text: str = value
        return text
    if kind is SafeText:
        return mixed_text(plain(value), value._runs)
    if kind is FieldInt:
        return field_text(int.__repr__(value), value._owner)
    if kind is FieldFloat:
        return field_text(float.__repr__(value), value._owner)
    if isinstance(value, DataDict | DataList):
        return field_text(repr(value), value._owner)
    if is_template_container(value):
        budget.charge(size_of_text(value))
        return coarse_text(str(value), value)
    return str(value)


def need_text(value: Any) -> str:
    """Return the operand of a `+` chain of texts. Raise the error of Python if it is not a text."""
    if not isinstance(value, str):
        # An undefined value raises its own error.
        "" + value
    return value  # type: ignore[no-any-return]


def concatenate(budget: Budget, *parts: str) -> str:
    """Join texts, and keep their owners."""
    text = "".join(parts)
    if len(text) > LARGE:
        budget.charge(len(text))
    for part in parts:
        if part.__class__ is not str:
            break
    else:
        return text
    runs = join_runs(parts)
    if len(runs) > 16:
        budget.charge(ITEM * (len(runs) - len(runs_of(parts[0]))))
    return mixed_text(text, runs)


def add_texts(budget: Budget, *parts: str) -> str:
    """Add up texts of which some may be marked as safe."""
    for part in parts:
        if part.__class__ is SafeText:
            break
    else:
        return concatenate(budget, *parts)
    total = parts[0]
    for part in parts[1:]:
        total = add(budget, total, part)
    return total


def emit_sum(budget: Budget, output: list[str], *parts: str) -> None:
    """Append the sum of texts, of which some may be marked as safe, to the output."""
    for part in parts:
        if part.__class__ is SafeText:
            output.append(to_text(budget, add_texts(budget, *parts)))
            return
    output += parts


def escape(text: Any) -> str:
    """Return a text as it is when combined with a safe one."""
    if text.__class__ is SafeText:
        return text
    escaped = plain(Markup.escape(plain(text) if isinstance(text, str) else text))
    return text if isinstance(text, str) and escaped == text else coarse_text(escaped, text)


def without_owners(value: Any) -> Any:
    """Return a text as an exact `str` or `Markup`, also in a tuple. Other values are returned unchanged."""
    if isinstance(value, SafeText):
        return Markup(plain(value))
    if isinstance(value, tuple):
        return tuple(map(without_owners, value))
    return plain(value) if isinstance(value, str) else value


# ==================
# Look-ups
# ==================


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


# ==================
# Iteration
# ==================

LOOP_ITEMS = "the items of `loop` cannot be read, because Jinja takes them from the loop: read the list of the loop"
"""The error of a loop, a filter or an unpacking that iterates over the variable `loop`."""


def iterate(budget: Budget, value: Any) -> Sequence[Any]:
    """Return the items of a value that a loop or a filter iterates over."""
    kind = value.__class__
    if kind is DataList or kind is list or kind is MessageList or kind is tuple or kind is range or kind is GroupValue:
        items: Sequence[Any] = value
        return items
    if kind is LazyList:
        opened: list[Any] = open_data(value)
        return opened
    if kind is DictView:
        return value.items  # type: ignore[no-any-return]
    if isinstance(value, DataDict):
        return [key_text(value, key) for key in value]
    if isinstance(value, str):
        budget.check_size(ITEM * len(value))
        # Markup iterates over texts that are not safe.
        return characters(mixed_text(plain(value), runs_of(value)) if kind is SafeText else value)
    if kind is dict or isinstance(value, Undefined):
        return list(value)
    if kind is LoopValue:
        raise TypeError(LOOP_ITEMS)
    if not isinstance(value, Iterator):
        raise TypeError(f"{type_name(value)!r} object is not iterable")
    read = []
    for entry in value:
        budget.tick()
        read.append(entry)
    return read


def need_items(value: Any) -> Any:
    """Return a value with items that can be read more than once, or raise an error for an iterator.

    Jinja reads an iterator step by step, so a loop and a use of the same iterator within it share its items. Here a
    loop reads all items before it starts.
    """
    if isinstance(value, Iterator):
        raise TypeError("the items of a loop are read again within it: make a list of them with `| list`")
    return value


def characters(text: str) -> list[str]:
    """Return the characters of a text with their owners."""
    if text.__class__ is str:
        return list(text)
    if text.__class__ is FieldText:
        return [field_text(character, text._owner) for character in str.__iter__(text)]
    return [cut(text, index, index + 1) for index in range(len(text))]


def metered(budget: Budget, items: Sequence[Any], steps: int) -> Any:
    """Return an iterable over the items of a loop with `steps` steps in its body, and charge the steps."""
    if len(items) <= _METERED:
        budget.tick(len(items) * steps)
        return items
    return charge_each(budget, items, steps)


def charge_each(budget: Budget, items: Iterable[Any], steps: int) -> Iterator[Any]:
    """Yield the items of a loop with `steps` steps in its body, and charge the steps of each."""
    for item in items:
        budget.tick(steps)
        yield item


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of keys and values of a dict."""
    if isinstance(value, DataDict):
        message, path = value._owner
        return [(field_text(key, (message, (*path, key))), item) for key, item in open_data(value).items()]
    return list(value.items())


def mapping_pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the items of a loop over `value | items`."""
    if isinstance(value, Undefined):
        return []
    if not isinstance(value, dict):
        raise TypeError("Can only get item pairs from a mapping.")
    return pairs_of(value)


def loop_pairs(budget: Budget, value: Any) -> Sequence[Any]:
    """Return the items of a loop over `value.items()`."""
    if isinstance(value, dict):
        return pairs_of(value)
    return iterate(budget, attribute(value, "items", Undefined(name="items"))())


def prompt_text(value: Any) -> Any:
    """Return a value with the template text in it attributed to the generation prompt, which is not a message."""
    return fill_gaps(value, NO_MESSAGE) if isinstance(value, str) else value


def keywords(values: Any, prefix: str) -> dict[str, Any]:
    """Return the keyword arguments of `**values`, with a prefix."""
    return {f"{prefix}{name}": value for name, value in open_data(values).items()}


def type_name(value: Any) -> str:
    """Return the name of the plain type of a value."""
    for base in (str, bool, int, float, dict, list):
        if isinstance(value, base):
            return base.__name__
    return type(value).__name__


# ==================
# Operators
# ==================


def add(budget: Budget, left: Any, right: Any) -> Any:
    """Return `left + right`."""
    if isinstance(left, str) and isinstance(right, str):
        if not left and left.__class__ is str and right.__class__ is FieldText:
            # A loop that collects texts begins with an empty one.
            if len(right) > LARGE:
                budget.charge(len(right))
            return right
        if left.__class__ is not SafeText and right.__class__ is not SafeText:
            return concatenate(budget, left, right)
        parts = escape(left), escape(right)
        text = plain(parts[0]) + plain(parts[1])
        budget.charge(len(text))
        return mixed_text(text, join_runs(parts), safe=True)
    budget.check_bits(bits_of_binary("+", left, right))
    if isinstance(left, _SEQUENCES):
        budget.charge(ITEM * (len(left) + (len(right) if isinstance(right, _SEQUENCES) else 0)))
    return open_data(left) + open_data(right)


def multiply(budget: Budget, left: Any, right: Any) -> Any:
    """Return `left * right`."""
    if isinstance(right, str | list | tuple):
        left, right = right, left
    if isinstance(left, str | list | tuple) and isinstance(right, int):
        count = max(right, 0)
        if isinstance(left, str):
            runs = len(left._runs) if isinstance(left, MixedText) else 0
            budget.charge((len(left) + ITEM * runs) * count)
            text = plain(left) * right
            if left.__class__ is FieldText:
                return field_text(text, left._owner)
            safe = left.__class__ is SafeText
            return mixed_text(text, join_runs([left] * count), safe=safe) if runs or safe else text
        budget.charge(ITEM * len(left) * count)
        return open_data(left) * right
    budget.check_bits(bits_of_binary("*", left, right))
    return left * right


def power(budget: Budget, left: Any, right: Any) -> Any:
    """Return `left ** right`."""
    budget.check_bits(bits_of_binary("**", left, right))
    return left**right


def modulo(budget: Budget, left: Any, right: Any) -> Any:
    """Return `left % right`: a remainder, or a formatted text.

    Each value of a `%s` or `%(name)s` keeps its owners. Other formats give a coarse result.
    """
    if not isinstance(left, str):
        return left % right
    budget.charge(size_of_percent(left, right))
    safe = left.__class__ is SafeText
    text = plain((Markup(plain(left)) if safe else plain(left)) % without_owners(right))
    positional = list(right) if isinstance(right, tuple) else [right]
    pieces = []
    offset = 0
    for match in _PERCENT_S.finditer(plain(left)):
        pieces.append(cut(left, offset, match.start()))
        offset = match.end()
        if match.group() == "%%":
            pieces.append("%")
        elif match.group(1) is not None and isinstance(right, dict):
            pieces.append(to_text(budget, open_data(right).get(match.group(1))))
        elif positional:
            pieces.append(to_text(budget, positional.pop(0)))
    pieces.append(cut(left, offset, len(left)))
    if "".join(pieces) == text:
        return mixed_text(text, join_runs(pieces), safe=safe)
    return coarse_text(text, (left, positional), safe=safe)


def measured(budget: Budget, value: Any) -> Any:
    """Charge and return the operand of a comparison or of `in`."""
    kind = value.__class__
    if kind is FieldText or kind is DataDict:
        return value
    if isinstance(value, str):
        if len(value) > LARGE:
            budget.charge(len(value) >> 3)
    elif is_template_container(value):
        is_list = kind is list or kind is tuple
        if not is_list or len(value) > _SHORT or not _SCALARS.issuperset(map(type, value)):
            weighed(budget, value)
            budget.charge(size_of_text(value) >> 3)
    elif kind is range:
        budget.tick(len(value))
    return value


def weighed(budget: Budget, value: Any) -> Any:
    """Return a container that the template built. Raise TemplateLimitError if it is too large.

    A nested list that shares its items can be exponentially larger than its memory.
    """
    if is_template_container(value):
        size, visited = weight(value)
        if visited > 8:
            budget.tick(visited)
        budget.check_size(ITEM * size)
    return value


# ==================
# Global functions
# ==================


def raise_exception(_: Budget, message: Any) -> None:
    """Raise the error of the global function `raise_exception`."""
    raise RaisedByTemplateError(plain(message) if isinstance(message, str) else str(message))


def make_range(budget: Budget, *bounds: Any) -> range:
    """Return a range. Raise TemplateLimitError if it is too long."""
    numbers = range(*bounds)
    # len() fails on ranges longer than a machine word.
    if numbers and (numbers[-1] - numbers[0]) // numbers.step >= budget.limits.range:
        budget.exceeded("range")
    return numbers


def make_dict(budget: Budget, *values: Any, **named: Any) -> dict[Any, Any]:
    """Return a dict that the template builds."""
    built: dict[Any, Any] = dict(*[dict(pairs_of(value)) if isinstance(value, dict) else value for value in values])
    built.update(named)
    weighed(budget, built)
    return built


def make_namespace(budget: Budget, *values: Any, **named: Any) -> NamespaceValue:
    """Return a namespace that the template builds."""
    attributes = make_dict(budget, *values, **named)
    for name in attributes:
        refuse_underscore(name)
    return NamespaceValue(attributes)


GLOBAL_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "range": make_range,
    "dict": make_dict,
    "namespace": make_namespace,
    "raise_exception": raise_exception,
}
"""The functions that every template can call."""


def make_safe(budget: Budget, value: Any) -> SafeText:
    """Return the text of a value, marked as safe."""
    if value.__class__ is SafeText:
        return value
    return safe_text(to_text(budget, value))
