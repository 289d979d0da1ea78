"""Turn formats of templates that have no tokenizer."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from renderers.probing.turn_format import TurnFormat, turn_format
from renderers.programs.template import TemplateProgram
from renderers.templating import ChatTemplate

NOW = datetime.datetime(2026, 11, 15)


def format_of(
    source: str,
    tokens: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    with_tools: bool = False,
    special_tokens: frozenset[str] = frozenset(),
    now: datetime.datetime = NOW,
) -> TurnFormat:
    """Return the turn format of a template's source."""
    program = TemplateProgram(ChatTemplate(source, verify=False), tuple((tokens or {}).items()))
    return turn_format(
        program, arguments=arguments or {}, with_tools=with_tools, now=now, special_tokens=special_tokens
    )
