"""The Jinja environment with traced strings, and a code generator that charges the work of a template.

Only this module uses undocumented parts of Jinja: the overridden methods of `CodeGenerator`,
`Environment.code_generator_class`, `context_class` and `concat`, and the `jinja_pass_arg` attribute of filters.
`tests/templating/test_jinja_inside.py` pins them. (`filters.py` calls filters of Jinja by name, and `sandbox.py`
subclasses the class that `{% set ns.x = ... %}` requires.)
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jinja2.nodes
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.runtime import Context, markup_join
from jinja2.utils import generate_lorem_ipsum, pass_context

from renderers.errors import TemplateLimitError
from renderers.templating.filters import (
    ITERATING_FILTERS,
    TEXT_FILTERS,
    TRACED_FILTERS,
    size_of_filter,
    size_of_item,
    trace_format,
)
from renderers.templating.limits import Budget
from renderers.templating.runs import NO_MESSAGE
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.scopes import Scope, Scopes
from renderers.templating.sizes import (
    ITEM,
    bits_of_binary,
    is_template_container,
    size_of,
    size_of_binary,
    size_of_joined,
    size_of_method,
    size_of_text,
    weight,
)
from renderers.templating.traced_str import TracedStr, coarsen, fill_gaps, join_traced, to_traced_text
from renderers.templating.traced_values import TracedDict, TracedInt

_PROMPT_FLAG = "add_generation_prompt"
_NODES_PER_STEP = 128
"""Syntax nodes per step: iterations of a longer loop body count as several steps."""
_DICT_ATTRIBUTES = frozenset(dir(TracedDict))
_COMPARING_TESTS = frozenset(
    "!= < <= == > >= eq equalto ge greaterthan gt in le lessthan lower lt ne upper".split(),
)
"""The tests that read the contents of a value; the others read only its type or identity."""


class TracingContext(Context):
    """The state of a run: Jinja's variables, the scopes and the budget."""

    scopes: Scopes
    budget: Budget

    def derived(self, locals: dict[str, Any] | None = None) -> TracingContext:  # noqa: A002
        context = super().derived(locals)
        assert isinstance(context, TracingContext)
        context.scopes, context.budget = self.scopes, self.budget
        return context

    def begin_iteration(self, outer: Scope, item: Any, steps: int) -> None:
        """Charge an iteration of a loop, and enter its scope."""
        self.budget.tick(steps)
        self.scopes.iterate(outer, item)

    def buffer(self) -> _Buffer:
        """Return the list that collects the output of a macro, a block `set` or a block filter."""
        self.budget.tick()
        return _Buffer(self)

    def to_text(self, value: Any) -> str:
        """Return the text that `{{ value }}` emits."""
        self.budget.charge(size_of_text(value))
        # str() turns markup into text.
        return str(to_traced_text(value))

    def concatenate(self, values: tuple[Any, ...], markup: bool = False) -> str:
        """Join values as `~` does."""
        self.budget.charge(size_of_joined(values))
        if markup:
            joined: str = coarsen(markup_join(values), values)
            return joined
        return join_traced(map(to_traced_text, values))

    def weigh(self, value: Any) -> Any:
        """Return a value that the template built or passes on. Raise TemplateLimitError if it is too large."""
        # A nested list that shares its items can be exponentially larger than its memory.
        if is_template_container(value):
            size, visited = weight(value)
            self.budget.tick(visited)
            self.budget.check_size(ITEM * size)
        return value

    def charge_test(self) -> bool:
        """Charge the test of one loop item, and return True."""
        self.budget.tick()
        return True

    def charge_slice(self, value: Any) -> Any:
        """Charge and return the result of a slice."""
        self.budget.charge(size_of(value))
        return value

    def charge_comparison(self, value: Any) -> Any:
        """Charge and return the operand of a comparison or of `in`."""
        if isinstance(value, str | list | tuple) or is_template_container(value):
            self.budget.charge(size_of_text(self.weigh(value)) >> 3)
        elif isinstance(value, range):
            self.budget.tick(len(value))
        return value

    def charge_items(self, name: str, items: Iterator[Any], rest: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of an iterating filter, and charge each."""
        for item in items:
            steps, size = size_of_item(name, item, rest)
            self.budget.tick(steps)
            self.budget.charge(size)
            yield item

    def check_result(self, value: Any) -> Any:
        """Return the result of a call or filter. Raise TemplateLimitError if it is too large."""
        if isinstance(value, int):
            self.budget.check_bits(value.bit_length())
        return self.weigh(value)

    def as_prompt_text(self, value: Any) -> Any:
        """Return a value with the template text in it attributed to the generation prompt, which is no message."""
        return fill_gaps(value, NO_MESSAGE) if isinstance(value, str) else value


class _Buffer(list[str]):
    """A list of texts. Parts without an owner are given to the scope that is current when they are appended."""

    def __init__(self, context: TracingContext) -> None:
        super().__init__()
        self._context = context

    def append(self, text: str) -> None:
        self._context.budget.charge(len(text))
        super().append(self._context.scopes.claim_gaps(text))

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.append(text)


class _TracingCodeGenerator(CodeGenerator):
    """Generate code with calls to the context, which tracks scopes and charges work.

    Before a loop or an `if` the current scope is saved in a variable. Each iteration or branch sets a new scope, and
    the saved one is restored at the end, so that `break` and `continue` cannot leave a wrong scope behind.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._openings: dict[int, Callable[[Frame], None]] = {}
        """Callbacks that generate the start of a body, by the identity of its node list."""
        self._assigned: set[int] = set()
        """The identities of assigned expressions."""
        self._tests: set[int] = set()
        """The identities of loop filters: `{% for item in items if test %}`."""
        self._depth = 0
        """The number of enclosing loops and macros. Branches inside them belong to the iteration and open no scope."""

    def blockvisit(self, nodes: Iterable[jinja2.nodes.Node], frame: Frame) -> None:
        opening = self._openings.pop(id(nodes), None)
        if opening is not None:
            opening(frame)
        super().blockvisit(nodes, frame)

    def visit_For(self, node: jinja2.nodes.For, frame: Frame) -> None:  # noqa: N802
        outer = self._save_scope()
        steps = _steps_of(node.body)

        def opening(frame: Frame) -> None:
            if node.recursive:
                # The body is a recursive function, and a single variable cannot hold all outer scopes.
                self.writeline(f"context.budget.tick({steps})")
                return
            self.writeline(f"context.begin_iteration({outer}, ")
            self.visit(node.target, frame)
            self.write(f", {steps})")

        self._openings[id(node.body)] = opening
        self._tests.add(id(node.test))
        self._depth += 1
        super().visit_For(node, frame)
        self._depth -= 1
        self.writeline(f"context.scopes.leave({outer})")

    def visit_If(self, node: jinja2.nodes.If, frame: Frame) -> None:  # noqa: N802
        branches = list(_branches(node))
        if self._depth and not any(prompt for _, prompt in branches):
            super().visit_If(node, frame)
            return
        outer = self._save_scope()
        for body, prompt in branches:
            self._openings[id(body)] = lambda _, prompt=prompt: self.writeline(  # type: ignore[misc]
                f"context.scopes.branch({outer}, prompt={prompt})"
            )
        super().visit_If(node, frame)
        self.writeline(f"context.scopes.leave({outer})")

    def visit_CondExpr(self, node: jinja2.nodes.CondExpr, frame: Frame) -> None:  # noqa: N802
        condition = _prompt_condition(node.test)
        if condition is None or node.expr2 is None:
            super().visit_CondExpr(node, frame)
            return
        for part, prompt in ((node.expr1, condition), (None, None), (node.expr2, not condition)):
            if part is None:
                self.write(" if ")
                self.visit(node.test, frame.soft())
                self.write(" else ")
            else:
                self.write("(context.as_prompt_text(" if prompt else "((")
                self.visit(part, frame.soft())
                self.write("))")

    def visit_Assign(self, node: jinja2.nodes.Assign, frame: Frame) -> None:  # noqa: N802
        self._assigned.add(id(node.node))
        super().visit_Assign(node, frame)

    def visit(self, node: jinja2.nodes.Node, *args: Any, **kwargs: Any) -> Any:
        prefix = "context.scopes.claim(" if id(node) in self._assigned else "context.charge_test() and ("
        if id(node) not in self._assigned | self._tests:
            return super().visit(node, *args, **kwargs)
        self._assigned.discard(id(node))
        self._tests.discard(id(node))
        self.write(prefix)
        super().visit(node, *args, **kwargs)
        self.write(")")
        return None

    def visit_Concat(self, node: jinja2.nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("context.concatenate((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        markup = "context.eval_ctx.volatile" if frame.eval_ctx.volatile else str(bool(frame.eval_ctx.autoescape))
        self.write(f"), {markup})")

    def visit_List(self, node: jinja2.nodes.List, frame: Frame) -> None:  # noqa: N802
        self._visit_weighed(super().visit_List, node, frame)

    def visit_Tuple(self, node: jinja2.nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        if node.ctx == "load":
            self._visit_weighed(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: jinja2.nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self._visit_weighed(super().visit_Dict, node, frame)

    def visit_Getitem(self, node: jinja2.nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if isinstance(node.arg, jinja2.nodes.Slice):
            self.write("context.charge_slice(")
        super().visit_Getitem(node, frame)
        if isinstance(node.arg, jinja2.nodes.Slice):
            self.write(")")

    def visit_Operand(self, node: jinja2.nodes.Operand, frame: Frame) -> None:  # noqa: N802
        self.write(f" {operators[node.op]} ")
        # A constant is no larger than the template source.
        constant = _is_constant(node.expr)
        self.write("" if constant else "context.charge_comparison(")
        self.visit(node.expr, frame)
        self.write("" if constant else ")")

    def _visit_weighed(self, visit: Callable[[Any, Frame], None], node: jinja2.nodes.Expr, frame: Frame) -> None:
        self.write("context.weigh(")
        visit(node, frame)
        self.write(")")

    def macro_body(self, node: Any, frame: Frame) -> Any:
        self._depth += 1
        body = super().macro_body(node, frame)
        self._depth -= 1
        return body

    def buffer(self, frame: Frame) -> None:
        frame.buffer = self.temporary_identifier()
        self.writeline(f"{frame.buffer} = context.buffer()")

    def _output_child_pre(self, node: jinja2.nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
            return
        self.write("context.to_text(")

    def _save_scope(self) -> str:
        name = self.temporary_identifier()
        self.writeline(f"{name} = context.scopes.current")
        return name


def _steps_of(body: Iterable[jinja2.nodes.Node]) -> int:
    """Return the steps of one iteration of a loop body: 1, plus 1 for every `_NODES_PER_STEP` nodes."""
    return 1 + sum(1 for node in body for _ in node.find_all(jinja2.nodes.Node)) // _NODES_PER_STEP


def _is_constant(node: jinja2.nodes.Node) -> bool:
    """Return True if an expression is a constant or a list of constants."""
    return all(isinstance(item, jinja2.nodes.Const) for item in getattr(node, "items", (node,)))


def _branches(node: jinja2.nodes.If) -> Iterable[tuple[list[jinja2.nodes.Node], bool]]:
    """Yield the bodies of an `if`, each with True if it is only for the generation prompt."""
    only_prompt = False
    for branch in (node, *node.elif_):
        condition = _prompt_condition(branch.test)
        yield branch.body, only_prompt or condition is True
        only_prompt = only_prompt or condition is False
    if node.else_:
        yield node.else_, only_prompt


def _prompt_condition(test: jinja2.nodes.Node) -> bool | None:
    """Return True if a test can only hold with a generation prompt, False if it can only fail with one, else None."""
    if isinstance(test, jinja2.nodes.Name):
        return True if test.name == _PROMPT_FLAG else None
    if isinstance(test, jinja2.nodes.Not):
        inner = _prompt_condition(test.node)
        return None if inner is None else not inner
    if isinstance(test, jinja2.nodes.And):
        sides = _prompt_condition(test.left), _prompt_condition(test.right)
        return True if True in sides else None
    if isinstance(test, jinja2.nodes.Or):
        sides = _prompt_condition(test.left), _prompt_condition(test.right)
        return False if False in sides else True if sides == (True, True) else None
    return None


class TracingEnvironment(ChatEnvironment):
    """`ChatEnvironment` with traced strings and limits. It holds no state of a run, so threads can share it."""

    code_generator_class = _TracingCodeGenerator
    context_class = TracingContext
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    concat = staticmethod(join_traced)

    def __init__(self) -> None:
        super().__init__()
        self.filters = {name: _guarded(name, function) for name, function in {**self.filters, **TRACED_FILTERS}.items()}
        self.tests |= {name: _guarded_test(self.tests[name]) for name in _COMPARING_TESTS} | {"sameas": _sameas}
        self.globals |= {"lipsum": _lipsum, "range": _range}

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is TracedDict and attribute in obj and attribute not in _DICT_ATTRIBUTES:
            # A shortcut: Jinja tries getattr first, catches the error, and then looks up the key.
            return obj[attribute]
        # Methods of a traced string keep the owners of their arguments.
        return super().getattr(TracedStr(obj) if type(obj) is str else obj, attribute)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        assert isinstance(context, TracingContext)
        context.budget.check_bits(bits_of_binary(operator, left, right))
        context.budget.charge(size_of_binary(operator, left, right))
        if operator == "%" and type(left) is str:
            left = TracedStr(left)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        formatted = super().wrap_str_format(value)
        return None if formatted is None else trace_format(formatted, value)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        assert isinstance(context, TracingContext)
        context.budget.tick()
        method = getattr(function, "__wrapped__", function)
        if isinstance(method, types.MethodType | types.BuiltinMethodType):
            if method.__name__ == "join" and isinstance(method.__self__, str | bytes):
                # An iterator has no size.
                args = tuple(list(value) if isinstance(value, Iterator) else value for value in args)
            context.budget.charge(size_of_method(method.__name__, method.__self__, args, kwargs))
        for value in (*args, *kwargs.values()):
            context.weigh(value)
        return context.check_result(super().call(context, function, *args, **kwargs))


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that charges its work, and gives text that it derives from traced values an owner."""

    @pass_context
    def guarded(context: TracingContext, *args: Any, **kwargs: Any) -> Any:
        if name in ITERATING_FILTERS and args and isinstance(args[0], Iterator):
            args = (context.charge_items(name, args[0], (*args[1:], *kwargs.values())), *args[1:])
        steps, size = size_of_filter(name, args, kwargs)
        context.budget.tick(steps)
        context.budget.charge(size)
        result = context.check_result(function(*_jinja_arguments(function, context), *args, **kwargs))
        return coarsen(result, (*args, *kwargs.values())) if name in TEXT_FILTERS else result

    return guarded


def _guarded_test(function: Any) -> Callable[..., Any]:
    """Return a test (`is in`, `is eq`, ...) that charges the values it reads."""

    @pass_context
    def guarded(context: TracingContext, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            context.charge_comparison(value)
        return function(*_jinja_arguments(function, context), *args, **kwargs)

    return guarded


def _sameas(value: Any, other: Any) -> bool:
    """Return True if two values are the same object. Traced integers are compared as plain ones."""
    return value is other or _unwrapped(value) is _unwrapped(other)


def _unwrapped(value: Any) -> Any:
    return int(value) if isinstance(value, TracedInt) else value


def _jinja_arguments(function: Callable[..., Any], context: Context) -> tuple[Any, ...]:
    """Return the arguments that Jinja passes to a filter or test before its own."""
    pass_arg = getattr(function, "jinja_pass_arg", None)
    if pass_arg is None:
        return ()
    return ({"context": context, "environment": context.environment, "eval_context": context.eval_ctx}[pass_arg.name],)


@pass_context
def _range(context: TracingContext, *args: int) -> range:
    numbers = range(*args)
    most = context.budget.limits.range
    # len() fails on ranges longer than a machine word.
    if numbers and (numbers[-1] - numbers[0]) // numbers.step >= most:
        raise TemplateLimitError("range", most)
    return numbers


@pass_context
def _lipsum(context: TracingContext, n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> Any:  # noqa: A002
    words = abs(n) * (1 + abs(min) + abs(max))
    context.budget.charge(words * 16)
    context.budget.tick(words)
    return generate_lorem_ipsum(n, html, min, max)
