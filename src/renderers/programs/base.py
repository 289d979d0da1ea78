"""The `Program` protocol: the interface between a chat format and everything that uses one.

A program turns messages into text and records the origin of every character. A chat template is one kind of program
(`renderers.programs.template`). A format that no template describes implements the same protocol.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.lazy import lazy
from renderers.core.literals import TemplateLiterals, TextUses
from renderers.core.spans import Path, Trace, written_fields
from renderers.errors import MessageError, TemplateRefusalError, TemplateRunError
from renderers.templating.scopes import written_fields as fields_in

REJECTIONS = (MessageError, TemplateRefusalError, TemplateRunError)
"""The errors of a program that does not accept some messages. Probes expect them."""


@dataclass(frozen=True)
class ProgramRun:
    """The result of one run of a program: the text, and its trace on request."""

    text: str
    messages: Sequence[JsonObject]
    """The messages in the format that the program read. Paths in the trace refer to these."""
    compute_trace: Callable[[], Trace]
    pieces: list[str] | None = None
    """The output of a chat template: texts with owners. None if owners are taken from the trace."""

    def written(self) -> Collection[tuple[int, Path]]:
        """Return the fields with text in the output, as messages and paths. No trace is needed for a template."""
        return written_fields(self.trace) if self.pieces is None else fields_in(self.pieces)

    @lazy
    def trace(self) -> Trace:
        """The text with the origin of every character, computed on first access."""
        return self.compute_trace()


RunProgram = Callable[[list[JsonObject], list[JsonObject] | None], ProgramRun]
"""A function that renders normalised messages with tools, as `Program.run` does with some options."""


class Program(Protocol):
    """A chat format. Programs are immutable, and compare and hash by value."""

    @property
    def digest(self) -> str:
        """A hash of the format's definition."""

    def run(
        self,
        messages: list[JsonObject],
        *,
        tools: list[JsonObject] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any],
        now: datetime.datetime,
    ) -> ProgramRun:
        """Render normalised messages.

        `continue_final_message` ends the text after the last message's content, or after the field that it names.

        Raises:
            MessageError: A message cannot be rendered.
            TemplateError: The format rejects the messages or fails on them.
        """

    def prepare(
        self,
        *,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any],
        now: datetime.datetime,
    ) -> RunProgram:
        """Return a function that renders conversations as `run` does with these options."""

    def adaptations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Describe each conversion of the input that changes the rendered text."""

    def mentions(self, name: str) -> bool:
        """Return True if the program may read an argument, or call a function, of this name."""

    @property
    def literals(self) -> TemplateLiterals:
        """The constant texts that the format tests message texts against."""

    @property
    def text_uses(self) -> TextUses:
        """How the format uses message texts, apart from tests against its literals."""

    @property
    def readable_fields(self) -> frozenset[str] | None:
        """The names of all message fields that the format can read; None if it can read any field."""

    def turns_read(self, name: str) -> bool:
        """Return True if the text of turns may depend on an argument or the tools, and not only on their existence."""

    def may_write(self, text: str) -> bool:
        """Return True if the definition of the format contains a text."""

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:
        """Return the arguments that can change the delimiters of a turn, and those that the program requires."""

    def probe_time(self, arguments: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
        """Return the time to probe the program with: `now` if it affects more than text before all messages."""
