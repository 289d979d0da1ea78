"""`Grammar`: how a model writes a turn, as frozen records of text. Overrides of it by name."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple

from renderers.core.completion_variants import CompletionVariants
from renderers.parsing.parser_names import (
    REASONING_PARSERS,
    RESPONSE_TEMPLATE_NAMES,
    TOOL_PARSERS,
    UNREAD_REASONING_PARSERS,
    UNREAD_TOOL_PARSERS,
    check_name,
)
from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair, ToolFormat, TurnLayout
from renderers.parsing.tool_formats.base import CallKeys
from renderers.parsing.tool_formats.derived import with_keys, with_tags
from renderers.parsing.tool_formats.glm import PairTags
from renderers.parsing.tool_formats.tags import Tags

SPACES = " \t\n\r\x0b\x0c"

MOST_TRIMMED = 256
"""The largest number of characters to trim from an end. A stream of whitespace is not kept back for longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The characters to remove from the ends of a field: padding of the format, and whitespace that the template trims.

    Padding is optional, and is removed once.

    >>> Edges(trail="\\n").end_in("Look:\\n\\n", 0, 7)
    6
    """

    lead: str = ""
    """Padding before the field."""
    trail: str = ""
    """Padding after the field."""
    left: str = ""
    """Characters to trim from the beginning of the field."""
    right: str = ""
    """Characters to trim from the end of the field."""

    def end_in(self, text: str, start: int, end: int) -> int:
        """Return the end of a field that goes up to `end`, without padding and trimmed characters."""
        if self.trail and text.endswith(self.trail, start, end):
            end -= len(self.trail)
        return _trimmed_end(self.right, text, max(start, end - MOST_TRIMMED), end) if self.right else end

    def sure_in(self, text: str, start: int, end: int) -> int:
        """Return the end of the text that belongs to the field, whether the field ends at `end` or goes on."""
        kept_back = self.right + self.trail
        if start >= end or text[end - 1] not in kept_back:
            return end
        most = len(self.trail) + (MOST_TRIMMED if self.right else 0)
        return _trimmed_end(kept_back, text, max(start, end - most), end)


NO_EDGES = Edges()
"""Nothing is removed."""


def _trimmed_end(characters: str, text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip(characters))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFormat:
    """The markers around reasoning."""

    markers: MarkerPair
    edges: Edges = NO_EDGES
    after: str = ""
    """Padding after the closing marker."""
    after_empty: str = ""
    """Padding after the closing marker of empty reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The format of a turn, from its header to its stop token.

    >>> Grammar(header="<|im_start|>assistant\\n", tools="hermes").reasoning is None
    True
    """

    header: str = ""
    """The text that opens a turn in the prompt, without a marker that opens reasoning."""
    lead: str = ""
    """Padding after the header."""
    reasoning: ReasoningFormat | None = None
    content: Edges = NO_EDGES
    """The edges of content that is the last field of a turn."""
    content_before_calls: Edges = NO_EDGES
    """The edges of content before tool calls."""
    response: MarkerPair | None = None
    """The markers around content."""
    end: str = ""
    """The text that ends a turn before its stop token, if there are markers around content."""
    tools: str | None = None
    """The key of the tool format."""
    section: MarkerPair | None = None
    """The markers around all calls of a turn."""
    call: MarkerPair | None = None
    """The markers around each call."""
    keys: CallKeys | None = None
    """The keys of calls that are JSON objects, if these are not those of the tool format."""
    tags: Tags | PairTags | None = None
    """The tags within calls, if these are not those of the tool format."""
    assumes_reasoning: bool = False
    """Without a prompt, a completion is assumed to begin within reasoning."""
    reasoning_anywhere: bool = False
    """Reasoning can also follow content and calls, if its opening marker is a token."""
    ends_reasoning: bool | None = None
    """A call within reasoning ends it, unless the closing marker follows later. None for the rule of the format."""
    keeps_text: bool | None = None
    """Text after a call is content. Otherwise it is skipped. None for the rule of the format."""

    @property
    def tool_format(self) -> ToolFormat | None:
        """The tool format, with the keys or the tags of this grammar. None if the grammar has none."""
        return _format_of(self.tools, self.keys, self.tags, self.call) if self.tools else None


@functools.lru_cache(maxsize=256)
def _format_of(tools: str, keys: CallKeys | None, tags: Tags | PairTags | None, call: MarkerPair | None) -> ToolFormat:
    tool_format = TOOL_FORMATS[tools]
    tool_format = tool_format if keys is None else with_keys(tool_format, keys)
    return tool_format if tags is None or call is None else with_tags(tool_format, tags, call)


_WITH_REASONING = (TurnLayout.MESSAGES, TurnLayout.SEGMENTS)
"""The layouts of formats that have reasoning of their own."""


class ParserOverrides(NamedTuple):
    """The names of a tool parser and of a reasoning parser. None keeps the format that the template shows."""

    tool_parser: str | None = None
    reasoning_parser: str | None = None

    def check(self) -> None:
        """Check the names.

        Raises:
            ValueError: A name is not the name of a parser, or the two parsers cannot be used together.
        """
        if self.tool_parser is not None:
            check_name("tool_parser", self.tool_parser, TOOL_PARSERS, UNREAD_TOOL_PARSERS)
        if self.reasoning_parser is not None:
            check_name("reasoning_parser", self.reasoning_parser, REASONING_PARSERS, UNREAD_REASONING_PARSERS)
        tools = TOOL_PARSERS.get(self.tool_parser or "")
        reasoning = REASONING_PARSERS.get(self.reasoning_parser or "")
        if tools is None or reasoning is None or reasoning.tools == tools.tools:
            return
        if reasoning.tools is not None or TOOL_FORMATS[tools.tools].layout in _WITH_REASONING:
            raise ValueError(
                f"tool_parser {self.tool_parser!r} and reasoning_parser {self.reasoning_parser!r} are of different "
                "formats, and one of these has both calls and reasoning. Pass only its parser."
            )

    @property
    def from_response_template(self) -> tuple[str, ...]:
        """The options that name the model's `response_template`."""
        return tuple(option for option, name in self._asdict().items() if name in RESPONSE_TEMPLATE_NAMES)


