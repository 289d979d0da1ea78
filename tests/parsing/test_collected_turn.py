"""The fields of a turn get the tokens that begin in them."""

from __future__ import annotations

from array import array

from renderers.core.completions import ParsedPart, ParsedToolCall, RecoveryKind, Region, SkippedText
from renderers.parsing.collected_turn import CollectedTurn
from renderers.parsing.compiled import BESIDE_CALLS

TEXT = "(Hm)Hello<call>x</call>ab"


def test_fields_have_the_tokens_that_begin_in_them() -> None:
    # The tokens are "(", "Hm)", "Hello<", "call>", "x", "</call>", "", "ab".
    turn = CollectedTurn(TEXT, array("Q", [0, 1, 4, 10, 15, 16, 23, 23]))
    turn.add_field(Region.REASONING, 1, 3)
    turn.reasoning.append("Hm")
    turn.add_field(Region.CONTENT, 4, 9)
    turn.content.append("Hello")
    call, recoveries = ParsedToolCall("x", "x", {}, id="1"), [RecoveryKind.OTHER_SYNTAX]
    turn.add_calls([call], recoveries, (9, 15, 16, 23))
    turn.add_skipped("ab", 23, 25)
    response = turn.response()
    assert (response.reasoning_content, response.content, response.tool_calls) == ("Hm", "Hello", [call])
    assert response.parts == (
        ParsedPart(Region.MARKER, 0, 1),
        ParsedPart(Region.REASONING, 1, 2),
        ParsedPart(Region.CONTENT, 2, 3),
        ParsedPart(Region.MARKER, 3, 4),
        ParsedPart(Region.CALL, 4, 5),
        ParsedPart(Region.MARKER, 5, 6),
        ParsedPart(Region.SKIPPED, 6, 8),
    )
    assert call.token_span == (3, 6)
    assert response.skipped == (SkippedText("ab", BESIDE_CALLS, 6, 8),)
    assert [(one.kind, one.start, one.end, one.call) for one in response.recoveries] == [("other_syntax", 3, 6, 0)]
    assert response.state.calls == (("1", "x"),)


def test_adjacent_skipped_texts_are_joined() -> None:
    # All of the call is within the token before it.
    turn = CollectedTurn("a<>b", array("Q", [0, 3]))
    turn.add_skipped("a", 0, 1)
    turn.add_calls([ParsedToolCall("")], [], (1, 2, 2, 3))
    turn.add_skipped("b", 3, 4)
    assert turn.response().skipped == (SkippedText("ab", BESIDE_CALLS, 0, 2),)


def test_an_empty_turn_has_no_parts() -> None:
    response = CollectedTurn("", array("Q")).response()
    assert (response.content, response.reasoning_content, response.parts, response.state.region) == (
        "",
        None,
        (),
        Region.START,
    )
