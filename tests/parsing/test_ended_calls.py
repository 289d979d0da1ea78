"""A call that has ended has its status and its text, or is several calls."""

from __future__ import annotations

from renderers.core.completions import ParsedToolCall, RecoveryKind, ToolCallParseStatus
from renderers.parsing.ended_calls import WrittenCall, add_recoveries, ended_calls, with_tool_name
from renderers.parsing.schema import ToolSchemas
from renderers.parsing.tool_formats import TOOL_FORMATS, Payload
from tests.support.completions import grammar_of, reader_of_bytes

HERMES, UNCLOSED = TOOL_FORMATS["hermes"], ToolCallParseStatus.UNCLOSED_BLOCK
ONE = '{"name": "look", "arguments": {}}'


def ended(text: str, *, broken: ToolCallParseStatus | None = None) -> tuple[list[ParsedToolCall], list[RecoveryKind]]:
    """End a call in the format of Hermes. Return the calls, and the differences of the first one from the format."""
    compiled = reader_of_bytes(grammar_of("hermes"), marks=False).compiled
    payload = Payload(text, str, str, ToolSchemas(None))
    recoveries: list[RecoveryKind] = []
    written = WrittenCall(payload, text, " <tool_call>", "" if broken else "</tool_call>")
    return ended_calls(HERMES.read(payload), written, compiled, recoveries, broken=broken), recoveries


def test_a_broken_call_has_its_text_with_markers() -> None:
    ((call,), recoveries) = ended("{oops")
    assert (call.status, call.raw, call.text) == ("invalid_json", "{oops", " <tool_call>{oops</tool_call>")
    assert not recoveries


def test_a_complete_call_needs_no_closing_marker() -> None:
    ((call,), recoveries) = ended(ONE, broken=UNCLOSED)
    assert (call.status, call.text) == ("ok", "")
    assert recoveries == [RecoveryKind.MISSING_CLOSING_MARKER]
    ((call,), recoveries) = ended(ONE[:-1], broken=UNCLOSED)
    assert (call.status, call.text) == (UNCLOSED, f" <tool_call>{ONE[:-1]}")
    assert not recoveries


def test_several_calls_take_the_place_of_one() -> None:
    calls, _ = ended(f"{ONE}, {ONE}")
    assert [(call.raw, call.recoveries) for call in calls] == [(ONE, (RecoveryKind.SEVERAL_CALLS,))] * 2
    ((call,), _) = ended(f"{ONE} and {ONE}")
    assert call.status == "malformed_structure"


def test_a_name_with_a_prefix_is_that_of_the_tool() -> None:
    schemas = ToolSchemas([{"name": "look"}])
    call = with_tool_name(ParsedToolCall("", "functions.look:0", {}), HERMES, schemas)
    assert (call.name, call.status, call.recoveries) == ("look", "ok", (RecoveryKind.NAME_PREFIX,))
    assert with_tool_name(ParsedToolCall("", "look at", {}), HERMES, schemas).status == "malformed_structure"


def test_differences_are_moved_to_the_call() -> None:
    call = ParsedToolCall("", "look", recoveries=(RecoveryKind.CODE_FENCE,))
    recoveries = [RecoveryKind.OTHER_SYNTAX, RecoveryKind.CODE_FENCE]
    add_recoveries(call, recoveries)
    assert (call.recoveries, recoveries) == ((RecoveryKind.OTHER_SYNTAX, RecoveryKind.CODE_FENCE), [])
