"""A refusal names the new messages, the fault and the remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from renderers import BridgeReason, ControlTextError, MessageError, UnencodableTextError
from renderers.bridging.refusal import REMEDIES, describe_new, naming_new_messages, refuse

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "bridge-reasons.md"


def test_each_reason_has_the_remedy_of_the_docs() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([^|]*) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {reason: fix.lower().replace("`", "") for reason, fix in rows} == {
        reason.value: REMEDIES[reason].removesuffix(".").replace("the whole conversation", "the conversation").lower()
        for reason in BridgeReason
    }


def test_the_docs_have_a_detail_with_the_remedy_for_each_reason() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?!.* \| )(.*) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [*dict(rows)] == [reason.value for reason in BridgeReason]
    assert [reason for reason, detail in rows if not detail.endswith(REMEDIES[BridgeReason(reason)])] == []


@pytest.mark.parametrize(("fault", "detail"), [("no", "no. Fix the messages."), ("No!", "No! Fix the messages.")])
def test_a_refusal_ends_with_its_remedy(fault: str, detail: str) -> None:
    assert refuse(BridgeReason.MESSAGE_REFUSED, fault).detail == detail


def test_new_messages_are_named_by_index_and_role() -> None:
    messages = [{"role": role} for role in ("tool", "tool", "user")]
    assert describe_new(messages[:1]) == "new message 0 (tool)"
    assert describe_new(messages) == "new messages 0 (tool), 1 (tool) and 2 (user)"


def test_errors_name_new_messages_and_keep_their_class() -> None:
    with pytest.raises(ControlTextError, match=r"^new message 1: content contains") as caught, naming_new_messages():
        raise ControlTextError.at("<|end|>", message=1, path=("content",))
    assert (caught.value.message, caught.value.path) == (1, ("content",))
    with pytest.raises(MessageError, match=r"^tools\.0 must be"), naming_new_messages():
        raise MessageError("must be a dict", path=("tools", 0))
    with pytest.raises(UnencodableTextError, match=r"^a character"), naming_new_messages():
        raise UnencodableTextError("a character")
