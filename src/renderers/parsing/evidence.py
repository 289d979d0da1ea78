"""Round trips: turns that a program renders, parsed with a grammar. They show how far the grammar can be trusted.

A program can lose a part of a turn, such as whitespace around content. A parsed turn that differs from the given one
is correct if the program renders both alike, and if every field that the output contains was found.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING, redact_probe_words
from renderers.core.probes import CALL_ID, reasoning_fields, tool_call
from renderers.core.spans import Channel
from renderers.core.text import compile_alternation
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import Grammar
from renderers.parsing.rendered_turns import RenderedTurn, parse_text
from renderers.probing.turn_format import TurnFormat


class RoundTrip(enum.StrEnum):
    """The outcome of rendering a turn and parsing it."""

    EXACT = "exact"
    LOST = "lost by the template"
    """The parsed turn differs from the given one, but the program renders both alike."""
    DIFFERENT = "different"
    REFUSED = "refused by the template"
    """The program refuses the turn."""


class Evidence(NamedTuple):
    """The outcome for one class of turns, and the difference if there is one."""

    outcome: RoundTrip
    difference: str = ""


class TurnFields(NamedTuple):
    """The fields of an assistant's turn. A call is its name and its arguments."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str | None, Any], ...] = ()


_TEXT = f'{PROBE_CONTENT}\n\n  for i in "ab": {{ x < 3 }}  # é 🙂\n\t- item'
_CODE = "if a < b && c:\n\tprint(\"x\\n\", {'k': [1]})\n"
_TYPED = {"count": 3, "ratio": 0.5, "on": True, "off": False, "none": None, "items": [1, "a"], "box": {"k": [True]}}
_LOOKALIKES = {"zip": "75001", "word": "true", "nothing": "null", "list": "[1]"}
_ONE = (("f", {"city": PROBE_CONTENT}),)

TURN_CLASSES: Mapping[str, TurnFields] = MappingProxyType(
    {
        "content": TurnFields(PROBE_CONTENT),
        "lines of content": TurnFields(_TEXT),
        "spaces around content": TurnFields(f"\n {PROBE_CONTENT} \n"),
        "reasoning": TurnFields(PROBE_CONTENT, PROBE_REASONING),
        "lines of reasoning": TurnFields(PROBE_CONTENT, _TEXT),
        "spaces around reasoning": TurnFields(PROBE_CONTENT, f"\n {PROBE_REASONING} \n"),
        "a call": TurnFields(calls=_ONE),
        "content and a call": TurnFields(PROBE_CONTENT, calls=_ONE),
        "reasoning and a call": TurnFields("", PROBE_REASONING, _ONE),
        "two calls": TurnFields(calls=(("f", {"city": "Rome", "unit": "C"}), ("g", {"city": "Bonn"}))),
        "no arguments": TurnFields(calls=(("f", {}),)),
        "typed arguments": TurnFields(calls=(("f", _TYPED),)),
        "code in arguments": TurnFields(calls=(("f", {"code": _CODE, "note": "it's"}),)),
        "strings like numbers": TurnFields(calls=(("f", _LOOKALIKES),)),
    }
)
"""A turn of each class, by its name."""

PLAIN_CLASSES = ("content", "reasoning")
"""The classes that every grammar should read."""

_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
_IDS = (CALL_ID[:-1] + "{at}", "functions.{name}:{at}")
"""Ids of calls. Some templates accept only nine characters, others write the id in place of the name."""


def try_turns(
    turns: TurnFormat, tool_turns: TurnFormat, grammar: Grammar, ends: frozenset[str], classes: tuple[str, ...]
) -> Mapping[str, Evidence]:
    """Return the evidence for some classes of turns. `ends` are the texts of the tokens that end a turn."""
    fields = {name: TURN_CLASSES[name] for name in classes}
    return MappingProxyType(
        {name: _best(tool_turns if turn.calls else turns, grammar, ends, turn) for name, turn in fields.items()}
    )


