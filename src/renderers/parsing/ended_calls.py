"""Decide what a call is that has ended: its name, its status, or several calls in its place."""

from __future__ import annotations

from typing import NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.core.lazy import lazy_pattern
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.grammar import SPACES
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats import FoundCalls, Payload, ToolFormat, TurnLayout
from renderers.parsing.tool_formats.base import recovered

# Attributes of enum classes are slow in Python 3.11.
_OK, _UNCLOSED = ToolCallParseStatus.OK, ToolCallParseStatus.UNCLOSED_BLOCK
_MARKERS = TurnLayout.MARKERS
_BESIDE_CALLS = SPACES + "[],;"
_NOT_IN_NAMES = lazy_pattern(r"""[\s"'`\\{}\[\]()<>|｜=]""")
"""Whitespace, quotes, brackets, and parts of markers and headers. A name with these is text that is not a name."""


def with_tool_name(call: ParsedToolCall, tool_format: ToolFormat, schemas: ToolSchemas) -> ParsedToolCall:
    """Return a call with the name of the tool that its name refers to, and the status that follows from it."""
    if not call.name or call.name in schemas.functions:
        return call
    written, call.name = call.name, schemas.resolve(call.name)
    if call.name != written:
        recovered(call, RecoveryKind.NAME_PREFIX)
    names = schemas.names if tool_format.rejects_unknown_tools else None
    if names and call.name not in names:
        call.status = ToolCallParseStatus.UNKNOWN_TOOL
    elif call.status is _OK and _NOT_IN_NAMES.search(call.name) and call.name not in schemas:
        call.status = ToolCallParseStatus.MALFORMED_STRUCTURE
    return call


class WrittenCall(NamedTuple):
    """The text of a call between its markers, and the byte text of everything around it that belongs to it."""

    payload: Payload
    raw: str
    opening: str
    """The text before the call, up to the end of the marker that opens it."""
    closing: str
    section_closing: str = ""
    """The text that closes a section with only this call in it."""


def ended_calls(
    call: ParsedToolCall,
    written: WrittenCall,
    compiled: CompiledGrammar,
    recoveries: list[RecoveryKind],
    *,
    broken: ToolCallParseStatus | None = None,
    stopped: bool = False,
) -> list[ParsedToolCall]:
    """Return a call that has ended, or all calls of its payload. `broken` and `stopped` are those of `CallReader.end`.

    `recoveries` are the differences of the first one from the format. More can be appended.
    """
    payload, raw, opening, closing, section_closing = written
    tool_format, decode = compiled.tool_format, compiled.marker_text.decode
    assert tool_format is not None
    if call.status is not _OK and broken in (None, _UNCLOSED) and tool_format.layout is _MARKERS:
        listed = tool_format.find(payload) if tool_format.find else None
        several = _read_several(listed, payload, compiled, cut_off=broken is _UNCLOSED) if listed else []
        if several:
            last = several[-1]
            if last.status is not _OK:
                last.text = last.raw + decode(closing)
            elif broken is _UNCLOSED:
                recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)
            kind = RecoveryKind.SEVERAL_CALLS if len(several) > 1 else RecoveryKind.OTHER_SYNTAX
            return [recovered(call, kind) for call in several]
    if broken is not None and call.status is _OK and _is_complete(call, payload, compiled, broken, stopped=stopped):
        # Nothing can be missing but the closing marker.
        broken = None
        if compiled.needs_closing:
            recoveries.append(RecoveryKind.MISSING_CLOSING_MARKER)
    call.raw, call.status = raw, broken or call.status
    if call.status is not _OK:
        closing += section_closing if broken is not _UNCLOSED else ""
        call.text = decode(opening) + raw + decode(closing)
    return [call]


def _is_complete(
    call: ParsedToolCall, payload: Payload, compiled: CompiledGrammar, broken: ToolCallParseStatus, *, stopped: bool
) -> bool:
    """Return True if a call that was parsed lacks nothing but its closing marker."""
    tool_format = compiled.tool_format
    assert tool_format is not None
    # In place of elements a model can write an object.
    is_json = tool_format.json_arguments or RecoveryKind.OTHER_SYNTAX in call.recoveries
    # The arguments of a call with code are a text.
    if is_json and isinstance(call.arguments, dict) and _ends_object(payload.byte_text):
        return True
    if broken is _UNCLOSED and tool_format.last:
        return ends_with_last(payload.byte_text, compiled)
    has_arguments = not tool_format.json_arguments and bool(call.arguments)
    return has_arguments and (broken is not _UNCLOSED or stopped)


def _read_several(
    listed: FoundCalls, payload: Payload, compiled: CompiledGrammar, *, cut_off: bool
) -> list[ParsedToolCall]:
    """Parse the calls found in a payload. Return none if any of them is broken, or if there is text beside them.

    `cut_off` is True if the payload has no end. Then the last one can be broken.
    """
    tool_format = compiled.tool_format
    if tool_format is None or (listed.broken and not (cut_off and len(listed.spans) > 1)):
        return []
    calls, byte_text, position = list[ParsedToolCall](), payload.byte_text, 0
    for number, (start, end) in enumerate(listed.spans, 1):
        part = payload.with_byte_text(byte_text[start:end])
        call = with_tool_name(tool_format.read(part), tool_format, payload.schemas)
        call.raw = payload.decode(byte_text[start:end])
        is_cut_off = cut_off and 1 < number == len(listed.spans)
        if is_cut_off and not (_ends_object(byte_text) or ends_with_last(byte_text, compiled)):
            call.status = _UNCLOSED
        if (call.status is not _OK and not is_cut_off) or byte_text[position:start].strip(_BESIDE_CALLS):
            return []
        calls.append(call)
        position = end
    return [] if byte_text[position:].strip(_BESIDE_CALLS) else calls


def ends_with_last(byte_text: str, compiled: CompiledGrammar) -> bool:
    """Return True if a text ends with one of those that end a complete call."""
    tool_format, mark = compiled.tool_format, compiled.marker_text.mark
    return tool_format is not None and byte_text.rstrip(SPACES).endswith(tuple(map(mark, tool_format.last)))


def add_recoveries(call: ParsedToolCall, recoveries: list[RecoveryKind]) -> None:
    """Move differences from the format to a call."""
    if recoveries:
        call.recoveries = tuple(dict.fromkeys((*recoveries, *call.recoveries)))
        recoveries.clear()


def _ends_object(byte_text: str) -> bool:
    """Return True if a text ends with a JSON object, which can be between fences."""
    return byte_text.rstrip(SPACES + "`").endswith("}")
