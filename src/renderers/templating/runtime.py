"""The names of generated code: the functions that it calls."""

from __future__ import annotations

from typing import Any

from jinja2 import Undefined

from renderers.templating import (
    filters,
    global_functions,
    iteration,
    lookups,
    methods,
    operators,
    predicates,
    scopes,
    sections,
    texts,
    values,
    wrapping,
)

_MODULES = (values, texts, wrapping, scopes, lookups, iteration, operators, global_functions, methods, predicates)

RUNTIME: dict[str, Any] = {
    **{name: value for module in _MODULES for name, value in vars(module).items() if not name.startswith("_")},
    **{f"f_{name}": function for name, function in filters.FILTERS.items()},
    **{f"is_{name}": predicates.PREDICATES[name] for name in predicates.BARE},
    "apply_filter": filters.apply_filter,
    "recall": sections.recall,
    "remember": sections.remember,
    "Undefined": Undefined,
    "T": values.FieldText,
    "D": values.DataDict,
}


FIXED_NAMES = frozenset(
    {*RUNTIME, "b", "cur", "dict", "enumerate", "isinstance", "len", "str", "tuple"} - {"apply_filter", "f_random"}
)
"""The names in generated code that are the same in all runs, or that do not matter for its output."""
