"""Read and write Hugging Face's `response_template`: the record of a turn's format in `tokenizer_config.json`.

A record has a `start_anchor`, the text that opens a turn, and a field for each part of a message, with the text or the
regular expression that opens and closes it, and the parser of its content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from renderers.core.lazy import lazy_pattern
from renderers.parsing.grammar import SPACES, Edges, Grammar, ParserOverrides, ReasoningFormat
from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair

VERSION = 1
REASONING_FIELDS = "reasoning_content", "reasoning", "thinking"
"""The names of the field of reasoning. The first one is written."""

_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)
_SPACES = r"\s*"


def write_response_template(grammar: Grammar) -> dict[str, Any]:
    """Return the record of a grammar.

    Raises:
        ValueError: The grammar has no header, or its tool-call format cannot be written as a record.

    >>> grammar = Grammar(header="<|im_start|>assistant\\n", tools="hermes", call=("<tool_call>", "</tool_call>"))
    >>> write_response_template(grammar)["fields"]["tool_calls"]["open"]
    '<tool_call>'
    """
    if not grammar.header:
        raise ValueError("a response_template needs the text that opens a turn, and this format has none")
    fields: dict[str, Any] = {}
    if grammar.reasoning is not None:
        opening, closing = grammar.reasoning.markers
        fields[REASONING_FIELDS[0]] = {"open": opening, "close": closing, "content": "text"}
    fields["content"] = {"content": "text"}
    if grammar.response is not None:
        fields["content"] |= {"open": grammar.response[0], "close": grammar.response[1]}
    if grammar.tools is not None:
        write = _WRITERS.get(grammar.tools)
        if write is None or grammar.call is None:
            written = ", ".join(_WRITERS)
            raise ValueError(
                f"the tool-call format {grammar.tools!r} cannot be written as response_template. Supported: {written}."
            )
        fields["tool_calls"] = {"repeats": True, **write(grammar.call)}
    return {
        "version": VERSION,
        "defaults": {"role": "assistant"},
        "start_anchor": grammar.header,
        "fields": fields,
    }


def read_response_template(record: Mapping[str, Any]) -> Grammar:
    """Return the grammar that a record describes. The tool format is the one that has the same markers.

    Padding is not part of a record, so whitespace around fields is trimmed, as transformers does.

    Raises:
        ValueError: The record has another version, or calls in a format that is not read.
    """
    version = record.get("version", VERSION)
    if version != VERSION:
        raise ValueError(f"response_template version {version!r} is not supported. Use version {VERSION}.")
    fields = record.get("fields")
    if not isinstance(fields, Mapping) or not fields:
        raise ValueError("response_template has no fields")
    trimmed = Edges(left=SPACES, right=SPACES)
    markers = next((_literals(fields[name]) for name in REASONING_FIELDS if name in fields), None)
    tools, call = _read_calls(fields["tool_calls"]) if "tool_calls" in fields else (None, None)
    return Grammar(
        header=_first(record.get("start_anchor")),
        reasoning=ReasoningFormat(markers=markers, edges=trimmed) if markers else None,
        content=trimmed,
        content_before_calls=Edges(right=SPACES),
        response=_literals(fields.get("content", {})),
        tools=tools,
        section=TOOL_FORMATS[tools].section if tools else None,
        call=call,
    )


def read_declared_format(record: Mapping[str, Any] | None, overrides: ParserOverrides) -> Grammar | None:
    """Return the grammar of a model's record if overrides name it. None if they do not.

    Raises:
        ValueError: There is no record, it lacks a field that an override needs, or it cannot be read.
    """
    options = overrides.from_response_template
    if not options:
        return None
    if record is None:
        raise ValueError(
            f"{' and '.join(options)} {getattr(overrides, options[0])!r}: the model has no response_template in its "
            "tokenizer_config.json. Pass the name of a format."
        )
    grammar = read_response_template(record)
    for option, field in (("tool_parser", grammar.tools), ("reasoning_parser", grammar.reasoning)):
        if option in options and field is None:
            raise ValueError(
                f"{option} {getattr(overrides, option)!r}: the model's response_template has no such field"
            )
    return grammar


def _first(literal: object) -> str:
    """Return a literal, or the first one of a list."""
    if isinstance(literal, list) and literal:
        return str(literal[0])
    return literal if isinstance(literal, str) else ""


def _literals(field: Mapping[str, Any]) -> MarkerPair | None:
    """Return the markers of a field without the whitespace around them. None if it has none, or patterns."""
    opening, closing = (_first(field.get(key)).strip() for key in ("open", "close"))
    return (opening, closing) if opening and closing else None


def _read_calls(field: Mapping[str, Any]) -> tuple[str, MarkerPair | None]:
    arguments = field.get("content_args") or {}
    parts = (_first(field.get("open")), field.get("open_pattern", ""), arguments.get("tag_pattern", ""))
    text = _ESCAPED.sub(r"\1", "".join(map(str, parts)))
    key = next((key for key, signature in _SIGNATURES.items() if all(part in text for part in signature)), None)
    literals = _literals(field)
    if key is not None:
        own = TOOL_FORMATS[key].call
        return key, literals if literals and TOOL_FORMATS[key].section is None else own
    if field.get("content") == "json" and literals and not arguments:
        return "hermes", literals
    raise ValueError("response_template has calls in a format that is not read. Pass tool_parser= with its name.")


_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "seed_xml": ("<seed:tool_call>", "<function="),
    "qwen_xml": ("<function=", "<parameter="),
    "glm": ("<arg_key>", "<arg_value>"),
    "minimax": ("<invoke name=", "<parameter name="),
    "kimi": ("<|tool_call_argument_begin|>",),
    "deepseek_v3": ("<｜tool▁sep｜>", "```json"),
    "deepseek_v31": ("<｜tool▁sep｜>",),
}
"""The texts in the patterns of a field by which a tool format is recognised, the most specific first."""


def _called(name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _json_after(name: str, closing: str, *, padding: str = "") -> dict[str, Any]:
    """Return the field of calls with a name that a pattern captures, and JSON up to a closing marker."""
    return {
        "open_pattern": name,
        "close_pattern": padding + re.escape(closing),
        "content": "json",
        "transform": _called("{name}", "{content}"),
    }


def _tagged(name: str, closing: str, tag: str) -> dict[str, Any]:
    """Return the field of calls with a name that a pattern captures, and tags with keys and values."""
    return {
        "open_pattern": name,
        "close_pattern": closing,
        "content": "xml-inline",
        "content_args": {"tag_pattern": tag},
        "transform": _called("{name}", "{content}"),
    }


def _hermes(call: MarkerPair) -> dict[str, Any]:
    transform = _called("{content.name}", "{content.arguments}")
    return {"open": call[0], "close": call[1], "content": "json", "transform": transform}


def _qwen_xml(call: MarkerPair) -> dict[str, Any]:
    opening, closing = map(re.escape, call)
    tag = r"<parameter=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</parameter>"
    return _tagged(rf"{opening}{_SPACES}<function=(?P<name>[^>\n]+)>", rf"</function>{_SPACES}{closing}", tag)


def _glm(call: MarkerPair) -> dict[str, Any]:
    opening, closing = map(re.escape, call)
    tag = r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>"
    return _tagged(rf"{opening}{_SPACES}(?P<name>[^<\s]+)", closing, tag)


def _minimax(call: MarkerPair) -> dict[str, Any]:
    tag = r'<parameter name="(?P<key>[^"]+)">(?P<value>.*?)</parameter>'
    return _tagged(r'<invoke name="(?P<name>[^"]+)">', re.escape(call[1]), tag)


def _kimi(call: MarkerPair) -> dict[str, Any]:
    separator = re.escape("<|tool_call_argument_begin|>")
    name = rf"{re.escape(call[0])}{_SPACES}(?:functions\.)?(?P<name>[^:<]+)(?::\d+)?{_SPACES}{separator}"
    return _json_after(name, call[1])


def _deepseek_v3(call: MarkerPair) -> dict[str, Any]:
    separator = re.escape("<｜tool▁sep｜>")
    return _json_after(
        rf"{re.escape(call[0])}function{separator}(?P<name>[^\n]+)\n```json\n", call[1], padding=r"\n```"
    )


def _deepseek_v31(call: MarkerPair) -> dict[str, Any]:
    return _json_after(rf"{re.escape(call[0])}(?P<name>.+?){re.escape('<｜tool▁sep｜>')}", call[1])


_WRITERS: Mapping[str, Callable[[MarkerPair], dict[str, Any]]] = {
    "hermes": _hermes,
    "qwen_xml": _qwen_xml,
    "seed_xml": _qwen_xml,
    "glm": _glm,
    "minimax": _minimax,
    "kimi": _kimi,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v31": _deepseek_v31,
}
"""The functions that write the field of calls of a tool format."""
