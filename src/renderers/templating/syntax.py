"""Parse a chat template, refuse the constructs that it may not use, and answer questions about its syntax tree."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import jinja2
from jinja2 import nodes

from renderers.errors import TemplateError, TemplateLimitError, TemplateSourceError
from renderers.templating.limits import TemplateLimits
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.tree import children, find_all

PROMPT_FLAG = "add_generation_prompt"
_NODES_PER_STEP = 128
"""Syntax nodes per step: iterations of a longer loop body count as several steps."""
_OPENING = {"for", "if", "macro", "call", "filter", "generation", "block", "with", "autoescape"}
_CLOSING = {f"end{name}" for name in _OPENING}
_REFUSED: dict[type[nodes.Node], str] = {
    nodes.Import: "import",
    nodes.FromImport: "from ... import",
    nodes.Include: "include",
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.ScopedEvalContextModifier: "autoescape",
    nodes.EvalContextModifier: "autoescape",
}
REFUSED_NAMES = frozenset({"lipsum", "cycler", "joiner", "self", "super"})
_REFUSED_METHODS = frozenset({"encode", "to_bytes", "from_bytes"})


def parse_template(source: str, limits: TemplateLimits) -> nodes.Template:
    """Return the syntax tree of a chat template.

    Raises:
        TemplateSourceError: The source is not a valid template, or uses a construct that is refused.
        TemplateLimitError: The source is too long or too deeply nested.
    """
    environment = _environment()
    if len(source) > limits.source:
        raise TemplateLimitError("source", limits.source)
    with as_source_error():
        if _nesting(environment, source) > limits.nesting:
            raise TemplateLimitError("nesting", limits.nesting)
        tree = syntax_tree(source)
        _check_constructs(tree)
    return tree


@functools.lru_cache(maxsize=8)
def syntax_tree(source: str) -> nodes.Template:
    """Return the syntax tree of a template, which the compiler and several analyses share. They must not change it."""
    return _environment().parse(source)


@contextlib.contextmanager
def as_source_error() -> Iterator[None]:
    """Turn errors of Jinja and of the Python compiler into a TemplateError."""
    try:
        yield
    except TemplateError:
        raise
    except jinja2.TemplateSyntaxError as error:
        text = f"the chat template has a syntax error at line {error.lineno}: {error.message}"
        raise TemplateSourceError(text) from error
    except (RecursionError, MemoryError) as error:
        raise TemplateLimitError("nesting") from error
    except Exception as error:
        raise TemplateSourceError(f"the chat template cannot be compiled: {error}") from error


@functools.cache
def _environment() -> ChatEnvironment:
    return ChatEnvironment()


def _nesting(environment: jinja2.Environment, source: str) -> int:
    """Return the maximum depth of nested blocks and brackets."""
    deepest = depth = 0
    previous = ""
    for _, kind, value in environment.lex(source):
        if kind == "whitespace":
            continue
        opens = (kind == "operator" and value in "([{") or (previous == "block_begin" and value in _OPENING)
        closes = (kind == "operator" and value in ")]}") or (previous == "block_begin" and value in _CLOSING)
        depth += opens - closes
        deepest = max(deepest, depth)
        previous = kind
    return deepest


def refuse(construct: str, node: nodes.Node) -> TemplateSourceError:
    """Return the error for a construct that chat templates may not use."""
    return TemplateSourceError(f"the chat template uses {construct} at line {node.lineno}, which is not supported")


def _check_constructs(tree: nodes.Template) -> None:
    for kind, construct in _REFUSED.items():
        for node in find_all(tree, kind):
            raise refuse(f"`{construct}`", node)
    for call in find_all(tree, nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in _REFUSED_METHODS:
            raise refuse(f"`{call.node.attr}`", call)


# ==================
# Statements
# ==================


def find_in(body: Iterable[nodes.Node], kinds: Any) -> Iterator[Any]:
    """Yield all nodes of some kinds in statements or expressions."""
    for node in body:
        if isinstance(node, kinds):
            yield node
        yield from find_all(node, kinds)


def names_in_target(target: nodes.Node) -> Iterator[str]:
    """Yield the names that an assignment binds."""
    if isinstance(target, nodes.Name):
        yield target.name
    elif isinstance(target, nodes.Tuple):
        for part in target.items:
            yield from names_in_target(part)


def own_statements(body: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield the statements of a scope: also those in branches of an `if`, which open no scope of variables."""
    for node in body:
        yield node
        if isinstance(node, nodes.If):
            for branch in (node, *node.elif_):
                yield from own_statements(branch.body)
            yield from own_statements(node.else_)


