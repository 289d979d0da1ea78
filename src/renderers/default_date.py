"""`DefaultDateNotice`: warn once about a prompt in which the template has written the default date."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from renderers.core.caller_warnings import warn_caller
from renderers.core.options import DEFAULT_DATE
from renderers.core.probes import PROBE_TIME
from renderers.errors import DefaultDateWarning
from renderers.programs.base import REJECTIONS, Program
from renderers.rendering.pipeline import RenderedText

_PARTS = ("26", "2024", "07", "Jul", "Fri")
"""Every date that is written of the default date contains one of these."""
_CONSTANT = DEFAULT_DATE.strftime("%d %b %Y")
"""The date in templates of Llama 3.1, which read no clock. The argument `date_string` replaces it."""
_ARGUMENT = "date_string"
_MOST_CHECKS = 32
"""How many prompts are rendered a second time at most."""


class DefaultDateNotice:
    """Warns about the first prompt in which the template has written the default date.

    Such a prompt is found by a second run, at another time or with another `date_string`: dates that the caller has
    written stay the same.

    >>> DefaultDateNotice([], source="the format of org/model", is_set=False).is_pending
    False
    """

    def __init__(self, programs: Iterable[Program], *, source: str, is_set: bool) -> None:
        """`programs` are those of the model, and `source` names their definition in the warning.

        `is_set` is True if the caller has set a date.
        """
        self._source = source[0].upper() + source[1:]
        programs = list(programs)
        self._has_clock = any(program.mentions("strftime_now") for program in programs)
        self._has_argument = any(program.mentions(_ARGUMENT) for program in programs)
        # With a clock, the constant is for libraries without one.
        has_constant = self._has_argument and any(program.may_write(_CONSTANT) for program in programs)
        pending = not is_set if self._has_clock else has_constant
        self._lock = threading.Lock()
        self._checks_left = _MOST_CHECKS if pending else 0

    @property
    def is_pending(self) -> bool:
        """True if a prompt may still contain the default date for the first time."""
        return self._checks_left > 0

    def check(self, text: RenderedText, **options: Any) -> None:
        """Issue a `DefaultDateWarning` if the template has written the default date. Later prompts need no check.

        `options` are the other options of the run that gave the text.
        """
        if self._has_argument and _ARGUMENT in text.arguments:
            # The caller has set the date.
            return
        if not any(part in text.run.text for part in _PARTS):
            return
        with self._lock:
            if not self.is_pending:
                return
            self._checks_left -= 1
            try:
                remedy = self._find_remedy(text, options)
            except REJECTIONS:
                return
            if remedy is not None:
                self._checks_left = 0
        if remedy is not None:
            date = f"{DEFAULT_DATE.day} {DEFAULT_DATE:%B %Y}"
            warn_caller(f"the prompt has the default date, {date}. {remedy}", DefaultDateWarning)

    def _find_remedy(self, text: RenderedText, options: Mapping[str, Any]) -> str | None:
        """Return the cause and the remedy if the template has written the default date."""
        if self._has_clock:
            if _run_again(text, options, now=PROBE_TIME) == text.run.text:
                return None
            return (
                f"{self._source} writes the date, and none was set. Pass the date to "
                "create_renderer, such as date='2026-01-31'."
            )
        other = _run_again(text, options, date_string=PROBE_TIME.strftime("%d %b %Y"))
        if text.run.text.count(_CONSTANT) <= other.count(_CONSTANT):
            return None
        return (
            f"{self._source} writes this date unless it gets the argument date_string. The option "
            "date has no effect on it. Pass the argument to create_renderer, such as "
            "chat_template_kwargs={'date_string': '31 Jan 2026'}."
        )


def _run_again(
    text: RenderedText, options: Mapping[str, Any], now: datetime.datetime | None = None, **arguments: str
) -> str:
    """Return the text of the same messages at another time, or with more template arguments."""
    pipeline = text.pipeline
    run = pipeline.program(with_tools=text.tools is not None).run(
        text.messages,
        tools=text.tools,
        arguments={**text.arguments, **arguments},
        now=now or pipeline.settings.date,
        **options,
    )
    return run.text
