"""Compile the syntax tree of a chat template to one Python function.

The function appends pieces of text to a list. Constants are plain strings, values are texts with owners, and scopes
mark where the text of an iteration or a branch begins. Generated code calls the functions of `operators`, `methods`,
`filters`, `predicates` and `scopes`, and never looks up an attribute of a value by a name from the template.
"""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import jinja2
from jinja2 import Undefined, nodes

from renderers.templating import filters, methods, operators, predicates, scopes, sections, values
from renderers.templating.expressions import STATIC_LOOP, ExpressionCompiler, field_of
from renderers.templating.kinds import Kind, Loop, Names, Variable
from renderers.templating.limits import Budget
from renderers.templating.syntax import (
    as_source_error,
    branches_of,
    find_in,
    iteration_steps,
    jumps_out,
    loop_uses,
    mentions_prompt,
    names_in_target,
    names_set_first,
    own_statements,
    prompt_condition,
    refuse,
    stored_names,
)
from renderers.templating.values import message_index

FILE_NAME = "<chat template>"
_LOOKAHEAD = frozenset("last length revindex revindex0 previtem nextitem".split())
_COUNTED = frozenset("last length revindex revindex0 nextitem".split())
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
    "recall": sections.recall,
    "remember": sections.remember,
    "Undefined": Undefined,
    "T": values.FieldText,
    "D": values.DataDict,
}


_FIXED_NAMES = frozenset(
    {*_RUNTIME, "b", "cur", "dict", "enumerate", "isinstance", "len", "str", "tuple"} - {"apply_filter", "f_random"}
)
"""The names in generated code that are the same in all runs, or that do not matter for its output."""


class LoopPlace(NamedTuple):
    """The lines of a loop in the generated code, and the variables that can hold its message."""

    first: int
    last: int
    variables: tuple[str, ...]


class CompiledTemplate(NamedTuple):
    """The function of a template, the arguments that it reads, and the places of its loops, inner loops first."""

    run: Callable[[dict[str, Any], list[str], scopes.Scope, Budget], None]
    arguments: frozenset[str]
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
        return CompiledTemplate(namespace["run"], frozenset(compiler.arguments), compiler.loop_places())