def jumps_out(body: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield the `break` and `continue` statements that leave a block: those of its own loops stay in it."""
    for node in body:
        if isinstance(node, nodes.Break | nodes.Continue):
            yield node
        else:
            yield from jumps_out(node.else_ if isinstance(node, nodes.For) else children(node))


def stored_names(body: Iterable[nodes.Node]) -> dict[str, int]:
    """Return the names that statements bind in their own scope, in order, and how often they do."""
    names: dict[str, int] = {}
    for node in own_statements(body):
        bound: Iterable[str] = ()
        if isinstance(node, nodes.Assign | nodes.AssignBlock):
            bound = names_in_target(node.target)
        elif isinstance(node, nodes.Macro):
            bound = (node.name,)
        for name in bound:
            names[name] = names.get(name, 0) + 1
    return names


def names_read_first(body: Iterable[nodes.Node], bound: Iterable[str] = ()) -> set[str]:
    """Return the names that statements may read before they set them. Those that are `bound` have a value already."""
    read: set[str] = set()
    _scan_reads(body, set(bound), read)
    return read


def _scan_reads(body: Iterable[nodes.Node], known: set[str], read: set[str]) -> set[str]:
    """Add the names that statements may read before they are known. Return the names that are known at their end."""
    for node in body:
        if isinstance(node, nodes.If):
            branches = (node, *node.elif_)
            read |= _names_in(branch.test for branch in branches) - known
            parts = (*(branch.body for branch in branches), node.else_)
            known = set.intersection(*(_scan_reads(part, set(known), read) for part in parts))
            continue
        read |= _names_read_by(node) - known
        if isinstance(node, nodes.Assign | nodes.AssignBlock):
            known.update(names_in_target(node.target))
        elif isinstance(node, nodes.Macro):
            known.add(node.name)
    return known


def _names_read_by(node: nodes.Node) -> set[str]:
    """Return the names that a statement other than `if` may read. Those that it sets in a scope of its own are not."""
    if isinstance(node, nodes.Assign | nodes.AssignBlock):
        value = [node.node] if isinstance(node, nodes.Assign) else [*node.body, *filter(None, [node.filter])]
        return _names_in(value) | {target.name for target in find_in([node.target], nodes.NSRef)}
    if isinstance(node, nodes.For):
        bound = set(names_in_target(node.target))
        test = set() if node.test is None else _names_in([node.test]) - bound
        return _names_in([node.iter]) | test | names_read_first(node.body, bound) | names_read_first(node.else_)
    if isinstance(node, nodes.Macro):
        bound = {argument.name for argument in node.args}
        return (_names_in(node.defaults) - bound) | names_read_first(node.body, bound)
    return _names_in([node])


def _names_in(body: Iterable[nodes.Node]) -> set[str]:
    """Return all names in statements or expressions."""
    return {node.name for node in find_in(body, (nodes.Name, nodes.NSRef, nodes.Macro))}


def loop_uses(body: Iterable[nodes.Node]) -> set[str]:
    """Return the attributes of `loop` that a loop body uses; `""` stands for any other use."""
    uses: set[str] = set()
    for node in body:
        if isinstance(node, nodes.For):
            uses |= loop_uses([node.iter, *node.else_, *([node.test] if node.test is not None else [])])
        elif isinstance(node, nodes.Getattr) and _is_loop(node.node):
            uses.add(node.attr)
        elif isinstance(node, nodes.Name):
            if _is_loop(node):
                uses.add("")
        else:
            uses |= loop_uses(children(node))
    return uses


def _is_loop(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "loop" and node.ctx == "load"


def steps_of(body: Iterable[nodes.Node]) -> int:
    """Return the steps that one execution of statements counts as, without those of inner loops.

    Calls, filters and output expressions count, of an `if` only the longest branch, and every `_NODES_PER_STEP` nodes.
    """
    steps = 0
    for node in body:
        if isinstance(node, nodes.If):
            branches = [node.body, *(branch.body for branch in node.elif_), node.else_]
            steps += max(map(steps_of, branches))
            steps += sum(_expression_steps(branch.test) for branch in (node, *node.elif_))
        elif isinstance(node, nodes.For):
            steps += _expression_steps(node.iter)
        elif not isinstance(node, nodes.Macro):
            steps += _expression_steps(node)
    return steps


def _expression_steps(node: nodes.Node) -> int:
    calls = sum(1 for _ in find_in([node], (nodes.Call, nodes.Filter)))
    if isinstance(node, nodes.Output):
        calls += sum(not isinstance(part, nodes.TemplateData) for part in node.nodes)
    return calls


def iteration_steps(body: list[nodes.Node]) -> int:
    """Return the steps of one iteration of a loop."""
    return 1 + steps_of(body) + sum(1 for _ in find_in(body, nodes.Node)) // _NODES_PER_STEP


# ==================
# The generation prompt
# ==================


def branches_of(node: nodes.If) -> Iterator[tuple[nodes.Node | None, list[nodes.Node], bool]]:
    """Yield the test and the body of each branch of an `if`, and True if it is only for the generation prompt."""
    only_prompt = False
    for branch in (node, *node.elif_):
        condition = prompt_condition(branch.test)
        yield branch.test, branch.body, only_prompt or condition is True
        only_prompt = only_prompt or condition is False
    if node.else_:
        yield None, node.else_, only_prompt


def prompt_condition(test: nodes.Node) -> bool | None:
    """Return True if a test can only hold with a generation prompt, False if it can only fail with one, else None."""
    if isinstance(test, nodes.Name):
        return True if test.name == PROMPT_FLAG else None
    if isinstance(test, nodes.Not):
        inner = prompt_condition(test.node)
        return None if inner is None else not inner
    if isinstance(test, nodes.And):
        sides = prompt_condition(test.left), prompt_condition(test.right)
        return True if True in sides else None
    if isinstance(test, nodes.Or):
        sides = prompt_condition(test.left), prompt_condition(test.right)
        return False if False in sides else True if sides == (True, True) else None
    return None


def mentions_prompt(body: Iterable[nodes.Node]) -> bool:
    """Return True if statements read the flag for the generation prompt."""
    return any(name.name == PROMPT_FLAG for name in find_in(body, nodes.Name))