NO_OVERRIDES = ParserOverrides()
"""Parse completions in the format that the template shows."""


def apply_variants(grammar: Grammar, variants: CompletionVariants, *, tools: str | None = None) -> Grammar:
    """Return a grammar of completions that differ from the turns of a template.

    `tools` is the key of the tool format of models with a template that writes no calls.

    >>> apply_variants(Grammar(), CompletionVariants(keeps_text=True)).keeps_text
    True
    """
    if variants.reasoning is not None and grammar.reasoning is None:
        grammar = _with_reasoning(grammar, variants.reasoning, lead=variants.reasoning_lead)
    if grammar.tools is None and tools is not None and tools in TOOL_FORMATS:
        grammar = _with_tools(grammar, tools)
    return replace(
        grammar,
        reasoning_anywhere=variants.reasoning_anywhere,
        ends_reasoning=variants.ends_reasoning,
        keeps_text=variants.keeps_text,
    )


def apply_overrides(grammar: Grammar, overrides: ParserOverrides, *, declared: Grammar | None = None) -> Grammar:
    """Return a grammar with the formats of the named parsers. A format that it already has is kept with its padding.

    `declared` is the grammar of the model's `response_template`, for parsers with its name.

    >>> apply_overrides(Grammar(), ParserOverrides(tool_parser="qwen3")).tools
    'hermes'
    """
    named, reasoning = TOOL_PARSERS.get(overrides.tool_parser or ""), None
    if declared is not None and "tool_parser" in overrides.from_response_template:
        grammar = with_calls_of(grammar, declared)
    if declared is not None and "reasoning_parser" in overrides.from_response_template:
        is_same = grammar.reasoning and declared.reasoning and grammar.reasoning.markers == declared.reasoning.markers
        grammar = grammar if is_same else replace(grammar, reasoning=declared.reasoning)
    else:
        reasoning = REASONING_PARSERS.get(overrides.reasoning_parser or "")
    if named is not None:
        grammar = _with_tools(grammar, named.tools)
        grammar = grammar if named.call is None else replace(grammar, call=named.call)
    if reasoning is not None and reasoning.tools is not None:
        grammar = _with_tools(grammar, reasoning.tools)
    if reasoning is not None and reasoning.response is not None:
        content = replace(grammar.content, lead="\n", trail="\n")
        grammar = replace(grammar, response=reasoning.response, content=content)
    if reasoning is not None and reasoning.markers is not None:
        grammar = _with_reasoning(grammar, reasoning.markers, lead=reasoning.lead)
    return grammar


def with_calls_of(grammar: Grammar, other: Grammar) -> Grammar:
    """Return a grammar with the calls of another one."""
    return replace(grammar, tools=other.tools, section=other.section, call=other.call, keys=other.keys, tags=other.tags)


def _with_reasoning(grammar: Grammar, markers: MarkerPair, *, lead: str) -> Grammar:
    if grammar.reasoning is not None and grammar.reasoning.markers == markers:
        return grammar
    # No template shows the padding, so this is the usual padding.
    edges = Edges(lead=lead, left=SPACES, right=SPACES)
    return replace(grammar, reasoning=ReasoningFormat(markers=markers, edges=edges, after="\n\n"))


def _with_tools(grammar: Grammar, key: str) -> Grammar:
    if grammar.tools == key:
        return grammar
    own = TOOL_FORMATS[key]
    return with_calls_of(grammar, Grammar(tools=key, section=own.section, call=own.call))
