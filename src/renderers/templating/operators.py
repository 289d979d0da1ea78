"""The operators of generated code, and the texts of values.

Every function gives exactly the text that Python gives for plain values, and carries owners along. A function with
a result that can be much larger than its operands is charged before it runs.
"""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

from renderers.templating.limits import Budget
from renderers.templating.sizes import (
    ITEM,
    LARGE,
    bits_of_binary,
    is_template_container,
    size_of_percent,
    size_of_text,
    weight,
)
from renderers.templating.texts import (
    coarse_text,
    cut,
    field_text,
    fill_gaps,
    join_runs,
    mixed_text,
    plain,
    runs_of,
    safe_text,
)
from renderers.templating.values import (
    NO_MESSAGE,
    DataDict,
    DataList,
    FieldFloat,
    FieldInt,
    FieldText,
    MixedText,
    SafeText,
)
from renderers.templating.wrapping import open_data

_PERCENT_S = re.compile(r"%(?:%|s|\((\w+)\)s)")
_SCALARS = frozenset({str, FieldText, int, bool, float, type(None)})
# A tuple is checked faster than a union, which is built on every call.
_SEQUENCES = (list, tuple)
_SHORT = 16
"""Comparisons with a list of at most this many scalars are not charged."""


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


def make_safe(budget: Budget, value: Any) -> SafeText:
    """Return the text of a value, marked as safe."""
    if value.__class__ is SafeText:
        return value
    return safe_text(to_text(budget, value))


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


def prompt_text(value: Any) -> Any:
    """Return a value with the template text in it attributed to the generation prompt, which is not a message."""
    return fill_gaps(value, NO_MESSAGE) if isinstance(value, str) else value


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
