"""Parsers of tool calls and reasoning by name, as in release 0.1. `parse_response` of a renderer does more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, TypeVar

from renderers.core.completions import ParsedToolCall
from renderers.core.inputs import TokenizerLike
from renderers.core.token_ids import as_ids
from renderers.parsing.compiled import compile_grammar
from renderers.parsing.grammar import Grammar, ParserOverrides, apply_overrides
from renderers.parsing.parser import ResponseParser
from renderers.tokenizer import adopt_tokenizer

_Parser = TypeVar("_Parser")


class ToolParser:
    """Reads tool calls of one format from the ids of a completion."""

    format_name: ClassVar[str]

    def __init__(self, tokenizer: TokenizerLike) -> None:
        grammar = apply_overrides(Grammar(), ParserOverrides(tool_parser=self.format_name))
        self._grammar = compile_grammar(grammar, adopt_tokenizer(tokenizer).vocab, stops=())

    def extract(self, ids: Iterable[int]) -> tuple[list[int], list[ParsedToolCall]]:
        """Return the ids before the first call, and all calls."""
        completion = as_ids(ids, name="ids")
        parser = ResponseParser(self._grammar, None, prefill=self._grammar.assumed_prefill)
        calls = list(parser.close(completion).tool_calls)
        end = next((call.token_span[0] for call in calls if call.token_span is not None), len(completion))
        return completion[:end], calls


class Qwen3ToolParser(ToolParser):
    """Reads JSON between `<tool_call>` markers."""

    format_name = "qwen3"


class Qwen35ToolParser(ToolParser):
    """Reads functions and parameters in XML between `<tool_call>` markers."""

    format_name = "qwen3.5"


class GlmToolParser(ToolParser):
    """Reads keys and values in XML between `<tool_call>` markers."""

    format_name = "glm"


class DeepSeekV3ToolParser(ToolParser):
    """Reads the calls of DeepSeek V3."""

    format_name = "deepseek-v3"


class ThinkTextReasoningParser:
    """Reads reasoning between think markers at the beginning of a text."""

    def __init__(self, tokenizer: object = None) -> None:
        pass

    def extract(self, text: str) -> tuple[str | None, str]:
        """Return the reasoning, None if there is none, and the rest of the text.

        >>> ThinkTextReasoningParser().extract("<think>Add.</think>4")
        ('Add.', '4')
        """
        if not text.startswith("<think>"):
            return None, text
        reasoning, _, content = text.removeprefix("<think>").partition("</think>")
        return reasoning or None, content


TOOL_PARSERS: Mapping[str, type[ToolParser]] = MappingProxyType(
    {parser.format_name: parser for parser in (Qwen3ToolParser, Qwen35ToolParser, GlmToolParser, DeepSeekV3ToolParser)}
)
REASONING_PARSERS: Mapping[str, type[ThinkTextReasoningParser]] = MappingProxyType({"think": ThinkTextReasoningParser})


def get_tool_parser(name: str, tokenizer: TokenizerLike) -> ToolParser:
    """Create the tool parser of a name.

    Raises:
        ValueError: There is no such parser.

    >>> from renderers import EXAMPLE_MODEL, load_tokenizer
    >>> tokenizer = load_tokenizer(EXAMPLE_MODEL)
    >>> ids = tokenizer.encode('Hm. <tool_call>{"name": "look", "arguments": {}}</tool_call>')
    >>> before, calls = get_tool_parser("qwen3", tokenizer).extract(ids)
    >>> tokenizer.decode(before), calls[0].name
    ('Hm. ', 'look')
    """
    return _find(name, TOOL_PARSERS, kind="tool_parser")(tokenizer)


def get_reasoning_parser(name: str, tokenizer: object = None) -> ThinkTextReasoningParser:
    """Create the reasoning parser of a name. It does not use the tokenizer.

    Raises:
        ValueError: There is no such parser.
    """
    return _find(name, REASONING_PARSERS, kind="reasoning_parser")(tokenizer)


def _find(name: str, parsers: Mapping[str, _Parser], *, kind: str) -> _Parser:
    if name not in parsers:
        raise ValueError(f"Unknown {kind} {name!r}. Choose one of: {', '.join(parsers)}.")
    return parsers[name]
