"""The tests of templates: `is defined`, `is string` and so on."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import Undefined
from jinja2.exceptions import TemplateRuntimeError

from renderers.templating.limits import Budget
from renderers.templating.operators import measured
from renderers.templating.values import DictView, FieldInt, FunctionValue, LoopValue, MacroValue, MethodValue, SafeText

_SEQUENCES = (str, list, tuple, dict, range, Undefined)


def _is_iterable(value: Any) -> bool:
    return isinstance(value, (*_SEQUENCES, DictView, LoopValue, Iterator))


def _is_same(value: Any, other: Any) -> bool:
    return value is other or _unwrapped(value) is _unwrapped(other)


def _unwrapped(value: Any) -> Any:
    return int(value) if isinstance(value, FieldInt) else value


PREDICATES: dict[str, Callable[..., Any]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": lambda value: isinstance(value, Undefined),
    "none": lambda value: value is None,
    "boolean": lambda value: value is True or value is False,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "string": lambda value: isinstance(value, str),
    "mapping": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float),
    "integer": lambda value: isinstance(value, int) and value is not True and value is not False,
    "float": lambda value: isinstance(value, float),
    "sequence": lambda value: isinstance(value, _SEQUENCES),
    "iterable": _is_iterable,
    "callable": lambda value: isinstance(value, FunctionValue | MethodValue | MacroValue | LoopValue | Undefined),
    "escaped": lambda value: isinstance(value, SafeText),
    "sameas": _is_same,
    "even": lambda value: value % 2 == 0,
    "odd": lambda value: value % 2 == 1,
    "divisibleby": lambda value, number: value % number == 0,
    "lower": lambda value: str(value).islower(),
    "upper": lambda value: str(value).isupper(),
    "in": lambda value, container: value in container,
    **dict.fromkeys(("==", "eq", "equalto"), operator.eq),
    **dict.fromkeys(("!=", "ne"), operator.ne),
    **dict.fromkeys((">", "gt", "greaterthan"), operator.gt),
    **dict.fromkeys((">=", "ge"), operator.ge),
    **dict.fromkeys(("<", "lt", "lessthan"), operator.lt),
    **dict.fromkeys(("<=", "le"), operator.le),
}
"""Every test of Jinja but `filter` and `test`, which take a name."""

BARE = frozenset("boolean callable defined escaped false float integer iterable mapping none number".split()) | (
    frozenset("sequence string true undefined".split())
)
"""The tests that read only the type or identity of a value."""


def test(budget: Budget, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a test."""
    if name not in PREDICATES:
        raise TemplateRuntimeError(f"No test named {name!r}.")
    if name not in BARE:
        for operand in (value, *args, *kwargs.values()):
            measured(budget, operand)
    return PREDICATES[name](value, *args, **kwargs)
