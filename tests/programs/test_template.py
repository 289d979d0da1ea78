"""A chat template is a program: it adapts messages, runs the template, and describes it."""

from __future__ import annotations

from typing import Any

from renderers.core.spans import Span
from renderers.programs.template import TemplateProgram
from renderers.templating import ChatTemplate
from tests.support.parity import NOW

SOURCE = (
    "{{ bos_token }}{% for m in messages %}{{ m.role + ': ' + m.content }}"
    "{% if style == 'loud' %}!{% endif %}{% endfor %}"
)
PROGRAM = TemplateProgram(ChatTemplate(SOURCE), (("bos_token", "<s>"),))
PARTS: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


def test_a_run_has_the_adapted_messages_the_text_and_its_trace() -> None:
    run = PROGRAM.run(PARTS, arguments={"style": "loud"}, now=NOW)
    assert run.messages == [{"role": "user", "content": "Hi"}]
    assert run.text == run.trace.text == "<s>user: Hi!"
    assert Span(9, 11, 0, ("content",)) in run.trace.spans


def test_arguments_override_special_tokens() -> None:
    assert PROGRAM.run(PARTS, arguments={"bos_token": "<b>"}, now=NOW).text == "<b>user: Hi"


def test_it_describes_its_template() -> None:
    assert [PROGRAM.mentions(name) for name in ("style", "content", "tools", "styl")] == [True, False, False, False]
    assert PROGRAM.may_write("!")
    assert not PROGRAM.may_write("?")
    assert "loud" in PROGRAM.literals.whole
    assert PROGRAM.readable_fields is not None
    assert {"role", "content"} <= PROGRAM.readable_fields
    assert "name" not in PROGRAM.readable_fields


def test_its_digest_depends_on_the_source_only() -> None:
    assert PROGRAM.digest == TemplateProgram(ChatTemplate(SOURCE), ()).digest
    assert PROGRAM.digest != TemplateProgram(ChatTemplate(SOURCE + " "), ()).digest


def test_only_arguments_that_it_reads_are_probed() -> None:
    assert PROGRAM.probe_arguments({"style": "loud", "other": 1}) == (("style", "loud"),)
