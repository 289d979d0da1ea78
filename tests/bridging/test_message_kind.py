"""Messages that a template writes alike are of a kind."""

from __future__ import annotations

from typing import Any

from renderers.bridging.message_kind import kind_of
from renderers.probing.literals import Searches


def test_words_are_of_no_account_unless_the_template_looks_for_them() -> None:
    def kind(content: Any, **other: Any) -> Any:
        return kind_of({"role": "user", "content": content, **other}, Searches(frozenset({"<x>"}), frozenset({"wipe"})))

    assert kind("one") == kind("another")
    assert len({kind("one"), kind("a<x>b"), kind(" one"), kind(""), kind(["one"]), kind("one", name="Ada")}) == 6
    assert kind([{"type": "text", "text": "a<x>"}]).words == kind("a<x>").words
    assert kind("a<x>") != kind("<x>a")
    assert kind("wipe") != kind("wiped") == kind("one")
    assert kind("one", name="Ada") == kind("one", name="Eve") != kind("one", name="wipe")
    assert kind("one", tool_call_id="c1") == kind("one", tool_call_id="c2")
