"""`ParsedResponse.to_message` for responses that were made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import ParsedResponse, ParsedToolCall, ToolCallParseStatus

ROME = {"city": ["Rome"]}


def message_of(call: ParsedToolCall) -> dict[str, Any]:
    return dict(ParsedResponse("Look: ", tool_calls=[call]).to_message())


def test_a_message_has_only_the_fields_of_the_response() -> None:
    assert ParsedResponse("Hi").to_message() == {"role": "assistant", "content": "Hi"}
    thought = ParsedResponse("", "Hm.").to_message()
    assert thought == {"role": "assistant", "content": "", "reasoning_content": "Hm."}


@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        (ToolCallParseStatus.OK, ROME),
        (ToolCallParseStatus.OK, "x"),
        (ToolCallParseStatus.OK, None),
        (ToolCallParseStatus.UNKNOWN_TOOL, ROME),
        (ToolCallParseStatus.INVALID_JSON, ROME),
    ],
)
@pytest.mark.parametrize("id", [None, "functions.look:0"])
def test_a_whole_call_is_a_tool_call(status: ToolCallParseStatus, arguments: Any, id: str | None) -> None:  # noqa: A002
    call = ParsedToolCall("raw", "look", arguments, status=status, id=id, text="<raw>")
    function = {"name": "look", "arguments": arguments}
    expected = {"type": "function", "function": function} | ({} if id is None else {"id": id})
    assert message_of(call) == {"role": "assistant", "content": "Look: ", "tool_calls": [expected]}


@pytest.mark.parametrize(
    ("status", "name", "arguments"),
    [
        (ToolCallParseStatus.INVALID_JSON, None, None),
        (ToolCallParseStatus.INVALID_JSON, "look", None),
        (ToolCallParseStatus.INVALID_JSON, "look", '{"city": '),
        (ToolCallParseStatus.UNCLOSED_BLOCK, "look", ROME),
        (ToolCallParseStatus.MISSING_NAME, None, ROME),
        (ToolCallParseStatus.MALFORMED_STRUCTURE, "look", ROME),
    ],
)
def test_a_broken_call_is_content(status: ToolCallParseStatus, name: str | None, arguments: Any) -> None:
    call = ParsedToolCall("raw", name, arguments, status=status, text="<raw>")
    assert message_of(call) == {"role": "assistant", "content": "Look: <raw>"}
    by_hand = ParsedToolCall("raw", name, arguments, status=status)
    assert message_of(by_hand) == {"role": "assistant", "content": "Look: raw"}


def test_a_message_shares_nothing_with_the_response() -> None:
    call = ParsedToolCall("", "look", {"city": ["Rome"]})
    message_of(call)["tool_calls"][0]["function"]["arguments"]["city"].append("Paris")
    assert call.arguments == {"city": ["Rome"]}
