"""Render system messages alone with a template that requires a user message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from renderers.core.jsontypes import JsonObject
from renderers.core.probes import ASK
from renderers.core.spans import Trace
from renderers.programs.base import REJECTIONS

_LEADING_ROLES = frozenset({"system", "developer"})


def run_lone_system(run: Callable[[list[JsonObject]], Trace], messages: Sequence[JsonObject]) -> Trace | None:
    """Run a template over system messages and a question, and return its text without that of the question.

    `run` runs the template over messages. None if there are other messages, if the template rejects the question too,
    or if it writes system messages into the user's turn.

    >>> from renderers.templating import ChatTemplate
    >>> template = ChatTemplate("{{ 2 / (messages | count - 1) }}{% for m in messages %}<{{ m.content }}>{% endfor %}")
    >>> run_lone_system(template.run, [{"role": "system", "content": "Be brief."}]).text
    '2.0<Be brief.>'
    """
    if not messages or not all(message["role"] in _LEADING_ROLES for message in messages):
        return None
    try:
        trace = run([*messages, ASK])
    except REJECTIONS:
        return None
    question = [span for span in trace.spans if span.message == len(messages)]
    others = [span for span in trace.spans if span.message != len(messages)]
    if not question:
        return None
    start, end = question[0].start, question[-1].end
    before = [span for span in others if span.end <= start]
    after = [span for span in others if span.start >= end]
    if len(before) + len(after) != len(others) or any(span.message >= 0 for span in after):
        return None
    moved = [span._replace(start=span.start - end + start, end=span.end - end + start) for span in after]
    if before and moved and before[-1][2:] == moved[0][2:]:
        before[-1:], moved = [before[-1]._replace(end=moved[0].end)], moved[1:]
    return Trace(trace.text[:start] + trace.text[end:], (*before, *moved))