class _Compiler(ExpressionCompiler):
    def __init__(self, tree: nodes.Template) -> None:
        super().__init__(tree)
        self._tree = tree
        self._lines: list[str] = []
        self._depth = 1
        self._places: list[LoopPlace] = []
        self._emitting: dict[int, bool] = {}
        """Whether statements emit a text, by the identity of their list."""
        self._functions: dict[str, list[str]] = {}
        """The lines of the functions of macros, by the names of the functions and of the variables that hold them."""
        self._head = 0
        self._output = "out"
        self._frames = 0
        """The number of enclosing loops and macros. Branches inside them belong to the iteration and open no scope."""
        self._branches = 0
        """The number of enclosing branches with a scope."""
        self._is_quiet = False
        """True inside of a loop that emits no text."""
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
        self._begin(self._names, self._infer(self._names, body, ()))
        self._block(body, soft=False)
        head = [
            f"    {python} = args.get({name!r}, {self._undefined(name)})" for name, python in self.arguments.items()
        ]
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

    def _new_names(self, body: Sequence[nodes.Node], bound: Sequence[str] = ()) -> Names:
        number = self._fresh("l")
        stored = stored_names(body)
        variables = {name: Variable(f"{number}_{name}") for name in (*bound, *stored)}
        return Names(self._names, variables, stored)

    def _infer(self, names: Names, body: list[nodes.Node], bound: Sequence[str]) -> list[str]:
        """Infer the kinds of the variables that statements bind. Return those that they may read before they set them.

        Such a variable has the value at first that it has outside.
        """
        assert names.parent is not None
        known = {*bound, *names_set_first(body)}
        outer = [name for name in names.variables if name not in known]
        initial: dict[str, Kind | None] = dict.fromkeys(bound)
        initial |= {name: self._kinds.of(nodes.Name(name, "load"), names.parent) for name in outer}
        self._kinds.infer_variables(names, body, initial)
        return outer

    def _begin(self, names: Names, outer: Sequence[str]) -> None:
        """Give variables the values that they have outside."""
        assert names.parent is not None
        for name in outer:
            variable = names.parent.find(name)
            value = variable.python if variable is not None else self._argument(name)
            self._line(f"{names.variables[name].python} = {value}")

    @contextlib.contextmanager
    def _within(self, names: Names) -> Iterator[None]:
        outer, self._names = self._names, names
        yield
        self._names = outer

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
        if id(body) not in self._emitting:
            self._emitting[id(body)] = any(map(self._may_emit, body))
        return self._emitting[id(body)]

    def _may_emit(self, node: nodes.Node) -> bool:
        if isinstance(node, nodes.If):
            return any(self._emits(body) for _, body, _ in branches_of(node))
        if isinstance(node, nodes.Assign):
            return self._may_be_text(node.node)
        return not isinstance(node, nodes.Macro | nodes.Break | nodes.Continue)

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
            first_line, first_place = len(self._lines), len(self._places)
            self._write_loop(node, items, "0", None)
            may_be_tools = isinstance(node.iter, nodes.Name) and self._kinds.of(node.iter, self._names) is None
            if may_be_tools and self._frames < 2 and not self._in_message_loop:
                self._keep_section(self._code(node.iter), first_line, first_place)
            return
        function = self._fresh("R")
        with self._indented(f"def {function}(out, items, depth):"), self._state(_output="out", _is_quiet=True):
            self._line("nonlocal cur")
            self._write_loop(node, "iterate(b, items)", "depth", function)
        self._line(f"{function}({self._output}, {items}, 0)")

    def _keep_section(self, items: str, first_line: int, first_place: int) -> None:
        """Keep the output of a loop for other runs with the same items, if it depends on nothing else."""
        lines = self._lines[first_line:]
        allowed = {*_FIXED_NAMES, *self.constants, items, self._output}
        read = sorted(sections.outside_names(lines, allowed=allowed, functions=self._functions))
        if not set(read) <= set(self.arguments.values()):
            return
        del self._lines[first_line:]
        key = self._constant(object(), ("section", first_line))
        found, arguments = self._fresh("k"), "".join(f", {name}" for name in read)
        self._line(f"{found} = recall({items}, {key}{arguments})")
        self._line(f"if {found} is not None: {self._output} += {found}")
        self._line("else:")
        self._line(f"    {found} = len({self._output})")
        added = len(self._lines) - first_line
        self._lines += [f"    {line}" for line in lines]
        self._line(f"    remember({items}, {key}, {self._output}, {found}, cur{arguments})")
        for index, (first, last, variables) in enumerate(self._places[first_place:], first_place):
            self._places[index] = LoopPlace(first + added, last + added, variables)

    def _loop_items(self, node: nodes.For) -> str:
        """Return the code of the items of a loop."""
        if _is_items_call(node.iter):
            return f"loop_pairs(b, {self._code(node.iter.node.node)})"  # type: ignore[attr-defined]
        if isinstance(node.iter, nodes.Filter) and node.iter.name == "items" and not _has_arguments(node.iter):
            return f"mapping_pairs({self._code(node.iter.node)})"
        code = self._code(node.iter)
        return code if self._kinds.of(node.iter, self._names) is Kind.MESSAGES else f"iterate(b, {code})"

    def _write_loop(self, node: nodes.For, items_code: str, depth: str, recurse: str | None) -> None:
        number = self._fresh("")
        uses = loop_uses(node.body) | ({""} if recurse else set())
        needs_value = bool(uses - STATIC_LOOP)
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
        read_first = self._infer(names, node.body, bound)
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
            self._begin(names, read_first)
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
            field = field_of(node)
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
            elif variable is not None and variable.is_namespace and not target.attr.startswith("_"):
                value = self._fresh("t")
                self._line(f"{value} = {code}")
                self._line(f"if {reference}.__class__ is NamespaceValue: {reference}.values[{target.attr!r}] = {value}")
                self._line(f"else: set_attribute({reference}, {target.attr!r}, {value})")
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
            return not isinstance(node.arg, nodes.Slice) and field_of(node) is None
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
            self._begin(names, self._infer(names, body, ()))
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
            for jump in jumps_out(node.body):
                raise refuse("`break` or `continue` in `generation`", jump)
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
            self._begin(names, self._infer(names, node.body, bound))
            self._block(node.body, soft=False)

    def _write_Macro(self, node: nodes.Macro) -> None:
        variable = self._names.variables[node.name]
        function = self._fresh("F")
        # A macro in a branch may be undefined.
        if not self._is_soft and self._names.bindings[node.name] == 1:
            variable.macro = function
        self._write_function(node, function)
        if variable.macro is not None:
            self._functions[variable.python] = self._functions[function]
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
        first_line = len(self._lines)
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
                self._begin(names, self._infer(names, node.body, (*parameters, *uses)))
                self._block(node.body, soft=False)
        self._functions[function] = self._lines[first_line:]

    def _write_Break(self, _: nodes.Node) -> None:
        self._line("break")

    def _write_Continue(self, _: nodes.Node) -> None:
        self._line("continue")


def _is_silent(node: nodes.Node) -> bool:
    """Return True if an output node emits nothing: it is empty, or raises an exception."""
    if isinstance(node, nodes.TemplateData):
        return not node.data
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "raise_exception"


def _is_items_call(node: nodes.Node) -> bool:
    """Return True for `value.items()`."""
    if not isinstance(node, nodes.Call) or not isinstance(node.node, nodes.Getattr) or node.node.attr != "items":
        return False
    return not _has_arguments(node)


def _has_arguments(node: nodes.Call | nodes.Filter) -> bool:
    return bool(node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)


def _macro_uses(node: nodes.Macro | nodes.CallBlock) -> list[str]:
    """Return the special variables that a macro uses: `caller`, `varargs` and `kwargs`."""
    parameters = {argument.name for argument in node.args}
    used = {name.name for name in find_in(node.body, nodes.Name)}
    return [name for name in ("caller", "varargs", "kwargs") if name in used - parameters]
