"""The methods of values that a template can call. Methods that change data of the caller are refused."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import SecurityError, UndefinedError
from markupsafe import Markup

from renderers.templating.iteration import iterate, pairs_of, type_name
from renderers.templating.limits import Budget
from renderers.templating.lookups import METHOD_NAMES, MUTATORS, attribute, item
from renderers.templating.operators import escape, to_text, weighed, without_owners
from renderers.templating.sandbox import LIST_CHANGES
from renderers.templating.scopes import Scope, collect
from renderers.templating.sizes import ITEM, LARGE, size_of_format, size_of_method, size_of_replacing, size_of_text
from renderers.templating.texts import coarse_text, cut, field_text, join_runs, mixed_text, plain, runs_of
from renderers.templating.values import DictView, FieldText, FunctionValue, LoopValue, MacroValue, MethodValue, SafeText
from renderers.templating.wrapping import open_data

_MARKER_SIGN = re.compile(r"[][<>{}|]|^$")
"""Characters of markers. Also matches a text without any character."""
_FIELD_PART = re.compile(r"(\.[^.\[]*|\[[^\]]*\])")

# ==================
# Methods of texts
# ==================


def strip(budget: Budget, text: str, chars: str | None = None) -> str:
    """Return `text.strip(chars)`."""
    if chars is not None:
        budget.charge(len(text) * (1 + len(chars)))
    if text.__class__ is FieldText:
        stripped = str.strip(text, chars)
        return text if len(stripped) == len(text) else field_text(stripped, text._owner)
    return rstrip(budget, lstrip(budget, text, chars), chars)


def lstrip(budget: Budget, text: str, chars: str | None = None) -> str:
    """Return `text.lstrip(chars)`."""
    if chars is not None:
        budget.charge(len(text) * (1 + len(chars)))
    stripped = str.lstrip(text, chars)
    # Most texts have nothing to strip.
    return text if text and len(stripped) == len(text) else cut(text, len(text) - len(stripped), len(text))


def rstrip(budget: Budget, text: str, chars: str | None = None) -> str:
    """Return `text.rstrip(chars)`."""
    if chars is not None:
        budget.charge(len(text) * (1 + len(chars)))
    stripped = str.rstrip(text, chars)
    return text if text and len(stripped) == len(text) else cut(text, 0, len(stripped))


def _slices(text: str, parts: Sequence[str], *, gap: int | None) -> list[str]:
    """Return the slices of consecutive parts, `gap` characters apart, or at their next occurrence if None."""
    if text.__class__ is str:
        return list(parts)
    if text.__class__ is FieldText:
        if len(parts) == 1 and len(parts[0]) == len(text):
            return [text]
        owner = text._owner
        return [field_text(part, owner) for part in parts]
    slices, offset = [], 0
    for part in parts:
        start = str.find(text, part, offset) if gap is None else offset
        slices.append(cut(text, start, start + len(part)))
        offset = start + len(part) + (gap or 0)
    return slices


def _split(budget: Budget, text: str, separator: str | None, parts: list[str]) -> list[str]:
    if len(parts) > 8 or len(text) > LARGE:
        budget.charge(len(text) + ITEM * len(parts))
    return _slices(text, parts, gap=None if separator is None else len(separator))


def split(budget: Budget, text: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    """Return `text.split(sep, maxsplit)`."""
    _charge_split(budget, text, sep)
    return _split(budget, text, sep, str.split(text, sep, maxsplit))


def rsplit(budget: Budget, text: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    """Return `text.rsplit(sep, maxsplit)`."""
    _charge_split(budget, text, sep)
    return _split(budget, text, sep, str.rsplit(text, sep, maxsplit))


def _charge_split(budget: Budget, text: str, separator: str | None) -> None:
    if len(text) > 2**16:
        # Without a separator there is at most one part per two characters.
        budget.check_size(ITEM * (len(text) // 2 if separator is None else str.count(text, separator)))


def splitlines(budget: Budget, text: str, keepends: bool = False) -> list[str]:
    """Return `text.splitlines(keepends)`."""
    _charge_split(budget, text, None)
    plain_lines = str.splitlines(text, True)
    budget.charge(len(text) + ITEM * len(plain_lines))
    lines = _slices(text, plain_lines, gap=0)
    if keepends:
        return lines
    return [cut(line, 0, len(bare)) for line, bare in zip(lines, str.splitlines(text), strict=True)]


def partition(_: Budget, text: str, sep: str) -> tuple[str, ...]:
    """Return `text.partition(sep)`."""
    return tuple(_slices(text, str.partition(text, sep), gap=0))


def rpartition(_: Budget, text: str, sep: str) -> tuple[str, ...]:
    """Return `text.rpartition(sep)`."""
    return tuple(_slices(text, str.rpartition(text, sep), gap=0))


def removeprefix(_: Budget, text: str, prefix: str) -> str:
    """Return `text.removeprefix(prefix)`."""
    return cut(text, len(text) - len(str.removeprefix(text, prefix)), len(text))


def removesuffix(_: Budget, text: str, suffix: str) -> str:
    """Return `text.removesuffix(suffix)`."""
    return cut(text, 0, len(str.removesuffix(text, suffix)))


def replace(budget: Budget, text: str, old: str, new: str, count: int = -1) -> str:
    """Return `text.replace(old, new, count)`."""
    budget.charge(size_of_replacing(text, old, new))
    replaced = plain(text).replace(old, new, count)
    if text.__class__ is str and new.__class__ is str:
        return replaced
    if not old:
        return coarse_text(replaced, (text, new))
    parts = split(budget, text, old, count)
    # Text that is written into a field belongs to it, unless it may be a marker, or nothing of the field is left.
    is_part = new.__class__ is str and (new.isspace() or (not _MARKER_SIGN.search(new) and any(parts)))
    pieces: list[str] = []
    place = -len(old)
    for part in parts:
        pieces += (coarse_text(new, cut(text, place, place + len(old))) if is_part and pieces else new, part)
        place += len(old) + len(part)
    return mixed_text(replaced, join_runs(pieces[1:]))


def join(budget: Budget, text: str, values: Any) -> str:
    """Return `text.join(values)`."""
    parts = iterate(budget, values)
    size = len(text) * len(parts)
    for part in parts:
        if not isinstance(part, str):
            # Raises the error of Python.
            text.join([part])
        size += len(part)
    budget.charge(size)
    if text.__class__ is str and all(part.__class__ is str for part in parts):
        return text.join(parts)
    pieces = [piece for part in parts for piece in (text, part)][1:]
    return mixed_text(plain(text).join(parts), join_runs(pieces))


class _Formatter(string.Formatter):
    """`str.format` with the look-ups of templates."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first, rest = _string_parts(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            missing = Undefined(name=str(name))
            value = attribute(value, str(name), missing) if is_attribute else item(value, name, missing)
        return without_owners(value), first


