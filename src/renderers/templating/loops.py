"""Compile the loops of a template to lines of Python."""

# ruff: noqa: N802 - the methods that visit a node have its name
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jinja2
from jinja2 import nodes

from renderers.templating import iteration, lookups, sections
from renderers.templating.expressions import STATIC_LOOP, field_of
from renderers.templating.kinds import Kind, Loop, Names, Variable
from renderers.templating.runtime import FIXED_NAMES
from renderers.templating.statements import StatementCompiler, is_empty, is_silent
from renderers.templating.syntax import (
    branches_of,
    find_in,
    iteration_steps,
    loop_uses,
    mentions_prompt,
    names_in_target,
    own_statements,
    stored_names,
)

_LOOKAHEAD = frozenset("last length revindex revindex0 previtem nextitem".split())
_COUNTED = frozenset("last length revindex revindex0 nextitem".split())


class LoopPlace(NamedTuple):
    """The lines of a loop in the generated code, and the variables that can hold its message."""

    first: int
    last: int
    variables: tuple[str, ...]


@dataclass(frozen=True)
class _Plan:
    """All that determines the code of a loop."""

    node: nodes.For
    loop: Loop
    names: Names
    bound: list[str]
    """The names that the target binds."""
    read_first: list[str]
    """The variables that the body may read before it sets them."""
    item: str
    """The variable of the item."""
    outer: str
    """The variable of the scope around the loop."""
    is_empty: str
    """The variable that is True as long as no iteration was completed."""
    uses: set[str]
    """The attributes of `loop` that the body uses."""
    is_lazy: bool
    """True if the test of the loop is evaluated in each iteration, not beforehand."""
    is_message: bool
    """True if the items are messages."""
    is_quiet: bool
    """True if the loop emits no text."""


