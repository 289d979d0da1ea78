"""`DefaultDateNotice`: warn once about a prompt that contains the default date."""

from __future__ import annotations

import re
from collections.abc import Iterable

from renderers.core.caller_warnings import warn_caller
from renderers.core.options import DEFAULT_DATE
from renderers.errors import DefaultDateWarning

_FORMAT = re.compile(r"strftime_now\(\s*(['\"])(.+?)\1\s*\)")
"""A call in a chat template that formats the date."""
_CONSTANT = DEFAULT_DATE.strftime("%d %b %Y")
"""The date in templates of Llama 3.1, which read no clock. The argument `date_string` replaces it."""


class DefaultDateNotice:
    """Warns about the first prompt that contains the default date.

    >>> notice = DefaultDateNotice(["{{ strftime_now('%d %B %Y') }}"], name="org/model")
    >>> notice.check("Hi")
    >>> notice.is_pending
    True
    """

    def __init__(self, sources: Iterable[str], *, name: str) -> None:
        """`sources` are the chat templates of the model `name`. Pass none if the caller has set a date."""
        self._name = name
        self._remedies: dict[str, str] = {}
        for source in sources:
            if _CONSTANT in source and "date_string" in source:
                self._remedies[_CONSTANT] = "chat_template_kwargs={'date_string': '31 Jan 2026'}"
            dates = [DEFAULT_DATE.strftime(match[2]) for match in _FORMAT.finditer(source)]
            self._remedies |= dict.fromkeys(dates, "date='2026-01-31'")
        self.is_pending = bool(self._remedies)
        """True if a prompt may still contain the default date for the first time."""

    def check(self, text: str) -> None:
        """Issue a `DefaultDateWarning` if a prompt contains the default date. Later prompts need no check."""
        date = next((date for date in self._remedies if date in text), None)
        if date is None:
            return
        self.is_pending = False
        message = (
            f"the prompt has the default date {date!r}: the chat template of {self._name} writes the date, and none "
            f"was set. Pass the date to create_renderer, such as {self._remedies[date]}."
        )
        warn_caller(message, DefaultDateWarning)
