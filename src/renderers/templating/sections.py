"""Keep the output of loops over the tools: most runs of a template have the tools of an earlier run.

Tools with the same content are the same wrapped object in all runs. A loop over them that reads nothing else writes the
same text each time. The compiler finds such loops by the names in their generated code. Which of them are over tools
is known only at run time.
"""

from __future__ import annotations

import symtable
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jinja2 import Undefined

from renderers.templating.scopes import Scope
from renderers.templating.texts import join_texts, mixed_text, plain
from renderers.templating.values import DataList, FieldText, MixedText

_MOST_SECTIONS = 8
"""The number of outputs that are kept for each list of tools."""


def recall(data: Any, key: object, *arguments: Any) -> Sequence[str] | None:
    """Return the text that a loop over data wrote in an earlier run, as a piece of output; None if it is not known.

    `arguments` are those that the loop reads. Its output is kept only if all of them are undefined.
    """
    if data.__class__ is not DataList or not _are_undefined(arguments):
        return None
    sections: dict[object, list[str]] = getattr(data, "_sections", {})
    return sections.get(key)


def remember(data: Any, key: object, output: list[str], start: int, scope: Scope, *arguments: Any) -> None:
    """Keep the pieces from `start` on, which a loop over data wrote in a scope, as one text.

    Pieces that mark or refer to any other scope are not kept, because scopes belong to one run.
    """
    if data.__class__ is not DataList or data._owner[0] >= 0 or not _are_undefined(arguments):
        return
    kept = []
    for piece in output[start:]:
        if piece.__class__ is MixedText:
            runs = tuple([(end, None if owner is scope else owner) for end, owner in piece._runs])
            if any(owner is not None and owner.__class__ is not tuple for _, owner in runs):
                return
            piece = mixed_text(plain(piece), runs)
        elif piece.__class__ is not str and piece.__class__ is not FieldText:
            return
        kept.append(piece)
    known: dict[object, list[str]] = getattr(data, "_sections", {})
    newest = list(known.items())[1 - _MOST_SECTIONS :]
    data._sections = {**dict(newest), key: [join_texts(kept)]}


def _are_undefined(arguments: Sequence[Any]) -> bool:
    return all(argument.__class__ is Undefined for argument in arguments)


def names_outside(
    lines: Sequence[str],
    *,
    allowed: Collection[str],
    functions: Mapping[str, Sequence[str]],
    arguments: Collection[str],
) -> list[str] | None:
    """Return the arguments that generated code reads; None if it reads anything else that it does not set.

    Names that the functions read count too.

    >>> functions = {"f": ["def f(n):", "    return n + other"]}
    >>> names_outside([" x = f(a)"], allowed={"a"}, functions=functions, arguments={"other", "another"})
    ['other']
    >>> names_outside([" x = f(a)"], allowed={"a"}, functions=functions, arguments={}) is None
    True
    """
    outside: set[str] = set()
    seen = set(allowed)
    pending = [lines]
    while pending:
        new = _read_names(pending.pop()) - seen
        if not new <= functions.keys() | set(arguments):
            return None
        seen |= new
        pending += [functions[name] for name in new if name in functions]
        outside |= new - functions.keys()
    return sorted(outside)


def _read_names(lines: Sequence[str]) -> set[str]:
    """Return the names that code reads and does not set."""
    code = textwrap.indent(textwrap.dedent("\n".join(lines)), " ")
    tables = symtable.symtable(f"def code(cur):\n{code}", "", "exec").get_children()
    names: set[str] = set()
    while tables:
        table = tables.pop()
        assert isinstance(table, symtable.Function)
        names.update(table.get_globals())
        tables += table.get_children()
    return names
