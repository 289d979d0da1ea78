"""The sandboxed Jinja environment of chat templates, compatible with transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

LIST_CHANGES = frozenset({"append", "pop"})
"""The methods that change a list and that a template can call on its own lists. Kimi K2 queues the ids of calls so."""


class RaisedByTemplateError(TemplateError):
    """Raised by `raise_exception`, which templates call to reject a conversation."""


class _Generation(jinja2.ext.Extension):
    """The tag `{% generation %}`: a variable scope, as in transformers, that emits its body unchanged."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


class TemplateDict:
    """The global `dict`: creates dicts, without access to any other attribute of the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


class TemplateNamespace(Namespace):
    """The global `namespace`: refuses names that start with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            refuse_underscore(name)
        object.__setattr__(self, "_values", values)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, name)
        try:
            return values_in(self)[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setitem__(self, name: str, value: Any) -> None:
        refuse_underscore(name)
        values_in(self)[name] = value

    def __repr__(self) -> str:
        return f"<Namespace {values_in(self)!r}>"


def values_in(namespace: TemplateNamespace) -> dict[str, Any]:
    """Return the values of a namespace. Bypasses attribute lookup, which the values could shadow."""
    values: dict[str, Any] = object.__getattribute__(namespace, "_values")
    return values


class GivenList(list[Any]):
    """A list of the caller, which a template cannot change."""


def protect(value: Any) -> Any:
    """Return JSON data with all of its lists protected from changes.

    >>> type(protect({"a": [1]})["a"]).__name__
    'GivenList'
    """
    if isinstance(value, dict):
        return {key: protect(item) for key, item in value.items()}
    return GivenList(map(protect, value)) if isinstance(value, list) else value


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The environment of transformers: the same settings, extensions and globals, and no others.

    Unlike there, a template can append to the lists that it makes.
    """

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols])
        self.filters["tojson"] = _tojson
        self.globals |= {
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
            "raise_exception": _raise_exception,
        }

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return (type(obj) is list and attr in LIST_CHANGES) or super().is_safe_attribute(obj, attr, value)


def _tojson(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: Any) -> None:
    raise RaisedByTemplateError(str.__str__(str(message)))


def refuse_underscore(name: Any) -> None:
    """Raise SecurityError if the name of a value in a namespace starts with an underscore."""
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"a chat template may not store {name!r} in a namespace: names must not start with an underscore"
        )
