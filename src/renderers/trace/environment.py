"""The Jinja environment of chat templates, with traced strings.

The rules are those of transformers. What is used of Jinja beyond its documented interface is in this module alone:
`CodeGenerator.visit_Concat`, `Environment.code_generator_class` and `Environment.concat`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2 import TemplateError
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.filters import make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, pass_eval_context
from markupsafe import Markup

from renderers.trace.text import TracedMarkup, TracedStr, join_traced, plain, runs_of
from renderers.trace.values import owner_runs

__all__ = ["TracingEnvironment"]


class _TracingCodeGenerator(CodeGenerator):
    """Writes `a ~ b` so that it keeps provenance."""

    def visit_Concat(self, node: jinja2.nodes.Concat, frame: Frame) -> None:  # noqa: N802
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("environment.join_values((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Generation(jinja2.ext.Extension):
    """`{% generation %}`: a scope of its own, as in transformers; its text is the text of its body."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


class _TemplateDict:
    """The name `dict` of templates: it makes dicts, and gives nothing else of the type away."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


class _TemplateNamespace(Namespace):
    """The name `namespace` of templates: without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        values = dict(*rest, **kwargs)
        for name in values:
            _refuse_underscore(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscore(name)
        super().__setitem__(name, value)


class TracingEnvironment(ImmutableSandboxedEnvironment):
    """The environment that chat templates are compiled and run in. It holds no state of a run."""

    code_generator_class = _TracingCodeGenerator
    intercepted_binops = frozenset({"%"})
    concat = staticmethod(join_traced)

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols])
        self.filters = {name: _blurring(function) for name, function in self.filters.items()}
        self.filters |= {
            "indent": _indent,
            "join": _join,
            "replace": _replace,
            "safe": _safe,
            "string": _string,
            "tojson": _tojson,
        }
        self.globals |= {
            "dict": _TemplateDict(),
            "namespace": _TemplateNamespace,
            "raise_exception": _raise_exception,
        }

    def getattr(self, obj: Any, attribute: str) -> Any:
        return super().getattr(_promoted(obj), attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        return super().call_binop(context, operator, _promoted(left), right)

    def join_values(self, values: Iterable[Any]) -> TracedStr:
        """Joins values as `~` does."""
        return join_traced(map(str, values))


def _promoted(value: Any) -> Any:
    """Returns a plain string as a traced one, so that what its methods take in keeps its owners."""
    return TracedStr(value) if type(value) is str else value


def _blurring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives what a filter makes of traced values an owner, where they all have the same one."""

    @functools.wraps(function)
    def blurred(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) is str:
            return TracedStr(result, owner_runs((*args, *kwargs.values()), len(result)))
        if type(result) is Markup:
            return TracedMarkup(result, owner_runs((*args, *kwargs.values()), len(result)))
        return result

    return blurred


@pass_eval_context
def _join(context: EvalContext, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> Any:
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    if context.autoescape:
        return Markup(d).join(value)
    return _promoted(str(d)).join(map(str, value))


@pass_eval_context
def _replace(context: EvalContext, s: Any, old: Any, new: Any, count: int | None = None) -> Any:
    if context.autoescape:
        return jinja2.filters.do_replace(context, s, old, new, count)
    return _promoted(str(s)).replace(str(old), str(new), -1 if count is None else count)


def _indent(s: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> Any:
    text = jinja2.filters.do_indent(Markup(plain(s)) if isinstance(s, Markup) else plain(s), width, first, blank)
    padding = width if isinstance(width, str) else " " * width
    lines = (_promoted(s) + "\n").splitlines()
    padded = [
        line if at == 0 and not first else padding + line if line or blank or at == 0 else line
        for at, line in enumerate(lines)
    ]
    followed = join_traced(part for line in padded for part in ("\n", line))[1:]
    runs = runs_of(followed) if plain(followed) == plain(text) else owner_runs((s,), len(text))
    return TracedMarkup(text, runs) if isinstance(text, Markup) else TracedStr(text, runs)


def _safe(value: Any) -> Any:
    marked = Markup(plain(value) if isinstance(value, str) else value)
    return TracedMarkup(marked, runs_of(value) if isinstance(value, str) else owner_runs((value,), len(marked)))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _tojson(
    x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> TracedStr:
    text = json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return TracedStr(text, owner_runs(x, len(text)))


def _raise_exception(message: Any) -> None:
    raise TemplateError(plain(message) if isinstance(message, str) else message)


def _refuse_underscore(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a chat template may not keep {name!r} in a namespace: it begins with an underscore")
