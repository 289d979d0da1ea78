"""Read and write Hugging Face's `response_template`: the record of a turn's format in `tokenizer_config.json`.

A record has a `start_anchor`, the text that opens a turn, and a field for each part of a message, with the text or the
regular expression that opens and closes it, and the parser of its content.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from renderers.core.lazy import lazy_pattern
from renderers.parsing.grammar import SPACES, Edges, Grammar, ParserOverrides, ReasoningFormat
from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair
from renderers.parsing.tool_formats.base import CallKeys

VERSION = 1
REASONING_FIELDS = "reasoning_content", "reasoning", "thinking"
"""The names of the field of reasoning. The first one is written."""

_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)
_SPACES = r"\s*"
_PLACEHOLDER = lazy_pattern(r"\{(?:content\.)?(\w+\.)?(\w+)\}")
"""A member of the parsed content, or of an object in it."""


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
        # A parser of records trims whitespace, but no word such as the channel of Gemma 4.
        opening += grammar.reasoning.edges.lead.rstrip()
        fields[REASONING_FIELDS[0]] = {"open": opening, "close": closing, "content": "text"}
    fields["content"] = {"content": "text"}
    if grammar.response is not None:
        fields["content"] |= {"open": grammar.response[0], "close": grammar.response[1]}
    if grammar.tools is not None:
        write = _WRITERS.get(grammar.tools)
        if write is None or grammar.call is None:
            reason = _INEXPRESSIBLE.get(grammar.tools, "it needs markers around its calls")
            written = ", ".join(_WRITERS)
            raise ValueError(
                f"the tool-call format {grammar.tools!r} cannot be written as response_template: {reason}. "
                f"Supported: {written}."
            )
        if grammar.tags is not None:
            raise ValueError(
                f"the tool-call format {grammar.tools!r} cannot be written as response_template with other tags than "
                "its own."
            )
        field = write(grammar.call)
        if grammar.keys is not None:
            field["transform"] = _called(*_members(grammar.keys, "" if field.get("transform_each") else "content."))
        fields["tool_calls"] = _with_section(field, grammar.section)
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
        ValueError: The record is not a mapping, or has another version, or calls in a format that is not read.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"response_template must be a mapping, not {type(record).__name__}")
    version = record.get("version", VERSION)
    if version != VERSION:
        raise ValueError(f"response_template version {version!r} is not supported. Use version {VERSION}.")
    fields = record.get("fields")
    if not isinstance(fields, Mapping) or not fields:
        raise ValueError("response_template has no fields")
    trimmed = Edges(left=SPACES, right=SPACES)
    markers = next((_literals(fields[name]) for name in REASONING_FIELDS if name in fields), None)
    tools, call = _read_calls(fields["tool_calls"]) if "tool_calls" in fields else (None, None)
    keys = _read_keys(fields["tool_calls"]) if tools and TOOL_FORMATS[tools].keys else None
    return Grammar(
        header=_first(record.get("start_anchor")),
        reasoning=ReasoningFormat(markers=markers, edges=trimmed) if markers else None,
        content=trimmed,
        content_before_calls=Edges(right=SPACES),
        response=_literals(fields.get("content", {})),
        tools=tools,
        section=TOOL_FORMATS[tools].section if tools else None,
        call=call,
        keys=None if tools is None or keys == TOOL_FORMATS[tools].keys else keys,
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
    if field.get("transform_each") and key not in _LISTS:
        return "jamba", literals or (_first(field.get("open")), "")
    if key is not None:
        own = TOOL_FORMATS[key].call
        is_own = own is not None and literals == tuple(marker.strip() for marker in own)
        return key, literals if literals and not is_own and TOOL_FORMATS[key].section is None else own
    if field.get("content") == "json" and literals and not arguments:
        return "hermes", literals
    raise ValueError("response_template has calls in a format that is not read. Pass tool_parser= with its name.")


def _read_keys(field: Mapping[str, Any]) -> CallKeys | None:
    """Return the keys of calls that are JSON objects. None if the record does not have them as placeholders."""
    called = (field.get("transform") or {}).get("function") or {}
    paths = [_PLACEHOLDER.fullmatch(str(called.get(key, ""))) for key in ("name", "arguments")]
    if paths[0] is None or paths[1] is None or paths[0][1] != paths[1][1]:
        return None
    return CallKeys(paths[0][2], paths[1][2], (paths[0][1] or "").rstrip("."))


_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "seed_xml": ("<seed:tool_call>", "<function="),
    "qwen_xml": ("<function=", "<parameter="),
    "functionary": ("<function=",),
    "hy3": ("<tool_sep:opensource>",),
    "hy3_plain": ("<tool_sep>",),
    "glm": ("<arg_key>", "<arg_value>"),
    "step3": ("<steptml:invoke name=",),
    "dots": ("<dots_function_call>",),
    "minicpm": ("<function name=", "<param name="),
    "minimax": ("<invoke name=", "<parameter name="),
    "kimi": ("<|tool_call_argument_begin|>",),
    "deepseek_v3": ("<｜tool▁sep｜>", "```json"),
    "deepseek_v31": ("<｜tool▁sep｜>",),
    "gemma": ("<|tool_call>call:",),
    "functiongemma": ("<start_function_call>call:",),
    "mistral": ("[TOOL_CALLS]", "[ARGS]"),
    "mistral_list": ("[TOOL_CALLS]",),
    "command": ("<|START_ACTION|>",),
    "command_r": ("Action:\n```json",),
    "granite": ("<|tool_call|>",),
    "phi4_mini": ("functools",),
    "gigachat": ("<|function_call|>",),
}
"""The texts in the patterns of a field by which a tool format is recognised, the most specific first."""
_LISTS = frozenset({"mistral_list", "command", "command_r", "granite", "phi4_mini"})
"""The formats with JSON lists that have markers of their own. All other lists are those of `jamba`."""


def _members(keys: CallKeys, prefix: str) -> tuple[str, str]:
    """Return the placeholders of the name and the arguments of a call with these keys."""
    path = prefix + (f"{keys.wrapper}." if keys.wrapper else "")
    return f"{{{path}{keys.name}}}", f"{{{path}{keys.arguments}}}"


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


def _with_section(field: dict[str, Any], section: MarkerPair | None) -> dict[str, Any]:
    """Return the field of calls, with the markers around all calls as optional parts of its patterns."""
    field = field if field.get("transform_each") else {"repeats": True, **field}
    if section is None or "open_pattern" not in field:
        return field
    opening, closing = map(re.escape, section)
    return field | {
        "open_pattern": f"(?:{opening}{_SPACES})?{_SPACES}{field['open_pattern']}",
        "close_pattern": f"{field['close_pattern']}(?:{_SPACES}{closing})?",
    }


def _between(call: MarkerPair) -> dict[str, Any]:
    """Return the markers of a field. Without a closing marker, it goes on to the end of the turn."""
    return {"open": call[0], "close": call[1]} if call[1] else {"open": call[0]}


def _hermes(call: MarkerPair) -> dict[str, Any]:
    transform = _called("{content.name}", "{content.arguments}")
    return {**_between(call), "content": "json", "transform": transform}


def _json_list(call: MarkerPair, *, name: str = "name", arguments: str = "arguments") -> dict[str, Any]:
    transform = _called(f"{{{name}}}", f"{{{arguments}}}")
    return {**_between(call), "content": "json", "transform": transform, "transform_each": True}


_command_list = functools.partial(_json_list, name="tool_name", arguments="parameters")


def _mistral(call: MarkerPair) -> dict[str, Any]:
    opening = re.escape(call[0])
    name = rf"{opening}(?P<name>[^\[{{]+)(?:\[CALL_ID\][^\[{{]*)?(?:\[ARGS\])?{_SPACES}(?=\{{)"
    # The next call ends a call, which otherwise goes on to the end of the turn.
    return {**_json_after(name, ""), "close_pattern": f"(?={opening})"}


def _functionary(call: MarkerPair) -> dict[str, Any]:
    return _json_after(rf"{re.escape(call[0])}(?P<name>[^>\n]+)>", call[1])


def _gemma(call: MarkerPair, *, quote: str) -> dict[str, Any]:
    field = _json_after(rf"{re.escape(call[0])}call:(?P<name>[^{{]+)(?=\{{)", call[1])
    return field | {"content_args": {"unquoted_keys": True, "string_delims": [[quote, quote]]}}


def _hy3(call: MarkerPair, *, suffix: str) -> dict[str, Any]:
    opening, closing = map(re.escape, call)
    key, value = (rf"<{tag}{suffix}>(?P<{group}>.*?)</{tag}{suffix}>" for tag, group in _HY3_TAGS)
    return _tagged(rf"{opening}{_SPACES}(?P<name>[^<\s]+)<tool_sep{suffix}>", closing, rf"{key}\s*{value}")


_HY3_TAGS = ("arg_key", "key"), ("arg_value", "value")


def _named_elements(call: MarkerPair, *, prefix: str = "", element: str = "parameter") -> dict[str, Any]:
    """Return the field of calls with an element that has the name, and elements with the values in it."""
    opening, closing = map(re.escape, call)
    tag = rf'<{prefix}{element} name="(?P<key>[^"]+)">(?P<value>.*?)</{prefix}{element}>'
    type_before = rf"(?:function{re.escape('<｜tool_sep｜>')})?" if prefix else ""
    name = rf'{opening}{type_before}{_SPACES}<{prefix}invoke name="(?P<name>[^"]+)">'
    return _tagged(name, rf"</{prefix}invoke>{_SPACES}{closing}", tag)


def _minicpm(call: MarkerPair) -> dict[str, Any]:
    tag = r'<param name="(?P<key>[^"]+)">(?:<!\[CDATA\[)?(?P<value>.*?)(?:\]\]>)?</param>'
    return _tagged(rf'{re.escape(call[0])}(?P<name>[^"]+)">', re.escape(call[1]), tag)


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
    "hy3": functools.partial(_hy3, suffix=":opensource"),
    "hy3_plain": functools.partial(_hy3, suffix=""),
    "step3": functools.partial(_named_elements, prefix="steptml:"),
    "dots": _named_elements,
    "minicpm": _minicpm,
    "gemma": functools.partial(_gemma, quote='<|"|>'),
    "functiongemma": functools.partial(_gemma, quote="<escape>"),
    "functionary": _functionary,
    "gigachat": _hermes,
    "mistral": _mistral,
    "mistral_list": _json_list,
    "jamba": _json_list,
    "granite": _json_list,
    "phi4_mini": _json_list,
    "command": _command_list,
    "command_r": _command_list,
}
"""The functions that write the field of calls of a tool format."""

_FLAGS = "a record has one parser for all values, and an attribute of each value determines its type"
_PYTHON = "a record has no parser for the syntax of Python"
_MESSAGES = "a turn has several messages, and a record has one pattern for each field"
_BARE = "calls have no marker that opens them"
_INEXPRESSIBLE: Mapping[str, str] = {
    **dict.fromkeys(("deepseek_v32", "deepseek_v4", "deepseek_v41", "kimi_k3"), _FLAGS),
    **dict.fromkeys(("lfm2", "olmo", "pythonic"), _PYTHON),
    **dict.fromkeys(("harmony", "inkling", "atem", "solar"), _MESSAGES),
    **dict.fromkeys(("llama", "xlam"), _BARE),
    "apertus": "the name of the tool is a key, and a record cannot return a key",
    "minimax_m3": "values are nested elements, and a record has a parser for one level of elements",
}
"""The reasons why a tool format has no record."""