def _best(turns: TurnFormat, grammar: Grammar, ends: frozenset[str], fields: TurnFields) -> Evidence:
    """Return the best evidence for a turn with several forms of ids."""
    tried = [_try_turn(turns, grammar, ends, fields, ids) for ids in (_IDS if fields.calls else _IDS[:1])]
    return min(tried, key=lambda evidence: [*RoundTrip].index(evidence.outcome))


def _try_turn(turns: TurnFormat, grammar: Grammar, ends: frozenset[str], fields: TurnFields, ids: str) -> Evidence:
    turn = _render(turns, fields, ids)
    if not turn.trace.text:
        return Evidence(RoundTrip.REFUSED)
    text = _without_end(turn.text_after(grammar.header), grammar, ends)
    parsed = parse_text(grammar, text, tools=_tools_of(fields.calls))
    actual = _fields_of(parsed)
    if actual == fields and all(call.status is ToolCallParseStatus.OK for call in parsed.tool_calls):
        return Evidence(RoundTrip.EXACT)
    if _has_all(turn, actual) and _render(turns, actual, ids).trace.text == turn.trace.text:
        return Evidence(RoundTrip.LOST, _describe(fields, actual))
    return Evidence(RoundTrip.DIFFERENT, _describe(fields, actual))


def _without_end(text: str, grammar: Grammar, ends: frozenset[str]) -> str:
    """Return a turn up to the token that ends it. A token that is a marker within turns, or begins one, does not."""
    pattern, markers = compile_alternation(ends), tuple(markers_within(grammar))
    matches = pattern.finditer(text) if pattern else ()
    positions = (match.start() for match in matches if not text.startswith(markers, match.start()))
    return text[: next(positions, len(text))]


def _render(turns: TurnFormat, fields: TurnFields, ids: str) -> RenderedTurn:
    calls = [
        tool_call(name or "", arguments, call_id=ids.format(name=name, at=at))
        for at, (name, arguments) in enumerate(fields.calls)
    ]
    more: JsonObject = reasoning_fields(fields.reasoning) if fields.reasoning else {}
    return RenderedTurn.of(turns, fields.content, **more, **({"tool_calls": calls} if calls else {}))


def _fields_of(parsed: ParsedResponse) -> TurnFields:
    calls = tuple((call.name, call.arguments) for call in parsed.tool_calls)
    return TurnFields(parsed.content, parsed.reasoning_content or "", calls)


def _has_all(turn: RenderedTurn, actual: TurnFields) -> bool:
    """Return True if a parsed turn has the texts and as many calls as the output contains.

    A template can write content as reasoning, so the fields of the texts are left to the comparison of outputs.
    """
    content, reasoning = (turn.body(channel) or "" for channel in (Channel.CONTENT, Channel.REASONING))
    calls = {span.path[1:2] for span in turn.spans(Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS)}
    written, parsed = ({text.strip() for text in texts} for texts in ((content, reasoning), actual[:2]))
    return written | {""} == parsed | {""} and len(calls) == len(actual.calls)


def _describe(given: TurnFields, actual: TurnFields) -> str:
    """Return the fields that differ, with placeholders for probe words."""
    pairs = zip(TurnFields._fields, given, actual, strict=True)
    differences = [f"{name} {theirs!r} as {ours!r}" for name, theirs, ours in pairs if theirs != ours]
    return redact_probe_words("; ".join(differences))


def _tools_of(calls: Sequence[tuple[str | None, Any]]) -> list[JsonObject]:
    """Return tools that declare the types of the arguments."""
    tools = []
    for name, arguments in calls:
        properties = {key: {"type": _TYPES.get(type(value), "object")} for key, value in arguments.items()}
        parameters = {"type": "object", "properties": properties}
        tools.append({"type": "function", "function": {"name": name, "description": "d", "parameters": parameters}})
    return tools