class LoopCompiler(StatementCompiler):
    """Write the lines of loops."""

    def __init__(self, tree: nodes.Template) -> None:
        super().__init__(tree)
        self._places: list[LoopPlace] = []

    def _is_quiet_loop(self, body: list[nodes.Node]) -> bool:
        """Return True if a loop body emits nothing, and assigns no text to a variable that outlives an iteration."""
        for node in find_in(body, (nodes.Output, nodes.Call, nodes.Assign, nodes.Macro, nodes.FilterBlock)):
            if isinstance(node, nodes.Output):
                quiet = all(is_silent(part) for part in node.nodes)
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
        if any(name.name == "loop" and name.ctx == "store" for name in find_in([node], nodes.Name)):
            raise jinja2.TemplateAssertionError("Can't assign to special loop variable in for-loop target", node.lineno)
        is_loop = isinstance(node.iter, nodes.Name) and node.iter.name == "loop"
        if is_loop and self._names.loop is not None and self._names.find("loop") is None:
            raise jinja2.TemplateAssertionError(iteration.LOOP_ITEMS, node.lineno)
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
        read = sections.names_outside(
            lines,
            allowed={*FIXED_NAMES, *self.constants, items, self._output},
            functions=self._functions,
            arguments=self.arguments.values(),
        )
        if read is None:
            return
        del self._lines[first_line:]
        key = self._constant(object(), ("section", first_line))
        kept, arguments = self._fresh("k"), "".join(f", {name}" for name in read)
        self._line(f"{kept} = recall({items}, {key}{arguments})")
        self._line(f"if {kept} is not None: {self._output} += {kept}")
        self._line("else:")
        self._line(f"    {kept} = len({self._output})")
        added = len(self._lines) - first_line
        self._lines += [f"    {line}" for line in lines]
        self._line(f"    remember({items}, {key}, {self._output}, {kept}, cur{arguments})")
        for index, (first, last, variables) in enumerate(self._places[first_place:], first_place):
            self._places[index] = LoopPlace(first + added, last + added, variables)

    def _loop_items(self, node: nodes.For) -> str:
        """Return the code of the items of a loop."""
        if _is_items_call(node.iter):
            return f"loop_pairs(b, {self._code(node.iter.node.node)})"  # type: ignore[attr-defined]
        if isinstance(node.iter, nodes.Filter) and node.iter.name == "items" and not _has_arguments(node.iter):
            return f"mapping_pairs({self._code(node.iter.node)})"
        code = self._code(node.iter)
        if self._kinds.of(node.iter, self._names) is Kind.MESSAGES:
            return code
        return f"iterate(b, need_items({code}))" if _reads_own_items(node) else f"iterate(b, {code})"

    def _write_loop(self, node: nodes.For, items_code: str, depth: str, recurse: str | None) -> None:
        plan = self._plan(node, recurse)
        loop, outer = plan.loop, plan.outer
        self._line(f"{loop.items} = {items_code}")
        if node.test is not None and not plan.is_lazy:
            self._write_selection(plan)
        if plan.uses & _COUNTED and not loop.is_on_demand:
            self._line(f"{loop.count} = len({loop.items})")
        if loop.value:
            self._line(f"{loop.value} = LoopValue({loop.items}, {depth}, {recurse})")
        if not plan.is_quiet:
            self._line(f"{outer} = cur")
        if plan.uses and plan.is_lazy:
            self._line(f"{loop.index} = -1")
        if node.else_:
            self._line(f"{plan.is_empty} = True")
        self._write_iterations(plan)
        if not plan.is_quiet:
            self._line(f"if cur is not {outer}: cur = {outer}; {self._output}.append(cur)")
        if node.else_:
            with self._indented(f"if {plan.is_empty}:"), self._state(_frames=self._frames + 1):
                self._write_scope(node.else_)

    def _plan(self, node: nodes.For, recurse: str | None) -> _Plan:
        """Find out all that determines the code of a loop."""
        number = self._fresh("")
        uses = loop_uses(node.body) | ({""} if recurse else set())
        needs_value = bool(uses - STATIC_LOOP)
        is_selected = node.test is not None and (needs_value or bool(uses & _LOOKAHEAD))
        is_on_demand = is_selected and self._may_change_test(node)
        value = f"v{number}" if needs_value or is_on_demand else None
        loop = Loop(f"q{number}", f"i{number}", f"n{number}", value, is_on_demand)
        bound = list(names_in_target(node.target))
        names = self._new_names(node.body, bound)
        is_inferable = isinstance(node.target, nodes.Name) and not node.recursive
        item_kind = self._kinds.of_items(node.iter, self._names) if is_inferable else None
        if isinstance(node.target, nodes.Name) and node.target.name not in stored_names(node.body):
            names.variables[node.target.name].kind = item_kind
        names.loop = loop
        read_first = self._infer(names, node.body, bound)
        with self._within(names):
            is_quiet = self._is_quiet or self._is_quiet_loop(node.body)
        return _Plan(
            node=node,
            loop=loop,
            names=names,
            bound=bound,
            read_first=read_first,
            item=names.variables[node.target.name].python if isinstance(node.target, nodes.Name) else f"e{number}",
            outer=f"o{number}",
            is_empty=f"z{number}",
            uses=uses,
            is_lazy=node.test is not None and not is_selected,
            is_message=item_kind is Kind.MESSAGE,
            is_quiet=is_quiet,
        )

    def _write_iterations(self, plan: _Plan) -> None:
        """Write the `for` statement of a loop, and note its place."""
        node, loop, names, item = plan.node, plan.loop, plan.names, plan.item
        first_line = len(self._lines) + 1
        meter = "charge_each" if loop.is_on_demand else "metered"
        metered = f"{meter}(b, {loop.items}, {iteration_steps(node.body)})"
        counts = plan.uses and not plan.is_lazy
        header = f"for {loop.index}, {item} in enumerate({metered}):" if counts else f"for {item} in {metered}:"
        with self._indented(header), self._within(names):
            self._unpack(node.target, item)
            if plan.is_lazy:
                self._line(f"if not {self._test_code(plan)}: continue")
                if plan.uses:
                    self._line(f"{loop.index} += 1")
            if loop.value:
                self._line(f"{loop.value}.index0 = {loop.index}")
            self._begin(names, plan.read_first)
            first = plan.bound[0]
            if names.variables[first].kind is Kind.MESSAGE:
                self._read_fields(names.variables[first], first, node.body)
            entry = self._entry_code(plan)
            if entry is not None and not _is_choice(node.body):
                self._line(entry)
                entry = None
            # Unpacking can fail, and an `else` of the loop depends on the iterations.
            searches = (
                isinstance(node.target, nodes.Name)
                and not (node.test or node.else_ or node.recursive)
                and _is_choice(node.body)
                # The other statements could raise an exception.
                and sum(not is_empty(statement) for statement in node.body) == 1
            )
            with self._state(
                _entry=entry,
                _searches=searches,
                _frames=self._frames + 1,
                _is_quiet=plan.is_quiet,
                _message_loop=plan.is_message,
                _in_message_loop=self._in_message_loop or plan.is_message,
                _has_prompt=self._has_prompt or mentions_prompt(node.body),
            ):
                self._block(node.body, soft=False)
            if node.else_:
                # As in Jinja, an iteration that `continue` ends does not count.
                self._line(f"{plan.is_empty} = False")
        variables = [names.variables[name].python for name in (*plan.bound, *stored_names(node.body))]
        assigned = [variable for variable in variables if variable != item]
        self._places.append(LoopPlace(first_line, len(self._lines), (item, *assigned)))

    def _entry_code(self, plan: _Plan) -> str | None:
        """Return the code that enters the scope of an iteration; None if it needs no scope."""
        node, item, outer = plan.node, plan.item, plan.outer
        if plan.is_quiet:
            return None
        if plan.is_message:
            return f"cur = enter_message({outer}, {item}, {self._output})"
        assigns = any(
            isinstance(statement, nodes.Assign) and self._may_be_message(statement.node)
            for statement in own_statements(node.body)
        )
        enter = f"cur = enter_iteration({outer}, {item}, {self._output}, cur, {assigns})"
        if not self._in_message_loop or assigns:
            return enter
        if not isinstance(node.target, nodes.Tuple):
            # Only another message can open a scope within the iteration of a message.
            return f"if {item}.__class__ is D or cur is not {outer}: {enter}"
        if mentions_prompt(node.body):
            # `continue` may leave a branch for the generation prompt.
            return f"if cur is not {outer}: {enter}"
        return None

    def _write_selection(self, plan: _Plan) -> None:
        """Write a loop that selects the items of `{% for ... if ... %}`: all of them beforehand, or on demand."""
        loop, item = plan.loop, plan.item
        metered = f"for {item} in metered(b, {loop.items}, 1):"
        if loop.is_on_demand:
            function = self._fresh("S")
            with self._indented(f"def {function}({loop.items}):"), self._indented(metered), self._within(plan.names):
                self._unpack(plan.node.target, item)
                self._line(f"if {self._test_code(plan)}: yield {item}")
            self._line(f"{loop.items} = SelectedItems({function}({loop.items}))")
            return
        chosen = self._fresh("c")
        self._line(f"{chosen} = []")
        with self._indented(metered), self._within(plan.names):
            self._unpack(plan.node.target, item)
            self._line(f"if {self._test_code(plan)}: {chosen}.append({item})")
        self._line(f"{loop.items} = {chosen}")

    def _may_change_test(self, node: nodes.For) -> bool:
        """Return True if the body of a loop may set an attribute of a namespace that its test reads."""
        read = {name.name for name in find_in(filter(None, [node.test]), nodes.Name)}
        # A macro may set it too.
        has_call = next(find_in(node.body, (nodes.Call, nodes.CallBlock)), None) is not None
        changes = find_in([self._tree] if has_call else node.body, nodes.NSRef)
        return not read.issubset(names_in_target(node.target)) and next(changes, None) is not None

    def _test_code(self, plan: _Plan) -> str:
        """Return the code of the test of a loop, which sees the names of the target and the scope around the loop."""
        bound = {name: plan.names.variables[name] for name in plan.bound}
        with self._within(Names(plan.names.parent, bound, {})):
            return self._code(plan.node.test)

    def _read_fields(self, variable: Variable, name: str, body: list[nodes.Node]) -> None:
        """Read the fields of a message that the body of its loop reads repeatedly."""
        counts: dict[str, int] = {}
        for node in find_in(body, (nodes.Getattr, nodes.Getitem)):
            field = field_of(node)
            if field is not None and isinstance(node.node, nodes.Name) and node.node.name == name:
                counts[field] = counts.get(field, 0) + 1
        for field, count in counts.items():
            if count > 1 and field not in lookups.DICT_METHODS:
                python = self._fresh("m")
                self._line(f"{python} = {variable.python}.get({field!r}, {self._undefined(field)})")
                variable.fields[field] = python


def _is_choice(body: list[nodes.Node]) -> bool:
    """Return True if statements are one `if`, with tests that call nothing. Its branches then enter a scope."""
    written = [node for node in body if not (isinstance(node, nodes.Output) and all(map(is_silent, node.nodes)))]
    if len(written) != 1 or not isinstance(written[0], nodes.If):
        return False
    tests = [test for test, _, _ in branches_of(written[0]) if test is not None]
    return next(find_in(tests, (nodes.Call, nodes.Filter)), None) is None


def _reads_own_items(node: nodes.For) -> bool:
    """Return True if the body of a loop over a variable reads this variable."""
    if not isinstance(node.iter, nodes.Name) or node.iter.name in names_in_target(node.target):
        return False
    read = {name.name for name in find_in(node.body, nodes.Name) if name.ctx == "load"}
    return node.iter.name in read


def _is_items_call(node: nodes.Node) -> bool:
    """Return True for `value.items()`."""
    if not isinstance(node, nodes.Call) or not isinstance(node.node, nodes.Getattr) or node.node.attr != "items":
        return False
    return not _has_arguments(node)


def _has_arguments(node: nodes.Call | nodes.Filter) -> bool:
    return bool(node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
