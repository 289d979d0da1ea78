"""Parsers by name, for a template that does not show how its model writes calls or reasoning."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from renderers.parse.grammar import SPACES, Edges, Grammar, ReasoningFormat
from renderers.parse.syntax import SYNTAXES

__all__ = ["AS_WRITTEN", "REASONING_PARSERS", "TOOL_PARSERS", "Parsers", "with_parsers"]

TOOL_PARSERS = MappingProxyType(
    {**{key: key for key in SYNTAXES}, "qwen3": "hermes", "qwen3.5": "qwen_xml", "deepseek-v3": "deepseek_v3"}
)
"""The syntax of each parser of tool calls; a syntax is named by its key as well."""

REASONING_PARSERS = MappingProxyType({"think": ("<think>", "</think>")})
"""The markers of each parser of reasoning."""


class Parsers(NamedTuple):
    """The names of a parser of tool calls and of one of reasoning; None for what the template shows."""

    tool_parser: str | None = None
    reasoning_parser: str | None = None

    def check(self) -> None:
        """Says what is wrong with the names.

        Raises:
            ValueError: There is no such parser.
        """
        for option, known in (("tool_parser", TOOL_PARSERS), ("reasoning_parser", REASONING_PARSERS)):
            name = getattr(self, option)
            if name is not None and name not in known:
                raise ValueError(f"there is no {option} {name!r}: it is one of {', '.join(sorted(known))}")


AS_WRITTEN = Parsers()
"""Completions are read as the template writes turns."""


def with_parsers(grammar: Grammar, parsers: Parsers) -> Grammar:
    """Returns a grammar with the calls and the reasoning of parsers; what it says of these itself stays.

    >>> with_parsers(Grammar(), Parsers(tool_parser="qwen3")).tools
    'hermes'
    """
    key = None if parsers.tool_parser is None else TOOL_PARSERS[parsers.tool_parser]
    markers = None if parsers.reasoning_parser is None else REASONING_PARSERS[parsers.reasoning_parser]
    if key is not None and grammar.tools != key:
        grammar = replace(grammar, tools=key, section=SYNTAXES[key].section, call=SYNTAXES[key].call)
    if markers is not None and (grammar.reasoning is None or grammar.reasoning.markers != markers):
        edges = Edges(left=SPACES, right=SPACES)
        grammar = replace(grammar, reasoning=ReasoningFormat(markers=markers, edges=edges, after="\n\n"))
    return grammar
