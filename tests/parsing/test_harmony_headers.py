"""Headers of Harmony messages are read, also those that lack a part."""

from __future__ import annotations

import pytest

from renderers.parsing.harmony_headers import Header, cut_recipient, is_unmarked_header, read_header

TOOLS = {"look", "final", "lookfinal"}


@pytest.mark.parametrize(
    ("text", "role", "channel", "recipient", "is_complete"),
    [
        ("<|start|>assistant<|channel|>analysis", "assistant", "analysis", None, True),
        ("<|channel|>commentary to=functions.look <|constrain|>json", "", "commentary", "functions.look", True),
        ("<|start|>user to=assistant<|channel|>commentary", "user", "commentary", "assistant", True),
        ("<|start|>assistant", "assistant", "", None, True),
        ("<|start|>assistant to=look", "assistant", "", "look", False),
        ("assistantcommentary to=look", "", "commentary", "look", False),
        ("<|start|>assistantfinal<|channel|>analysis", "assistantfinal", "analysis", None, False),
        ("<|channel|>final", "", "final", None, True),
        (" to=functions.lookcommentary", "", "commentary", "functions.look", False),
        (" to=functions.lookfinal<|channel|>commentary", "", "commentary", "functions.lookfinal", True),
        (" to=functions.otherfinal<|channel|>commentary", "", "commentary", "functions.otherfinal", True),
        ("<|channel|>look", "", "", "look", False),
        ("<|channel|>functions.other", "", "", "functions.other", False),
        ("<|channel|>commentary look", "", "commentary", None, True),
    ],
)
def test_a_header_has_a_role_a_channel_and_a_recipient(
    text: str, role: str, channel: str, recipient: str | None, is_complete: bool
) -> None:
    header = read_header(text, TOOLS)
    assert header[:3] == (role, channel, recipient)
    assert header.recoveries == (() if is_complete else ("incomplete_header",))


def test_a_message_to_the_user_is_not_a_call() -> None:
    assert [Header(recipient=name).is_call for name in ("look", "", "user", "assistant", None)] == [
        *(True, True),
        *(False, False, False),
    ]


@pytest.mark.parametrize("text", ["<|channel|>final", "look to=x", "<|start|>user to=look", "to=user", "to=assistant"])
def test_text_that_is_no_header_of_a_call_has_no_cut_recipient(text: str) -> None:
    assert cut_recipient(text, TOOLS, at_end=False) is None


@pytest.mark.parametrize(
    ("text", "is_header"),
    [("assistant", True), ("final", True), ("assistantfinal answer", False), ("json", False), ("to=x code", True)],
)
def test_a_header_without_markers_has_nothing_but_its_parts(text: str, is_header: bool) -> None:
    assert is_unmarked_header(text) == is_header
