"""Compile the syntax tree of a chat template to one Python function.

The function appends pieces of text to a list. Constants are plain strings, values are texts with owners, and scopes
mark where the text of an iteration or a branch begins. Generated code calls the functions of `operators`, `methods`,
`filters`, `predicates` and `scopes`, and never looks up an attribute of a value by a name from the template.
"""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

import contextlib
import keyword
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import jinja2
from jinja2 import Undefined, nodes
from jinja2.exceptions import SecurityError

from renderers.templating import filters, methods, operators, predicates, scopes, values
from renderers.templating.kinds import MARKUP_FILTERS, NUMBERS, SCALARS, Kind, KindInference, Loop, Names, Variable
from renderers.templating.limits import Budget
from renderers.templating.syntax import (
    REFUSED_NAMES,
    as_source_error,
    branches_of,
    find_in,
    is_set_first,
    iteration_steps,
    loop_uses,
    mentions_prompt,
    names_in_target,
    own_statements,
    prompt_condition,
    refuse,
    stored_names,
)
from renderers.templating.values import message_index

FILE_NAME = "<chat template>"
_GLOBAL_CODES = {name: function.__name__ for name, function in operators.GLOBAL_FUNCTIONS.items()}
_STATIC_LOOP = frozenset("index index0 first last length revindex revindex0 previtem nextitem".split())
_LOOKAHEAD = frozenset("last length revindex revindex0 previtem nextitem".split())
_COUNTED = frozenset("last length revindex revindex0 nextitem".split())
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in"}
_INLINE_TESTS = {
    "defined": "({}.__class__ is not Undefined)",
    "undefined": "({}.__class__ is Undefined)",
    "none": "({} is None)",
    "true": "({} is True)",
    "false": "({} is False)",
    "string": "isinstance({}, str)",
    "mapping": "isinstance({}, dict)",
}
_FORMATS: dict[type[nodes.Node], str] = {
    nodes.And: "({} and {})",
    nodes.Or: "({} or {})",
    nodes.Not: "(not {})",
    nodes.Neg: "(-{})",
    nodes.Pos: "(+{})",
    nodes.Sub: "({} - {})",
    nodes.Div: "({} / {})",
    nodes.FloorDiv: "({} // {})",
    nodes.Mul: "multiply(b, {}, {})",
    nodes.Pow: "power(b, {}, {})",
    nodes.Mod: "modulo(b, {}, {})",
}
"""The code of operators, from the code of their operands."""
_ITEM_FILTERS = frozenset("first last default d random".split())
_RUNTIME: dict[str, Any] = {
    **{
        name: value
        for module in (values, scopes, operators, methods, predicates)
        for name, value in vars(module).items()
        if not name.startswith("_")
    },
    **{f"f_{name}": function for name, function in filters.FILTERS.items()},
    **{f"is_{name}": predicates.PREDICATES[name] for name in predicates.BARE},
    "apply_filter": filters.apply_filter,
    "Undefined": Undefined,
    "T": values.FieldText,
    "D": values.DataDict,
}


class LoopPlace(NamedTuple):
    """The lines of a loop in the generated code, and the variables that can hold its message."""

    first: int
    last: int
    variables: tuple[str, ...]


class CompiledTemplate(NamedTuple):
    """The function of a template, and the places of its loops, inner loops first."""

    run: Callable[[dict[str, Any], list[str], scopes.Scope, Budget], None]
    loops: tuple[LoopPlace, ...]

    def message_at(self, trace: TracebackType | None) -> int | None:
        """Return the index of the message that was being rendered when an error was raised; None if unknown."""
        frames = []
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == FILE_NAME:
                frames.append((trace.tb_lineno, trace.tb_frame.f_locals))
            trace = trace.tb_next
        for line, variables in reversed(frames):
            for loop in self.loops:
                if loop.first <= line <= loop.last:
                    for name in loop.variables:
                        index = message_index(variables.get(name))
                        if index is not None:
                            return index
        return None


def compile_template(tree: nodes.Template) -> CompiledTemplate:
    """Compile a syntax tree.

    Raises:
        TemplateSourceError: The template uses a construct that is not supported.
        TemplateLimitError: The template is too deeply nested.
    """
    with as_source_error():
        compiler = _Compiler(tree)
        source = compiler.source()
        namespace = {**_RUNTIME, **compiler.constants}
        exec(compile(source, FILE_NAME, "exec"), namespace)
        return CompiledTemplate(namespace["run"], compiler.loop_places())