def _string_parts(field_name: str) -> tuple[Any, list[tuple[bool, Any]]]:
    """Return the first name of a replacement field, and the names of its attributes and items."""
    parts = [part for part in _FIELD_PART.split(field_name) if part]
    first = parts.pop(0) if parts and parts[0][0] not in ".[" else ""
    names = [(part[0] == ".", part.strip(".[]")) for part in parts]
    return (
        int(first) if first.isdigit() else first,
        [(dotted, int(name) if not dotted and name.isdigit() else name) for dotted, name in names],
    )


def format_text(budget: Budget, text: str, *args: Any, **kwargs: Any) -> str:
    """Return `text.format(*args, **kwargs)`."""
    return _formatted(budget, text, args, kwargs)


def format_map(budget: Budget, text: str, values: Any) -> str:
    """Return `text.format_map(values)`."""
    return _formatted(budget, text, (), open_data(values))


def _formatted(budget: Budget, text: str, args: tuple[Any, ...], values: Mapping[str, Any]) -> str:
    """Return a formatted text.

    If its fields are plain names or numbers, and their values without a format spec add up to the same text, every
    value keeps its owners. Otherwise the text has the common owner of all inputs.
    """
    budget.charge(size_of_format(text, (*args, *values.values())))
    result = _Formatter().vformat(plain(text), args, values)
    pieces: list[str] = []
    next_index = 0
    for literal, field, _, _ in string.Formatter().parse(plain(text)):
        pieces.append(literal)
        if field is None:
            continue
        if field == "" or field.isdigit():
            index = int(field) if field else next_index
            next_index += not field
            pieces.append(to_text(budget, args[index]) if index < len(args) else "")
        else:
            pieces.append(to_text(budget, values.get(field, "")))
    if "".join(pieces) == result:
        return mixed_text(result, join_runs(pieces))
    return coarse_text(result, (text, args, dict(values)))


