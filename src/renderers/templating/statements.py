"""Compile the statements of a template, except loops, to lines of Python."""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import jinja2
from jinja2 import nodes

from renderers.templating.expressions import ExpressionCompiler, field_of
from renderers.templating.kinds import Kind, Names, Variable
from renderers.templating.syntax import (
    branches_of,
    find_in,
    jumps_out,
    mentions_prompt,
    names_in_target,
    names_read_first,
    prompt_condition,
    refuse,
    stored_names,
)

_ITEM_FILTERS = frozenset("first last default d random".split())


class StatementCompiler(ExpressionCompiler):
    """Write the lines of statements."""

    def __init__(self, tree: nodes.Template) -> None:
        super().__init__(tree)
        self._tree = tree
        self._lines: list[str] = []
        self._depth = 1
        self._emitting: dict[int, bool] = {}
        """Whether statements emit a text, by the identity of their list."""
        self._functions: dict[str, list[str]] = {}
        """The lines of the functions of macros, by the names of the functions and of the variables that hold them."""
        self._macros: list[str] = []
        """The variables of macros that are defined outside of loops and other macros."""
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
        self._entry: str | None = None
        """The code that enters the scope of an iteration, if the branches of its only statement have to run it."""
        self._searches = False
        """True if the next statement is all that an iteration does. A branch that does nothing may end the loop."""

    # ==================
    # Code
    # ==================

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
        read = names_read_first(body, bound)
        outer = [name for name in names.variables if name in read]
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
            elif self._writes_macro(child):
                # The macro writes to the output itself.
                for operand in self._operands(child):
                    if isinstance(operand, nodes.Call) and (macro := self._macro_of(operand)) is not None:
                        self._emit(pieces)
                        self._line(f"{macro}({self._arguments(operand, 'p_', self._output)})")
                    else:
                        pieces += self._summand(operand)
            elif self._markup and isinstance(child, nodes.Add) and self._is_sum_of_texts(child):
                self._emit(pieces)
                self._line(f"emit_sum(b, {self._output}, {', '.join(self._summands(child))})")
            else:
                pieces += self._pieces(child)
        self._emit(pieces)

    def _writes_macro(self, node: nodes.Node) -> bool:
        """Return True for a call of a macro, or a sum of texts with such a call."""
        if isinstance(node, nodes.Add) and (self._markup or not self._is_sum_of_texts(node)):
            return False
        calls = (operand for operand in self._operands(node) if isinstance(operand, nodes.Call))
        return any(self._macro_of(call) is not None for call in calls)

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
        outer, entry, is_steady = self._fresh("o"), self._entry, self._searches and not scoped
        self._entry, self._searches = None, False
        if scoped:
            if entry is not None:
                self._line(entry)
                entry = None
            self._line(f"{outer} = cur")
        for index, (test, body, is_prompt) in enumerate(branches):
            header = "else:" if test is None else f"{'elif' if index else 'if'} {self._code(test)}:"
            is_steady = is_steady and (test is None or self._is_steady(test))
            with self._indented(header), self._state(_branches=self._branches + scoped):
                if is_steady and all(map(is_empty, body)):
                    self._line("break")
                    continue
                if entry is not None and not all(map(self._ignores_scope, body)):
                    self._line(entry)
                if scoped and (is_prompt or self._emits(body)):
                    self._line(f"cur = enter_branch({outer}, {self._output}, {is_prompt})")
                self._block(body, soft=True)
        if is_steady and not node.else_:
            with self._indented("else:"):
                self._line("break")
        if scoped:
            self._line(f"if cur is not {outer}: cur = {outer}; {self._output}.append(cur)")

    def _is_steady(self, test: nodes.Node) -> bool:
        """Return True if a test has the same result in the next iteration if nothing is done in between.

        Such tests read namespaces from around the loop, and nothing else.
        """
        if isinstance(test, nodes.Not):
            return self._is_steady(test.node)
        if isinstance(test, nodes.And | nodes.Or):
            return self._is_steady(test.left) and self._is_steady(test.right)
        if not isinstance(test, nodes.Getattr) or not isinstance(test.node, nodes.Name):
            return False
        name = test.node.name
        return name not in self._names.variables and self._kinds.of(test.node, self._names) is Kind.NAMESPACE

    def _ignores_scope(self, node: nodes.Node) -> bool:
        """Return True if a statement emits nothing, and gives nothing to the current scope."""
        if isinstance(node, nodes.Output):
            return all(map(is_silent, node.nodes)) and next(find_in([node], nodes.Call), None) is None
        if isinstance(node, nodes.Assign):
            has_call = next(find_in([node.node], (nodes.Call, nodes.Filter)), None) is not None
            return not has_call and not self._needs_claim(node)
        return isinstance(node, nodes.Break | nodes.Continue)

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
            # A field of data is not a message.
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
        caller = f"p_caller={self._macro_value(node, function, 'caller')}"
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
        self._line(f"{variable.python} = {self._macro_value(node, function, node.name)}")
        if not self._frames:
            self._macros += (function, variable.python)

    def _macro_value(self, node: nodes.Macro | nodes.CallBlock, function: str, name: str) -> str:
        parameters = tuple(argument.name for argument in node.args)
        return f"MacroValue({function}, {name!r}, {parameters!r}, {tuple(_macro_uses(node))!r})"

    def _write_function(self, node: nodes.Macro | nodes.CallBlock, function: str) -> None:
        """Write the function of a macro."""
        parameters = [argument.name for argument in node.args]
        uses = _macro_uses(node)
        names = self._new_names(node.body, (*parameters, *uses))
        for parameter in (*parameters, *uses):
            names.variables[parameter].python = f"p_{parameter}"
        required = len(parameters) - len(node.defaults)
        if "caller" in parameters[:required] and any(name.name == "caller" for name in find_in(node.body, nodes.Name)):
            raise jinja2.TemplateAssertionError("The parameter `caller` of a macro needs a default", node.lineno)
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
                for index, default in enumerate(node.defaults, required):
                    self._write_default(index, default, parameters, uses)
                self._begin(names, self._infer(names, node.body, (*parameters, *uses)))
                self._block(node.body, soft=False)
        self._functions[function] = self._lines[first_line:]

    def _write_default(self, index: int, default: nodes.Expr, parameters: list[str], uses: list[str]) -> None:
        """Write the default of a parameter. It sees all parameters, and the scope around the macro.

        The parameter itself, and a later one that was not passed, is undefined in it.
        """
        visible = {name: Variable(f"p_{name}") for name in (*parameters, *uses)}
        read = {name.name for name in find_in([default], nodes.Name)}
        for name in parameters[index:]:
            if name in read:
                visible[name].python = self._fresh("t")
                self._line(f"{visible[name].python} = {self._undefined(name)} if p_{name} is MISSING else p_{name}")
        with self._within(Names(self._names.parent, visible, {})):
            self._line(f"if p_{parameters[index]} is MISSING: p_{parameters[index]} = {self._code(default)}")

    def _write_Break(self, _: nodes.Node) -> None:
        self._line("break")

    def _write_Continue(self, _: nodes.Node) -> None:
        self._line("continue")


def _macro_uses(node: nodes.Macro | nodes.CallBlock) -> list[str]:
    """Return the special variables that a macro uses: `caller`, `varargs` and `kwargs`."""
    parameters = {argument.name for argument in node.args}
    used = {name.name for name in find_in(node.body, nodes.Name)}
    return [name for name in ("caller", "varargs", "kwargs") if name in used - parameters]


def is_empty(node: nodes.Node) -> bool:
    """Return True if a statement does nothing."""
    return isinstance(node, nodes.Output) and all(
        isinstance(part, nodes.TemplateData) and not part.data for part in node.nodes
    )


def is_silent(node: nodes.Node) -> bool:
    """Return True if an output node emits nothing: it is empty, or raises an exception."""
    if isinstance(node, nodes.TemplateData):
        return not node.data
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "raise_exception"
