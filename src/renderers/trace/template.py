"""A chat template, run with provenance."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from renderers.spans import Span, Trace
from renderers.trace.environment import TracingEnvironment
from renderers.trace.text import Owner, TracedStr, join_traced, plain, runs_of
from renderers.trace.values import trace_value

__all__ = ["ChatTemplate"]


class ChatTemplate:
    """A chat template. Compiled once for each text; any number of threads may run it at once.

    >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}")
    >>> trace = template.run([{"role": "user", "content": " Hi "}])
    >>> trace.text, [(span.path, trace.text[span.start : span.end]) for span in trace.spans]
    ('<user>Hi', [((), '<'), (('role',), 'user'), ((), '>'), (('content',), 'Hi')])
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled = _compile(source)

    def run(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime.datetime | None = None,
        **switches: Any,
    ) -> Trace:
        """Renders messages, and says whose every character is.

        `messages` and `tools` are JSON data. `now` is the time that `strftime_now` tells. `switches` are whatever
        else the template takes.
        """
        time = now or datetime.datetime.now()
        variables = {
            "messages": [trace_value(message, Owner(at, ())) for at, message in enumerate(messages)],
            "tools": None if tools is None else trace_value(list(tools), Owner(-1, ("tools",))),
            "documents": None,
            "add_generation_prompt": add_generation_prompt,
            "strftime_now": time.strftime,
            **switches,
        }
        context = self._compiled.new_context(variables)
        return _trace(join_traced(self._compiled.root_render_func(context)))


@functools.lru_cache(maxsize=64)
def _compile(source: str) -> jinja2.Template:
    return _environment().from_string(source)


@functools.cache
def _environment() -> TracingEnvironment:
    return TracingEnvironment()


def _trace(text: TracedStr) -> Trace:
    spans: list[Span] = []
    at = 0
    for start, end, owner in runs_of(text):
        if at < start:
            spans.append(Span(at, start, -1, ()))
        spans.append(Span(start, end, owner.message, owner.path))
        at = end
    if at < len(text):
        spans.append(Span(at, len(text), -1, ()))
    return Trace(plain(text), tuple(spans))
