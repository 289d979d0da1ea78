"""The functions that every template can call: `range`, `dict`, `namespace` and `raise_exception`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from renderers.templating.iteration import pairs_of
from renderers.templating.limits import Budget
from renderers.templating.operators import weighed
from renderers.templating.sandbox import RaisedByTemplateError, refuse_underscore
from renderers.templating.texts import plain
from renderers.templating.values import NamespaceValue


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