def _changed(name: str) -> Callable[..., str]:
    """Return a method that changes characters. Owners stay if the length stays, else they become coarse."""
    change = getattr(str, name)

    def method(budget: Budget, text: str, *args: Any) -> str:
        if args or len(text) > LARGE:
            budget.charge(size_of_method(name, text, args))
        changed = change(plain(text), *map(without_owners, args))
        if text.__class__ is str:
            return changed  # type: ignore[no-any-return]
        if len(changed) == len(text):
            return mixed_text(changed, runs_of(text))
        return coarse_text(changed, text)

    return method


def _padded(name: str) -> Callable[..., str]:
    """Return a method that pads a text."""
    pad = getattr(str, name)

    def method(budget: Budget, text: str, width: int, *fill: str) -> str:
        budget.charge(size_of_method(name, text, (width,)))
        padded = pad(plain(text), width, *map(plain, fill))
        padding = len(padded) - len(text)
        # CPython puts the odd fill character on the left if the width is odd too.
        odd = padding & len(padded) & 1
        left = {"ljust": 0, "center": padding // 2 + odd}.get(name, padding)
        pieces = [padded[:left], text, padded[left + len(text) :]]
        return mixed_text(padded, join_runs(pieces)) if "".join(pieces) == padded else coarse_text(padded, text)

    return method


_OF_TEXT: dict[str, Callable[..., Any]] = {
    "strip": strip,
    "lstrip": lstrip,
    "rstrip": rstrip,
    "split": split,
    "rsplit": rsplit,
    "splitlines": splitlines,
    "partition": partition,
    "rpartition": rpartition,
    "removeprefix": removeprefix,
    "removesuffix": removesuffix,
    "replace": replace,
    "join": join,
    "format": format_text,
    "format_map": format_map,
    **{name: _changed(name) for name in "capitalize casefold expandtabs lower swapcase title translate upper".split()},
    **{name: _padded(name) for name in ("center", "ljust", "rjust", "zfill")},
}
DIRECT = frozenset(name for name, function in _OF_TEXT.items() if function.__name__ == name)
"""The methods that generated code calls without a look-up."""
QUERIES = METHOD_NAMES[str] - _OF_TEXT.keys() - {"maketrans"}
"""The methods that only ask something about a text."""


def _text_method(budget: Budget, text: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if text.__class__ is SafeText:
        return _safe_method(budget, text, name, args, kwargs)
    if name in _OF_TEXT:
        return _OF_TEXT[name](budget, text, *args, **kwargs)
    budget.charge(size_of_method(name, text, args))
    return getattr(plain(text), name)(*args, **kwargs)


def _safe_method(budget: Budget, text: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a safe text. The result is that of `Markup`; owners are kept if escaping allows it."""
    bare = mixed_text(plain(text), runs_of(text))
    if name in {"striptags", "unescape"}:
        return coarse_text(getattr(Markup(plain(text)), name)(), text)
    if name in QUERIES:
        return getattr(str, name)(text, *args, **kwargs)
    if name == "join":
        args = (list(map(escape, iterate(budget, *args))),)
    elif name == "replace":
        args = (args[0], *map(_escaped, args[1:]))
    elif name in {"format", "format_map", "ljust", "rjust", "center"}:
        args = tuple(map(_escaped, args))
        kwargs = {key: _escaped(value) for key, value in kwargs.items()}
    return _made_safe(_OF_TEXT[name](budget, bare, *args, **kwargs))


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in pairs_of(value)}
    return escape(value) if not isinstance(value, int) else value


def _made_safe(value: Any) -> Any:
    if isinstance(value, str):
        return mixed_text(plain(value), runs_of(value), safe=True)
    return type(value)(map(_made_safe, value))


# ==================
# Methods of containers and numbers
# ==================


def _dict_method(budget: Budget, data: dict[Any, Any], name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
    if name == "get":
        return open_data(data).get(*args, **kwargs)
    if name == "fromkeys":
        return dict_fromkeys(budget, *args)
    if args or kwargs:
        raise TypeError(f"dict.{name}() takes no arguments")
    budget.charge(ITEM * len(data))
    if name == "copy":
        return dict(open_data(data))
    pairs = pairs_of(data)
    parts = {"items": pairs, "keys": [key for key, _ in pairs], "values": [value for _, value in pairs]}
    return DictView(parts[name], name)


def dict_fromkeys(budget: Budget, keys: Any, value: Any = None) -> dict[Any, Any]:
    """Return `dict.fromkeys(keys, value)`."""
    built: dict[Any, Any] = weighed(budget, dict.fromkeys(iterate(budget, keys), value))
    return built


def _sequence_method(budget: Budget, items: Any, name: str, args: tuple[Any, ...]) -> Any:
    if name == "copy":
        budget.tick(len(items))
        return list(open_data(items))
    if name in {"count", "index"}:
        budget.charge(size_of_text(items) >> 3)
        return getattr(type_of(items), name)(items, *args)
    # The attributes of a range.
    raise TypeError("'int' object is not callable")


def _loop_method(loop: LoopValue, name: str, args: tuple[Any, ...]) -> Any:
    if name == "cycle":
        if not args:
            raise TypeError("no items for cycling given")
        return args[loop.index0 % len(args)]
    changed: bool = loop.last_changed != args
    loop.last_changed = args
    return changed


def call_method(budget: Budget, receiver: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a value."""
    if isinstance(receiver, str):
        if name in METHOD_NAMES[str] or (receiver.__class__ is SafeText and name in {"striptags", "unescape"}):
            return _text_method(budget, receiver, name, args, kwargs)
    elif isinstance(receiver, dict | list) and name in MUTATORS and name in METHOD_NAMES[type_of(receiver)]:
        if receiver.__class__ is not list or name not in LIST_CHANGES:
            raise SecurityError(f"a chat template may not change a {type_name(receiver)}: {name}")
        budget.charge(ITEM)
        return getattr(receiver, name)(*args, **kwargs)
    elif isinstance(receiver, dict):
        if name in METHOD_NAMES[dict]:
            return _dict_method(budget, receiver, name, args, kwargs)
        return call_value(budget, None, open_data(receiver).get(name, Undefined(name=name)), *args, **kwargs)
    elif isinstance(receiver, list | tuple | range):
        if name in METHOD_NAMES[type_of(receiver)]:
            return _sequence_method(budget, receiver, name, args)
    elif isinstance(receiver, int | float):
        kind = int if isinstance(receiver, int) else float
        if name in METHOD_NAMES[kind]:
            return getattr(kind(receiver), name)(*args, **kwargs)
    elif receiver.__class__ is LoopValue and name in {"changed", "cycle"}:
        return _loop_method(receiver, name, args)
    elif receiver.__class__ is FunctionValue and (receiver.name, name) == ("dict", "fromkeys"):
        return dict_fromkeys(budget, *args, **kwargs)
    elif isinstance(receiver, Undefined):
        return receiver[name]
    else:
        missing = Undefined(name=name)
        method = attribute(receiver, name, missing)
        if method is not missing:
            return call_value(budget, None, method, *args, **kwargs)
    raise UndefinedError(f"'{type_name(receiver)} object' has no attribute {name!r}")


def type_of(value: Any) -> type:
    """Return the plain type of a container."""
    return next((kind for kind in (dict, list, tuple) if isinstance(value, kind)), type(value))


def call_value(budget: Budget, scope: Scope | None, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a value: a macro, a method, a global function, or a recursive loop."""
    kind = function.__class__
    if kind is MacroValue:
        return text_of(
            budget, scope, function.write, *args, **{f"p_{name}": argument for name, argument in kwargs.items()}
        )
    if kind is LoopValue and function.recurse is not None:
        return text_of(budget, scope, function.recurse, *args, function.depth0 + 1)
    if kind is MethodValue:
        return call_method(budget, function.receiver, function.name, *args, **kwargs)
    if kind is FunctionValue:
        return function.call(budget, *args, **kwargs)
    if isinstance(function, Undefined):
        return function()
    raise TypeError(f"{type_name(function)!r} object is not callable")


def text_of(budget: Budget, scope: Scope | None, write: Callable[..., None], /, *args: Any, **kwargs: Any) -> str:
    """Return the text that a macro writes."""
    pieces: list[str] = []
    write(pieces, *args, **kwargs)
    return collect_output(budget, pieces, scope)


def collect_output(budget: Budget, pieces: list[str], scope: Scope | None) -> str:
    """Return the output of a macro or a block as one text, and charge it."""
    if len(pieces) == 1 and pieces[0].__class__ is FieldText:
        # The text was charged when it was made.
        return pieces[0]
    size = sum(map(len, pieces))
    if size > LARGE:
        budget.charge(size)
    return collect(pieces, scope)
