"""Compile the syntax tree of a chat template to one Python function.

The function appends pieces of text to a list. Constants are plain strings, values are texts with owners, and scopes
mark where the text of an iteration or a branch begins. Generated code calls the functions of the modules in `runtime`,
and never looks up an attribute of a value by a name from the template.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

from jinja2 import nodes

from renderers.templating.limits import Budget
from renderers.templating.loops import LoopCompiler, LoopPlace
from renderers.templating.runtime import RUNTIME
from renderers.templating.scopes import Scope
from renderers.templating.syntax import as_source_error
from renderers.templating.wrapping import message_index

FILE_NAME = "<chat template>"


class CompiledTemplate(NamedTuple):
    """The function of a template, the arguments that it reads, and the places of its loops, inner loops first."""

    run: Callable[[dict[str, Any], list[str], Scope, Budget], None]
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
        namespace = {**RUNTIME, **compiler.constants}
        exec(compile(source, FILE_NAME, "exec"), namespace)
        return CompiledTemplate(namespace["run"], frozenset(compiler.arguments), compiler.loop_places())


class _Compiler(LoopCompiler):
    def source(self) -> str:
        """Return the source of the generated function."""
        body = self._tree.body
        self._names = self._new_names(body)
        self._begin(self._names, self._infer(self._names, body, ()))
        self._block(body, soft=False)
        if self._macros:
            # Macros that call each other are cycles, which would keep the messages until the garbage collector runs.
            self._line(f"{' = '.join(self._macros)} = None")
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
