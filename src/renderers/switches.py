"""Check template arguments by one rule: those of `create_renderer` and those of a single call."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from renderers.core.caller_warnings import warn_caller
from renderers.errors import UnknownSwitchError, UnreadSwitchWarning
from renderers.families import Family
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.programs.base import Program
from renderers.programs.registry import PROGRAMS
from renderers.programs.template import TemplateProgram

_NO_DEFAULT = object()
OPTIONS = frozenset(
    {
        *("bpe_engine", "chat_template", "content_tokens", "conventions", "date", "limits", "none_content", "on_loss"),
        *("program", "reasoning_parser", "thinking_retention", "tool_parser", "verify"),
    }
)
"""The options of `create_renderer`, apart from `chat_template_kwargs`. Some may also be variables of a template."""


def check_arguments(arguments: Mapping[str, Any], *, family: Family, programs: Collection[Program]) -> None:
    """Check that template arguments have an effect.

    Switches of the family and switches for thinking are always accepted, because callers pass them to all models.
    Others must be variables that a template reads.

    Raises:
        UnknownSwitchError: No template reads an argument, and it is not such a switch.
        ValueError: Only the family's program reads an argument, and that program is not used.
    """
    switches = [switch.name for switch in family.switches]
    for name in sorted(arguments.keys() - {*switches, *THINKING_SWITCHES}):
        if not _is_read(name, programs):
            raise UnknownSwitchError(_describe_unknown(name, switches, family, _reader(programs)))
    warn_unread(arguments, family=family, programs=programs)


def warn_unread(arguments: Mapping[str, Any], *, family: Family, programs: Collection[Program]) -> None:
    """Warn about arguments that no template reads.

    There is no warning for None and for the default of the family, which the caller may not have chosen, and for
    switches for thinking that the family does not have, which callers pass to all models.

    Raises:
        ValueError: Only the family's program reads an argument, and that program is not used.
    """
    defaults = {switch.name: switch.default for switch in family.switches}
    for name, value in sorted(arguments.items()):
        is_default = value is None or value == defaults.get(name, _NO_DEFAULT)
        if is_default or _is_read(name, programs) or (name in THINKING_SWITCHES and name not in defaults):
            continue
        if name in defaults and family.program is not None:
            raise ValueError(
                f"{name} of {family.key} needs the program {family.program!r}, {_remedy(family.program)} "
                "The chat template does not read it."
            )
        warn_caller(f"{name}={value!r} has no effect: {_reader(programs)} does not read it", UnreadSwitchWarning)


def _remedy(program: str) -> str:
    if program not in PROGRAMS:
        return "which is not in this release."
    return "which is not used: leave out chat_template= and program=."


def _is_read(name: str, programs: Collection[Program]) -> bool:
    return any(program.mentions(name) for program in programs)


def _reader(programs: Collection[Program]) -> str:
    is_template = all(isinstance(program, TemplateProgram) for program in programs)
    return "the chat template" if is_template else "the format of the model"


def _describe_unknown(name: str, switches: list[str], family: Family, reader: str) -> str:
    if name in OPTIONS:
        return f"{reader} reads no variable {name!r}. It is an option of create_renderer."
    known = f"The switches of {family.key} are: {', '.join(sorted(switches))}." if switches else ""
    close = difflib.get_close_matches(name, {*switches, *THINKING_SWITCHES}, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else ""
    fault = f"{name!r} is neither an option nor a variable that {reader} reads."
    return " ".join(filter(None, (fault, hint, known)))
