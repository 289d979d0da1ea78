"""The pieces of the tools are one text in the spans of runs that have them, and no other span changes."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.core.spans import Span
from renderers.core.tool_list import ToolList
from renderers.programs.tool_pieces import ToolPieces
from renderers.templating import ChatTemplate
from renderers.templating.template import TemplateRun

TOOLS = ToolList([{"name": name, "description": f"{name}!"} for name in ("f", "g", "h", "i")])
LOOP = "{% for t in tools %}<{{ t.name }}: {{ t.description }}>{% endfor %}"
MACRO = "{% macro m(t) %}<{{ t.name }}: {{ t.description }}>{% endmacro %}{% for t in tools %}{{ m(t) }}, {% endfor %}"
MESSAGES = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
SYSTEM, USER = {"role": "system", "content": "S"}, {"role": "user", "content": "U"}
TEMPLATES = [
    LOOP + MESSAGES,
    MACRO + MESSAGES,
    "{% if tools %}# " + LOOP + " #{% endif %}" + MESSAGES,
    "{% if tools %}{{ messages[0].content }}" + LOOP + "{% endif %}" + MESSAGES,
    "{% for m in messages %}{% if loop.first %}(" + LOOP + "){% endif %}{{ m.content }}{% endfor %}",
    MESSAGES + LOOP + "{% if add_generation_prompt %}>{% endif %}",
    "{% for m in messages %} {% if loop.first %} " + LOOP + "{% endif %}[{{ m.content }}]{% endfor %}",
]


def run(source: str, *messages: dict[str, Any], tools: Any = TOOLS) -> TemplateRun:
    return ChatTemplate(source, verify=False).run(messages, tools=tools, add_generation_prompt=True)


def pieces_of(source: str, *messages: dict[str, Any]) -> ToolPieces:
    # The first run keeps the output of the tools.
    run(source, *messages)
    pieces = ToolPieces.find(run(source, *messages))
    assert pieces is not None
    return pieces


def joined(spans: tuple[Span, ...], pieces: ToolPieces, trace: TemplateRun) -> list[tuple[int, int, Any]]:
    """Return the spans that are not all within the pieces, cut at their ends, with the owner of each."""
    start = len("".join(trace.pieces[: pieces.start]))
    end = start + len(pieces.text)
    cut = [(span.start, min(span.end, start), span) for span in spans if span.start < start]
    cut += [(max(span.start, end), span.end, span) for span in spans if span.end > end]
    return [(begin, stop, span[2:]) for begin, stop, span in cut]


@pytest.mark.parametrize("source", TEMPLATES)
@pytest.mark.parametrize("messages", [[USER], [SYSTEM, USER], [{**SYSTEM, "content": ""}, USER, USER]])
def test_other_spans_stay(source: str, messages: list[dict[str, Any]]) -> None:
    pieces = pieces_of(source, SYSTEM, USER)
    trace = run(source, *messages)
    spans = pieces.spans_of(trace)
    if spans is None:
        return
    assert len(spans) < len(trace.spans)
    assert "".join(trace.text[span.start : span.end] for span in spans) == trace.text
    assert joined(spans, pieces, trace) == joined(trace.spans, pieces, trace)


@pytest.mark.parametrize("source", TEMPLATES[:4])
def test_a_run_with_the_same_tools_has_the_pieces(source: str) -> None:
    pieces = pieces_of(source, SYSTEM, USER)
    assert pieces.spans_of(run(source, {**SYSTEM, "content": "another"}, USER, USER)) is not None


def test_a_run_with_other_tools_has_not() -> None:
    pieces = pieces_of(LOOP + MESSAGES, USER)
    equal = ToolList([dict(tool) for tool in TOOLS])
    for tools in (equal, ToolList(list(TOOLS)[:2]), []):
        assert pieces.spans_of(run(LOOP + MESSAGES, USER, tools=tools)) is None


def test_the_owner_of_the_template_text_is_left() -> None:
    # The text before the tools is that of the first message if it is a system message.
    source = "# " + LOOP + "{% for m in messages %}{{ m.content }}{% endfor %}"
    pieces = pieces_of(source, SYSTEM, USER)
    messages_of = [[SYSTEM, USER], [USER, SYSTEM]]
    spans_of = [pieces.spans_of(run(source, *given)) for given in messages_of]
    owners = [spans and spans[0].message for spans in spans_of]
    assert owners == [0, -1]


def test_few_pieces_are_not_replaced() -> None:
    assert ToolPieces.find(run(LOOP + MESSAGES, USER, tools=ToolList([{"name": "f"}]))) is None
    assert ToolPieces.find(run(MESSAGES, USER)) is None


def test_a_text_that_was_cut_has_its_own_spans() -> None:
    pieces = pieces_of(LOOP + MESSAGES, USER)
    trace = run(LOOP + MESSAGES, USER)
    assert pieces.spans_of(trace.truncate(len(trace.text) - 1)) is None