class _Compiler:
    def __init__(self, tree: nodes.Template) -> None:
        self._tree = tree
        self._lines: list[str] = []
        self._depth = 1
        self._count = 0
        self.constants: dict[str, Any] = {}
        self._constant_names: dict[Any, str] = {}
        self._free: dict[str, str] = {}
        """Variables that the template reads but does not bind: its arguments."""
        self._places: list[LoopPlace] = []
        self._head = 0
        self._markup = any(node.name in MARKUP_FILTERS for node in tree.find_all(nodes.Filter)) or any(
            isinstance(node.value, str) and node.value in MARKUP_FILTERS for node in tree.find_all(nodes.Const)
        )
        self._kinds = KindInference(markup=self._markup)
        self._names = Names(None, {}, (), ())
        self._output = "out"
        self._frames = 0
        """The number of enclosing loops and macros. Branches inside them belong to the iteration and open no scope."""
        self._branches = 0
        """The number of enclosing branches with a scope."""
        self._is_quiet = False
        """True inside of a loop that emits no text."""
        self._is_soft = False
        """True inside of a branch, where an unknown filter is an error only if it is reached."""
        self._has_prompt = False
        """True inside of a loop or macro that reads the flag for the generation prompt."""
        self._message_loop = False
        """True if the innermost loop is over messages."""
        self._in_message_loop = False
        """True if a loop around is over messages."""

    # ==================
    # Code
    # ==================

    def source(self) -> str:
        """Return the source of the generated function."""
        body = self._tree.body
        self._names = self._new_names(body)
        self._begin(self._names, body, ())
        self._block(body, soft=False)
        head = [f"    {python} = args.get({name!r}, {self._undefined(name)})" for name, python in self._free.items()]
        self._head = 1 + len(head)
        return "\n".join(["def run(args, out, cur, b):", *head, *self._lines, ""])

    def loop_places(self) -> tuple[LoopPlace, ...]:
        """Return the places of all loops, inner loops first."""
        return tuple(
            LoopPlace(place.first + self._head, place.last + self._head, place.variables) for place in self._places
        )

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextlib.contextmanager
    def _indented(self, header: str) -> Iterator[None]:
        self._line(header)
        self._depth += 1
        yield
        self._depth -= 1

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _constant(self, value: Any, key: Any) -> str:
        if key not in self._constant_names:
            name = f"K{len(self._constant_names)}"
            self._constant_names[key] = name
            self.constants[name] = value
        return self._constant_names[key]

    def _undefined(self, name: str) -> str:
        value = Undefined(name=name)
        if name.startswith("_"):
            value = Undefined(f"access to attribute {name!r} is unsafe", name=name, exc=SecurityError)
        return self._constant(value, ("undefined", name))

    def _new_names(self, body: Sequence[nodes.Node], bound: Sequence[str] = ()) -> Names:
        number = self._fresh("l")
        names = dict.fromkeys((*bound, *stored_names(body)))
        return Names(self._names, {name: Variable(f"{number}_{name}") for name in names}, body, bound)

    def _begin(self, names: Names, body: list[nodes.Node], bound: Sequence[str]) -> None:
        """Give the variables that statements bind the values that they have outside."""
        assigned = {name for name in names.variables if name not in bound and is_set_first(name, body)}
        for name, variable in names.variables.items():
            if name in bound or name in assigned:
                continue
            outer = names.parent.find(name) if names.parent is not None else None
            self._line(f"{variable.python} = {outer.python if outer is not None else self._argument(name)}")
        self._kinds.infer_variables(names, body, assigned)

    def _argument(self, name: str) -> str:
        return self._free.setdefault(name, f"g_{name}")

    @contextlib.contextmanager
    def _within(self, names: Names) -> Iterator[None]:
        outer, self._names = self._names, names
        yield
        self._names = outer

    @contextlib.contextmanager
    def _state(self, **changes: Any) -> Iterator[None]:
        """Change the state of the compiler for a while."""
        before = {name: getattr(self, name) for name in changes}
        for name, value in changes.items():
            setattr(self, name, value)
        yield
        for name, value in before.items():
            setattr(self, name, value)

    # ==================
    # Statements
    # ==================

    def _block(self, body: Sequence[nodes.Node], *, soft: bool) -> None:
        before = len(self._lines)
        with self._state(_is_soft=soft):
            for node in body:
                self._visit("_write", node)
        if len(self._lines) == before:
            self._line("pass")

    def _write_Output(self, node: nodes.Output) -> None:
        pieces: list[str] = []
        for child in node.nodes:
            if isinstance(child, nodes.CondExpr):
                self._emit(pieces)
                self._write_choice(child)
            elif isinstance(child, nodes.Call) and self._macro_of(child) is not None:
                self._emit(pieces)
                self._line(f"{self._macro_of(child)}({self._arguments(child, 'p_', self._output)})")
            elif self._markup and isinstance(child, nodes.Add) and self._is_sum_of_texts(child):
                self._emit(pieces)
                self._line(f"emit_sum(b, {self._output}, {', '.join(self._summands(child))})")
            else:
                pieces += self._pieces(child)
        self._emit(pieces)

    def _emit(self, pieces: list[str]) -> None:
        """Append pieces to the output. Adjacent constants become one."""
        merged: list[str] = []
        for piece in pieces:
            if merged and piece[0] in "'\"" and merged[-1][0] in "'\"":
                # Python joins adjacent literals.
                merged[-1] += f" {piece}"
            else:
                merged.append(piece)
        if len(merged) == 1:
            self._line(f"{self._output}.append({merged[0]})")
        elif merged:
            self._line(f"{self._output} += ({', '.join(merged)})")
        pieces.clear()

    def _write_choice(self, node: nodes.CondExpr) -> None:
        """Write `{{ a if b else c }}` as an `if` statement."""
        condition = prompt_condition(node.test) if node.expr2 is not None else None
        for header, part, is_prompt in (
            (f"if {self._code(node.test)}:", node.expr1, condition is True),
            ("else:", node.expr2, condition is False),
        ):
            if part is None:
                continue
            with self._indented(header), self._state(_is_soft=True):
                before = len(self._lines)
                if not is_prompt:
                    self._write_Output(nodes.Output([part]))
                else:
                    self._line(f"{self._output}.append(fill_gaps(to_text(b, {self._code(part)}), NO_MESSAGE))")
                if len(self._lines) == before:
                    self._line("pass")

    def _pieces(self, node: nodes.Node) -> list[str]:
        """Return the code of the pieces that `{{ node }}` emits."""
        if isinstance(node, nodes.TemplateData):
            return [repr(node.data)] if node.data else []
        if isinstance(node, nodes.Const):
            text = str(node.value)
            return [repr(text)] if text else []
        if isinstance(node, nodes.Concat):
            return [piece for part in node.nodes for piece in self._pieces(part)]
        if isinstance(node, nodes.Filter) and node.name in {"safe", "string"} and node.node is not None:
            return self._pieces(node.node)
        if isinstance(node, nodes.Add) and self._is_sum_of_texts(node) and not self._markup:
            return self._summands(node)
        code = self._code(node)
        if self._kinds.of(node, self._names) is Kind.TEXT:
            return [code]
        if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem | nodes.Filter):
            first, again = self._twice(code)
            return [f"({again} if {first}.__class__ is T else to_text(b, {again}))"]
        return [f"to_text(b, {code})"]

    def _is_sum_of_texts(self, node: nodes.Node) -> bool:
        """Return True if an expression is a chain of `+` that must be a text, because one operand is."""
        if not isinstance(node, nodes.Add):
            return self._kinds.of(node, self._names) is Kind.TEXT
        return self._is_sum_of_texts(node.left) or self._is_sum_of_texts(node.right)

    def _summands(self, node: nodes.Node) -> list[str]:
        """Return the code of the operands of a chain of `+` on texts."""
        if isinstance(node, nodes.Add) and self._is_sum_of_texts(node):
            return self._summands(node.left) + self._summands(node.right)
        code = self._code(node)
        if self._kinds.of(node, self._names) is Kind.TEXT:
            return [code] if code != "''" else []
        first, again = self._twice(code)
        return [f"({again} if {first}.__class__ is T else need_text({again}))"]

    def _twice(self, code: str) -> tuple[str, str]:
        """Return code that is evaluated first, and code for the same value after that."""
        if code.isidentifier():
            return code, code
        temporary = self._fresh("t")
        return f"({temporary} := {code})", temporary

    def _write_If(self, node: nodes.If) -> None:
        branches = list(branches_of(node))
        scoped = not self._is_quiet and (not self._frames or any(is_prompt for _, _, is_prompt in branches))
        outer = self._fresh("o")
        if scoped:
            self._line(f"{outer} = cur")
        for index, (test, body, is_prompt) in enumerate(branches):
            header = "else:" if test is None else f"{'elif' if index else 'if'} {self._code(test)}:"
            with self._indented(header), self._state(_branches=self._branches + scoped):
                if scoped and (is_prompt or self._emits(body)):
                    self._line(f"cur = enter_branch({outer}, {self._output}, {is_prompt})")
                self._block(body, soft=True)
        if scoped:
            self._line(f"if cur is not {outer}: cur = {outer}; {self._output}.append(cur)")

    def _emits(self, body: list[nodes.Node]) -> bool:
        """Return True if statements emit or assign a text."""
        kinds = (nodes.Output, nodes.AssignBlock, nodes.For, nodes.CallBlock, nodes.FilterBlock)
        if next(find_in(body, kinds), None) is not None:
            return True
        return any(self._may_be_text(node.node) for node in find_in(body, nodes.Assign))

    def _is_quiet_loop(self, body: list[nodes.Node]) -> bool:
        """Return True if a loop body emits nothing, and assigns no text to a variable that outlives an iteration."""
        for node in find_in(body, (nodes.Output, nodes.Call, nodes.Assign, nodes.Macro, nodes.FilterBlock)):
            if isinstance(node, nodes.Output):
                quiet = all(_is_silent(part) for part in node.nodes)
            elif isinstance(node, nodes.Call):
                quiet = not isinstance(node.node, nodes.Name) or self._names.find(node.node.name) is None
            elif isinstance(node, nodes.Assign):
                quiet = not isinstance(node.target, nodes.NSRef) or not self._may_be_text(node.node)
            else:
                quiet = False
            if not quiet:
                return False
        return next(find_in(body, (nodes.AssignBlock, nodes.CallBlock)), None) is None

    def _write_For(self, node: nodes.For) -> None:
        if "loop" in names_in_target(node.target):
            raise jinja2.TemplateAssertionError("Can't assign to special loop variable in for-loop target", node.lineno)
        items = self._loop_items(node)
        if not node.recursive:
            self._write_loop(node, items, "0", None)
            return
        function = self._fresh("R")
        with self._indented(f"def {function}(out, items, depth):"), self._state(_output="out", _is_quiet=True):
            self._line("nonlocal cur")
            self._write_loop(node, "iterate(b, items)", "depth", function)
        self._line(f"{function}({self._output}, {items}, 0)")

    def _loop_items(self, node: nodes.For) -> str:
        """Return the code of the items of a loop."""
        if _is_items_call(node.iter):
            return f"loop_pairs(b, {self._code(node.iter.node.node)})"  # type: ignore[attr-defined]
        code = self._code(node.iter)
        return code if self._kinds.of(node.iter, self._names) is Kind.MESSAGES else f"iterate(b, {code})"

    def _write_loop(self, node: nodes.For, items_code: str, depth: str, recurse: str | None) -> None:
        number = self._fresh("")
        uses = loop_uses(node.body) | ({""} if recurse else set())
        needs_value = bool(uses - _STATIC_LOOP)
        is_lazy = node.test is not None and not needs_value and not uses & _LOOKAHEAD
        loop = Loop(f"q{number}", f"i{number}", f"n{number}", f"v{number}" if needs_value else None)
        bound = list(names_in_target(node.target))
        names = self._new_names(node.body, bound)
        is_inferable = isinstance(node.target, nodes.Name) and not node.recursive
        item_kind = self._kinds.of_items(node.iter, self._names) if is_inferable else None
        if isinstance(node.target, nodes.Name) and node.target.name not in stored_names(node.body):
            names.variables[node.target.name].kind = item_kind
        is_message = item_kind is Kind.MESSAGE
        outer_loop, names.loop = names.loop, loop
        with self._within(names):
            quiet = self._is_quiet or self._is_quiet_loop(node.body)
        item = names.variables[node.target.name].python if isinstance(node.target, nodes.Name) else f"e{number}"
        outer = f"o{number}"
        self._line(f"{loop.items} = {items_code}")
        if node.test is not None and not is_lazy:
            self._write_selection(node, names, loop, item)
        if uses & _COUNTED:
            self._line(f"{loop.count} = len({loop.items})")
        if loop.value:
            self._line(f"{loop.value} = LoopValue({loop.items}, {depth}, {recurse})")
        if not quiet:
            self._line(f"{outer} = cur")
        counts = bool(uses) and not is_lazy
        if uses and is_lazy:
            self._line(f"{loop.index} = -1")
        if node.else_:
            self._line(f"z{number} = True")
        first_line = len(self._lines) + 1
        metered = f"metered(b, {loop.items}, {iteration_steps(node.body)})"
        header = f"for {loop.index}, {item} in enumerate({metered}):" if counts else f"for {item} in {metered}:"
        with self._indented(header), self._within(names):
            self._unpack(node.target, item)
            if is_lazy:
                names.loop = outer_loop
                self._line(f"if not {self._code(node.test)}: continue")
                if uses:
                    self._line(f"{loop.index} += 1")
            names.loop = loop
            if loop.value:
                self._line(f"{loop.value}.index0 = {loop.index}")
            self._begin(names, node.body, bound)
            if names.variables[bound[0]].kind is Kind.MESSAGE:
                self._read_fields(names.variables[bound[0]], bound[0], node.body)
            if not quiet and is_message:
                self._line(f"cur = enter_message({outer}, {item}, {self._output})")
            elif not quiet:
                self._write_entry(node, item, outer)
            with self._state(
                _frames=self._frames + 1,
                _is_quiet=quiet,
                _message_loop=is_message,
                _in_message_loop=self._in_message_loop or is_message,
                _has_prompt=self._has_prompt or mentions_prompt(node.body),
            ):
                self._block(node.body, soft=False)
            if node.else_:
                # As in Jinja, an iteration that `continue` ends does not count.
                self._line(f"z{number} = False")
        assigned = tuple(
            names.variables[name].python
            for name in (*bound, *stored_names(node.body))
            if names.variables[name].python != item
        )
        self._places.append(LoopPlace(first_line, len(self._lines), (item, *assigned)))
        if not quiet:
            self._line(f"if cur is not {outer}: cur = {outer}; {self._output}.append(cur)")
        if node.else_:
            with self._indented(f"if z{number}:"), self._state(_frames=self._frames + 1):
                self._write_scope(node.else_)

    def _write_entry(self, node: nodes.For, item: str, outer: str) -> None:
        """Write the code that enters the scope of an iteration over anything but messages."""
        assigns = any(
            isinstance(statement, nodes.Assign) and self._may_be_message(statement.node)
            for statement in own_statements(node.body)
        )
        enter = f"cur = enter_iteration({outer}, {item}, {self._output}, cur, {assigns})"
        if not self._in_message_loop or assigns:
            self._line(enter)
        elif not isinstance(node.target, nodes.Tuple):
            # Only another message can open a scope within the iteration of a message.
            self._line(f"if {item}.__class__ is D or cur is not {outer}: {enter}")
        elif mentions_prompt(node.body):
            # `continue` may leave a branch for the generation prompt.
            self._line(f"if cur is not {outer}: {enter}")

    def _write_selection(self, node: nodes.For, names: Names, loop: Loop, item: str) -> None:
        """Write a loop that selects the items of `{% for ... if ... %}` beforehand."""
        chosen = self._fresh("c")
        self._line(f"{chosen} = []")
        names.loop = self._names.loop
        with self._indented(f"for {item} in metered(b, {loop.items}, 1):"), self._within(names):
            self._unpack(node.target, item)
            self._line(f"if {self._code(node.test)}: {chosen}.append({item})")
        self._line(f"{loop.items} = {chosen}")

    def _read_fields(self, variable: Variable, name: str, body: list[nodes.Node]) -> None:
        """Read the fields of a message that the body of its loop reads repeatedly."""
        counts: dict[str, int] = {}
        for node in find_in(body, (nodes.Getattr, nodes.Getitem)):
            field = _field_of(node)
            if field is not None and isinstance(node.node, nodes.Name) and node.node.name == name:
                counts[field] = counts.get(field, 0) + 1
        for field, count in counts.items():
            if count > 1 and field not in operators.DICT_METHODS:
                python = self._fresh("m")
                self._line(f"{python} = {variable.python}.get({field!r}, {self._undefined(field)})")
                variable.fields[field] = python

    def _unpack(self, target: nodes.Node, code: str) -> None:
        """Bind the names of a tuple target to the items of a value."""
        if isinstance(target, nodes.Tuple):
            self._assign(target, f"{code} if {code}.__class__ is tuple else iterate(b, {code})")

    def _assign(self, target: nodes.Node, code: str) -> None:
        if isinstance(target, nodes.Tuple):
            parts = [self._fresh("e") for _ in target.items]
            self._line(f"({', '.join(parts)},) = {code}" if parts else f"() = {code}")
            for part, name in zip(target.items, parts, strict=True):
                nested = isinstance(part, nodes.Tuple)
                self._assign(part, f"{name} if {name}.__class__ is tuple else iterate(b, {name})" if nested else name)
        elif isinstance(target, nodes.NSRef):
            variable = self._names.find(target.name)
            reference = variable.python if variable is not None else self._argument(target.name)
            if variable is not None and variable.kind is Kind.NAMESPACE and not target.attr.startswith("_"):
                self._line(f"{reference}.values[{target.attr!r}] = {code}")
            else:
                self._line(f"set_attribute({reference}, {target.attr!r}, {code})")
        elif isinstance(target, nodes.Name):
            self._line(f"{self._names.variables[target.name].python} = {code}")
        else:
            raise refuse("an assignment to an expression", target)

    def _write_Assign(self, node: nodes.Assign) -> None:
        code = self._code(node.node)
        if isinstance(node.target, nodes.Tuple):
            temporary = self._fresh("t")
            self._line(f"{temporary} = {code}")
            self._unpack(node.target, temporary)
            return
        if self._needs_claim(node):
            code = f"claim(cur, {code})"
        self._assign(node.target, code)

    def _needs_claim(self, node: nodes.Assign) -> bool:
        """Return True if the current scope must be given the template text, or the message, of an assigned value."""
        if self._is_quiet and not isinstance(node.target, nodes.NSRef):
            return False
        if not self._frames and not self._branches:
            return False
        outlives = isinstance(node.target, nodes.NSRef) or not self._frames or self._has_prompt or self._branches > 0
        if outlives and self._may_be_text(node.node):
            return True
        return not self._message_loop and self._may_be_message(node.node)

    def _may_be_text(self, node: nodes.Node) -> bool:
        kind = self._kinds.of(node, self._names)
        if isinstance(node, nodes.Const):
            return kind is Kind.TEXT and bool(node.value)
        return kind in (None, Kind.TEXT)

    def _may_be_message(self, node: nodes.Node) -> bool:
        if isinstance(node, nodes.CondExpr):
            return self._may_be_message(node.expr1) or (node.expr2 is not None and self._may_be_message(node.expr2))
        if isinstance(node, nodes.And | nodes.Or):
            return self._may_be_message(node.left) or self._may_be_message(node.right)
        if isinstance(node, nodes.Filter):
            return node.name in _ITEM_FILTERS
        if isinstance(node, nodes.Getattr):
            # A field of data is no message.
            is_namespace = self._kinds.of(node.node, self._names) is Kind.NAMESPACE
            return is_namespace or node.attr in {"previtem", "nextitem"}
        if isinstance(node, nodes.Getitem):
            return not isinstance(node.arg, nodes.Slice) and _field_of(node) is None
        return isinstance(node, nodes.Name) and self._kinds.of(node, self._names) in (None, Kind.MESSAGE)

    @contextlib.contextmanager
    def _buffered(self) -> Iterator[str]:
        """Write statements to a list of their own. Yields the code of their text."""
        buffer = self._fresh("w")
        self._line(f"{buffer} = []; s{buffer} = cur")
        with self._state(_output=buffer):
            yield f"collect_output(b, {buffer}, s{buffer})"

    def _write_scope(self, body: list[nodes.Node]) -> None:
        """Write statements with a scope of variables of their own."""
        names = self._new_names(body)
        with self._within(names):
            self._begin(names, body, ())
            self._block(body, soft=False)

    def _write_AssignBlock(self, node: nodes.AssignBlock) -> None:
        with self._buffered() as code:
            self._write_scope(node.body)
        self._assign(node.target, code if node.filter is None else self._filter_chain(node.filter, code))

    def _write_FilterBlock(self, node: nodes.FilterBlock) -> None:
        with self._buffered() as code:
            self._write_scope(node.body)
        text = self._filter_chain(node.filter, code)
        self._line(f"{self._output}.append(to_text(b, need_text({text})))")

    def _filter_chain(self, node: nodes.Filter, code: str) -> str:
        inner = code if node.node is None else self._filter_chain(node.node, code)  # type: ignore[arg-type]
        return self._filtered(node, inner)

    def _write_CallBlock(self, node: nodes.CallBlock) -> None:
        if isinstance(node.call.node, nodes.ExtensionAttribute):
            # The tag `{% generation %}`, which is a function in Jinja.
            for statement in own_statements(node.body):
                if isinstance(statement, nodes.Break | nodes.Continue):
                    raise refuse("`break` or `continue` in `generation`", statement)
            self._write_scope(node.body)
            return
        function = self._fresh("F")
        self._write_function(node, function)
        caller = f"p_caller=MacroValue({function}, 'caller')"
        macro = self._macro_of(node.call)
        if macro is not None:
            self._line(f"{macro}({self._arguments(node.call, 'p_', self._output, last=caller)})")
            return
        called = self._code(node.call.node)
        arguments = self._arguments(node.call, "", "b", "cur", called, last=caller.removeprefix("p_"))
        self._line(f"{self._output}.append(to_text(b, need_text(call_value({arguments}))))")

    def _write_With(self, node: nodes.With) -> None:
        bound = [name for target in node.targets for name in names_in_target(target)]
        names = self._new_names(node.body, bound)
        for target, value in zip(node.targets, node.values, strict=True):
            code = self._code(value)
            with self._within(names):
                if isinstance(target, nodes.Tuple):
                    temporary = self._fresh("t")
                    self._line(f"{temporary} = {code}")
                    self._unpack(target, temporary)
                else:
                    self._assign(target, code)
        with self._within(names):
            self._begin(names, node.body, bound)
            self._block(node.body, soft=False)

    def _write_Macro(self, node: nodes.Macro) -> None:
        variable = self._names.variables[node.name]
        function = self._fresh("F")
        if self._names.count_bindings(node.name) == 1:
            variable.macro = function
        self._write_function(node, function)
        self._line(f"{variable.python} = MacroValue({function}, {node.name!r})")

    def _write_function(self, node: nodes.Macro | nodes.CallBlock, function: str) -> None:
        """Write the function of a macro."""
        parameters = [argument.name for argument in node.args]
        uses = _macro_uses(node)
        names = self._new_names(node.body, (*parameters, *uses))
        for parameter in (*parameters, *uses):
            names.variables[parameter].python = f"p_{parameter}"
        required = len(parameters) - len(node.defaults)
        signature = [
            f"p_{parameter}={self._undefined(parameter) if index < required else 'MISSING'}"
            for index, parameter in enumerate(parameters)
        ]
        if "varargs" in uses:
            signature.append("*p_varargs")
        if "caller" in uses:
            signature += [*([] if "varargs" in uses else ["*"]), f"p_caller={self._undefined('caller')}"]
        if "kwargs" in uses:
            signature.append("**p_kwargs")
        with self._indented(f"def {function}({', '.join(['out', *signature])}):"):
            self._line("nonlocal cur")
            self._line("b.tick()")
            if "varargs" in uses:
                self._line("weighed(b, p_varargs)")
            if "kwargs" in uses:
                self._line("p_kwargs = weighed(b, {name[2:]: value for name, value in p_kwargs.items()})")
            changes = {
                "_output": "out",
                "_frames": self._frames + 1,
                "_is_quiet": False,
                "_message_loop": False,
                "_in_message_loop": False,
                "_has_prompt": mentions_prompt(node.body),
            }
            with self._within(names), self._state(**changes):
                for parameter, default in zip(parameters[required:], node.defaults, strict=True):
                    self._line(f"if p_{parameter} is MISSING: p_{parameter} = {self._code(default)}")
                self._begin(names, node.body, (*parameters, *uses))
                self._block(node.body, soft=False)

    def _write_Break(self, _: nodes.Node) -> None:
        self._line("break")

    def _write_Continue(self, _: nodes.Node) -> None:
        self._line("continue")

    # ==================
    # Expressions
    # ==================

    def _code(self, node: Any) -> str:
        """Return the code of an expression."""
        if type(node) in _FORMATS:
            return _FORMATS[type(node)].format(*map(self._code, node.iter_child_nodes()))
        code: str = self._visit("_code", node)
        return code

    def _visit(self, prefix: str, node: nodes.Node) -> Any:
        visit = getattr(self, f"{prefix}_{type(node).__name__}", None)
        if visit is None:
            raise refuse(f"`{type(node).__name__}`", node)
        return visit(node)

    def _code_Name(self, node: nodes.Name) -> str:
        variable = self._names.find(node.name)
        if variable is not None:
            return variable.python
        if node.name == "loop" and self._names.loop is not None and self._names.loop.value is not None:
            return self._names.loop.value
        if node.name in REFUSED_NAMES:
            raise refuse(f"`{node.name}`", node)
        return self._argument(node.name)

    def _code_Const(self, node: nodes.Const) -> str:
        if isinstance(node.value, float):
            return self._constant(node.value, ("float", repr(node.value)))
        return repr(node.value)

    def _code_List(self, node: nodes.List) -> str:
        return self._weighed(f"[{', '.join(map(self._code, node.items))}]", node.items)

    def _code_Tuple(self, node: nodes.Tuple) -> str:
        return self._weighed("(" + "".join(f"{self._code(one)}, " for one in node.items) + ")", node.items)

    def _code_Dict(self, node: nodes.Dict) -> str:
        pairs = ", ".join(f"{self._code(pair.key)}: {self._code(pair.value)}" for pair in node.items)
        return self._weighed(f"{{{pairs}}}", [pair.value for pair in node.items])

    def _weighed(self, code: str, items: Sequence[nodes.Node]) -> str:
        scalars = {*SCALARS, Kind.TEXT, Kind.MESSAGE}
        if all(isinstance(one, nodes.Const) or self._kinds.of(one, self._names) in scalars for one in items):
            return code
        return f"weighed(b, {code})"

    def _code_Add(self, node: nodes.Add) -> str:
        if self._kinds.of(node, self._names) in NUMBERS:
            return f"({self._code(node.left)} + {self._code(node.right)})"
        if self._is_sum_of_texts(node):
            parts = ", ".join(self._summands(node))
            return f"{'add_texts' if self._markup else 'concatenate'}(b, {parts})" if parts else "''"
        return f"add(b, {self._code(node.left)}, {self._code(node.right)})"

    def _code_Concat(self, node: nodes.Concat) -> str:
        return f"concatenate(b, {', '.join(self._pieces(node))})"

    def _code_CondExpr(self, node: nodes.CondExpr) -> str:
        with self._state(_is_soft=True):
            first = self._code(node.expr1)
            if node.expr2 is None:
                second = self._undefined("the inline if-expression evaluated to false and no else section was defined")
            else:
                second = self._code(node.expr2)
                condition = prompt_condition(node.test)
                first = f"prompt_text({first})" if condition is True else first
                second = f"prompt_text({second})" if condition is False else second
            return f"({first} if {self._code(node.test)} else {second})"

    def _code_Compare(self, node: nodes.Compare) -> str:
        code = self._code(node.expr)
        left = node.expr
        for operand in node.ops:
            right = self._code(operand.expr)
            if not self._is_cheap(left, operand):
                right = f"measured(b, {right})"
            code += f" {_COMPARISONS[operand.op]} {right}"
            left = operand.expr
        return f"({code})"

    def _is_cheap(self, left: nodes.Node, operand: nodes.Operand) -> bool:
        """Return True if a comparison takes no longer than its constants or fields are."""
        right = operand.expr
        if self._kinds.of(right, self._names) in SCALARS or _is_constant(right):
            return True
        if operand.op in {"in", "notin"}:
            return self._is_field(right) or self._kinds.of(right, self._names) is Kind.MESSAGE
        return isinstance(left, nodes.Const) or self._kinds.of(left, self._names) in SCALARS or self._is_field(right)

    def _is_field(self, node: nodes.Node) -> bool:
        """Return True if an expression is a field of a message."""
        is_lookup = isinstance(node, nodes.Getattr | nodes.Getitem)
        return is_lookup and self._kinds.of(node.node, self._names) is Kind.MESSAGE  # type: ignore[attr-defined]

    def _code_Test(self, node: nodes.Test) -> str:
        value = self._code(node.node)
        if node.name not in predicates.PREDICATES and not self._is_soft:
            raise jinja2.TemplateAssertionError(f"No test named {node.name!r}.", node.lineno)
        if node.name in _INLINE_TESTS and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
            return _INLINE_TESTS[node.name].format(f"({value})" if isinstance(node.node, nodes.Const) else value)
        if node.name in predicates.BARE and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
            return f"is_{node.name}({value})"
        return f"test({self._arguments(node, '', 'b', repr(node.name), value)})"

    def _code_Filter(self, node: nodes.Filter) -> str:
        assert node.node is not None
        return self._filtered(node, self._code(node.node))

    def _filtered(self, node: nodes.Filter, value: str) -> str:
        if node.name not in filters.FILTERS:
            if not self._is_soft:
                raise jinja2.TemplateAssertionError(f"No filter named {node.name!r}.", node.lineno)
            return f"apply_filter(b, {node.name!r}, {value})"
        simple = len(node.args) == 1 and isinstance(node.args[0], nodes.Const | nodes.Name) and not node.kwargs
        if node.name in {"default", "d"} and simple:
            first, again = self._twice(value)
            return f"({self._code(node.args[0])} if {first}.__class__ is Undefined else {again})"
        if node.name in {"length", "count"} and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
            return f"len({value})"
        return f"f_{node.name}({self._arguments(node, '', 'b', value)})"

    def _code_Getattr(self, node: nodes.Getattr) -> str:
        loop = self._names.loop
        if loop is not None and self._is_loop_value(node.node) and node.attr in _STATIC_LOOP:
            return self._loop_attribute(loop, node.attr)
        return self._lookup(node, node.attr, "attribute")

    def _loop_attribute(self, loop: Loop, name: str) -> str:
        items, index, count = loop.items, loop.index, loop.count
        missing = self._undefined("there is no such item")
        codes = {
            "index": f"({index} + 1)",
            "index0": index,
            "first": f"({index} == 0)",
            "last": f"({index} == {count} - 1)",
            "length": count,
            "revindex": f"({count} - {index})",
            "revindex0": f"({count} - {index} - 1)",
            "previtem": f"({items}[{index} - 1] if {index} else {missing})",
            "nextitem": f"({items}[{index} + 1] if {index} + 1 < {count} else {missing})",
        }
        return codes[name]

    def _code_Getitem(self, node: nodes.Getitem) -> str:
        if isinstance(node.arg, nodes.Slice):
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            codes = ", ".join("None" if bound is None else self._code(bound) for bound in bounds)
            return f"slice_of(b, {self._code(node.node)}, {codes})"
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return self._lookup(node, node.arg.value, "item")
        value, missing = self._code(node.node), self._undefined("item")
        if self._kinds.of(node.node, self._names) is Kind.MESSAGES and value.isidentifier():
            index = node.arg.value if isinstance(node.arg, nodes.Const) else None
            if index.__class__ is int and index >= 0:
                return f"({value}[{index}] if len({value}) > {index} else {missing})"
        return f"item({value}, {self._code(node.arg)}, {missing})"

    def _lookup(self, node: nodes.Getattr | nodes.Getitem, name: str, function: str) -> str:
        value, missing = self._code(node.node), self._undefined(name)
        kind = self._kinds.of(node.node, self._names)
        if function == "attribute" and name in operators.DICT_METHODS:
            return f"attribute({value}, {name!r}, {missing})"
        if kind is Kind.MESSAGE:
            variable = self._names.find(node.node.name) if isinstance(node.node, nodes.Name) else None
            if variable is not None and name in variable.fields:
                return variable.fields[name]
            return f"{value}.get({name!r}, {missing})"
        if kind is Kind.NAMESPACE:
            return f"{value}.values.get({name!r}, {missing})"
        first, again = self._twice(value)
        base = self._names.find(node.node.name) if isinstance(node.node, nodes.Name) else None
        if base is not None and base.is_namespace:
            general = f"{function}({value}, {name!r}, {missing})"
            return f"({value}.values.get({name!r}, {missing}) if {value}.__class__ is NamespaceValue else {general})"
        if function == "item" and name in operators.DICT_METHODS:
            return f"item({value}, {name!r}, {missing})"
        general = f"{function}({again}, {name!r}, {missing})"
        return f"({again}.get({name!r}, {missing}) if {first}.__class__ is D else {general})"

    def _macro_of(self, node: nodes.Call) -> str | None:
        """Return the function of the macro that an expression calls; None if it may call anything else."""
        if not isinstance(node.node, nodes.Name):
            return None
        variable = self._names.find(node.node.name)
        return None if variable is None else variable.macro

    def _arguments(self, node: Any, prefix: str, *first: str, last: str = "") -> str:
        """Return the code of the arguments of a call, a filter or a test. Keywords get a prefix."""
        codes = [*first, *map(self._code, node.args)]
        if node.dyn_args is not None:
            codes.append(f"*iterate(b, {self._code(node.dyn_args)})")
        for pair in node.kwargs:
            name = f"{prefix}{pair.key}"
            value = self._code(pair.value)
            codes.append(f"**{{{name!r}: {value}}}" if keyword.iskeyword(name) else f"{name}={value}")
        if node.dyn_kwargs is not None:
            codes.append(f"**keywords({self._code(node.dyn_kwargs)}, {prefix!r})")
        return ", ".join([*codes, *([last] if last else [])])

    def _code_Call(self, node: nodes.Call) -> str:
        function = node.node
        macro = self._macro_of(node)
        if macro is not None:
            return f"text_of({self._arguments(node, 'p_', 'b', 'cur', macro)})"
        name = function.name if isinstance(function, nodes.Name) else ""
        only_names = not (node.args or node.dyn_args or node.dyn_kwargs)
        is_safe = only_names and not any(pair.key.startswith("_") for pair in node.kwargs)
        if name == "namespace" and self._names.find(name) is None and is_safe:
            pairs = ", ".join(f"{pair.key!r}: {self._code(pair.value)}" for pair in node.kwargs)
            return f"NamespaceValue({self._weighed(f'{{{pairs}}}', [pair.value for pair in node.kwargs])})"
        if name in _GLOBAL_CODES and self._names.find(name) is None:
            return f"{_GLOBAL_CODES[name]}({self._arguments(node, '', 'b')})"
        if isinstance(function, nodes.Getattr) and not self._is_loop_value(function.node):
            return self._method_code(node, function)
        return f"call_value({self._arguments(node, '', 'b', 'cur', self._code(function))})"

    def _is_loop_value(self, node: nodes.Node) -> bool:
        return isinstance(node, nodes.Name) and node.name == "loop" and self._names.find("loop") is None

    def _method_code(self, node: nodes.Call, function: nodes.Getattr) -> str:
        """Return the code of a call of a method. The most common ones are called directly."""
        name, value = function.attr, self._code(function.node)
        kind = self._kinds.of(function.node, self._names)
        plain_call = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
        general = f"call_method({self._arguments(node, '', 'b', value, repr(name))})"
        if not plain_call:
            return general
        arguments = self._arguments(node, "")
        if name == "get" and len(node.args) in (1, 2):
            if kind is Kind.MESSAGE:
                return f"{value}.get({arguments})"
            direct, wanted = "{}.get({})", "D"
        elif name in methods.QUERIES:
            if kind is Kind.TEXT:
                return f"{value}.{name}({arguments})" if value.isidentifier() else f"str.{name}({value}, {arguments})"
            direct, wanted = f"{{}}.{name}({{}})", "T"
        elif name in methods.DIRECT:
            separator = ", " if arguments else ""
            if kind is Kind.TEXT:
                return f"{name}(b, {value}{separator}{arguments})"
            direct, wanted = f"{name}(b, {{}}{separator}{{}})", "T"
        else:
            return general
        first, again = self._twice(value)
        general = f"call_method({self._arguments(node, '', 'b', again, repr(name))})"
        return f"({direct.format(again, arguments)} if {first}.__class__ is {wanted} else {general})"


def _is_silent(node: nodes.Node) -> bool:
    """Return True if an output node emits nothing: it is empty, or raises an exception."""
    if isinstance(node, nodes.TemplateData):
        return not node.data
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "raise_exception"


def _is_items_call(node: nodes.Node) -> bool:
    """Return True for `value.items()`."""
    if not isinstance(node, nodes.Call) or not isinstance(node.node, nodes.Getattr) or node.node.attr != "items":
        return False
    return not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)


def _is_constant(node: nodes.Node) -> bool:
    """Return True if an expression is a constant or a list of constants."""
    return all(isinstance(item, nodes.Const) for item in getattr(node, "items", (node,)))


def _field_of(node: nodes.Getattr | nodes.Getitem) -> str | None:
    """Return the name that an expression looks up; None if it is not constant."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else None


def _macro_uses(node: nodes.Macro | nodes.CallBlock) -> list[str]:
    """Return the special variables that a macro uses: `caller`, `varargs` and `kwargs`."""
    parameters = {argument.name for argument in node.args}
    used = {name.name for name in find_in(node.body, nodes.Name)}
    return [name for name in ("caller", "varargs", "kwargs") if name in used - parameters]
