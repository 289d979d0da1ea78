"""The short form of `tests.stress_templates`; `make stress` runs the long one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers.core.spans import Span, Trace
from renderers.templating import template
from tests.stress_templates import problem_of, run
from tests.support.parity import EACH_ONCE, mark
from tests.support.sources import wrong_in

EMBEDDED_TEMPLATE, *OTHERS = EACH_ONCE


def test_every_conversation_has_the_text_of_jinja_and_the_owner_of_every_word() -> None:
    counts = run((str(EMBEDDED_TEMPLATE), 0, 1_000))
    assert wrong_in(counts) == []
    assert counts["conversations"] == 1_000
    assert counts["rendered"] > 500
    assert counts["refused"] > 50


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_every_conversation_of_a_real_template_has_the_text_of_jinja_and_the_owner_of_every_word(path: Path) -> None:
    assert wrong_in(run((str(path), 0, 20))) == []


def test_a_text_that_is_not_jinjas_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        def render(self, *_: Any) -> str:
            return "another text"

    monkeypatch.setattr(template, "_compile_plain", lambda _: Plain())
    assert "TraceMismatchError" in wrong_in(run((str(EMBEDDED_TEMPLATE), 0, 5)))[0]


@pytest.mark.parametrize(
    ("spans", "problem"),
    [
        ([(0, 3, 0, ()), (3, 12, 0, ("content",))], None),
        ([(0, 3, 0, ()), (3, 11, 0, ("content",))], "the spans do not tile"),
        ([(0, 3, 0, ()), (4, 12, 0, ("content",))], "the spans do not tile"),
        ([(0, 3, 0, ()), (3, 12, 0, ("role",))], "wrong owners: content attributed to role"),
        ([(0, 3, 0, ()), (3, 12, 1, ("content",))], "wrong owners: content attributed to content"),
        ([(0, 4, 0, ()), (4, 12, 0, ("content",))], "wrong owners: content attributed to no field"),
    ],
)
def test_errors_in_spans_are_found(spans: list[tuple[Any, ...]], problem: str | None) -> None:
    messages = mark([{"role": "user", "content": "Hello"}, {"role": "user", "content": "There"}])
    trace = Trace(f"<u>{messages[0]['content']}", tuple(Span(*span) for span in spans))
    assert problem_of(trace, messages) == problem
