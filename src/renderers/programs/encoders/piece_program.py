"""`PieceProgram`: the base class of formats in Python."""

from __future__ import annotations

import abc
import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.literals import PLAIN_USES, TemplateLiterals, TextUses
from renderers.core.options import DEFAULT_DATE
from renderers.core.text import digest_of
from renderers.errors import TemplateRefusalError
from renderers.programs.base import ProgramRun, RunProgram
from renderers.programs.pieces import Piece, run_pieces


class EncoderInput(NamedTuple):
    """The input of a run."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    adds_prompt: bool
    arguments: Mapping[str, Any]
    now: datetime.datetime


@dataclass(frozen=True)
class PieceProgram(abc.ABC):
    """A program that writes pieces. It implements the protocol `Program`."""

    roles: ClassVar[frozenset[str]]
    """The roles of messages."""
    fields: ClassVar[frozenset[str]]
    """The fields of messages that the format reads."""
    options: ClassVar[frozenset[str]] = frozenset()
    """The arguments that the format reads."""
    exact_fields: ClassVar[frozenset[str]] = frozenset()
    """The fields with values that change the format."""
    reads_time: ClassVar[bool] = False
    """True if the format writes the date."""
    special_tokens: ClassVar[tuple[str, ...]]
    """The special tokens that the vocabulary of each model of the format has."""
    tested: ClassVar[frozenset[str]] = frozenset()
    """The texts that the format searches for in message texts, apart from roles."""

    @property
    @abc.abstractmethod
    def version(self) -> str:
        """The name of the format, with a number that changes with its definition."""

    @property
    @abc.abstractmethod
    def markers(self) -> tuple[str, ...]:
        """The markers of reasoning and of tool calls."""

    @abc.abstractmethod
    def write(self, encoder_input: EncoderInput) -> Iterable[Piece]:
        """Return the text of messages, in their order.

        Raises:
            MessageError: A message cannot be written.
            TemplateRefusalError: The format has no place for a message, or an argument is wrong.
        """

    @property
    def digest(self) -> str:
        return digest_of(self.version)

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
        """Write the messages."""
        pieces = self.write(EncoderInput(messages, tools or (), add_generation_prompt, arguments, now))
        return run_pieces(
            [*pieces],
            messages,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
        )

    def prepare(self, **options: Any) -> RunProgram:
        return lambda messages, tools: self.run(messages, tools=tools, **options)

    def adaptations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002 - a part of the protocol
        return ()

    def mentions(self, name: str) -> bool:
        return (
            name in self.options
            or name in self.fields
            or name == "tools"
            or (self.reads_time and name == "strftime_now")
        )

    @property
    def literals(self) -> TemplateLiterals:
        names = frozenset(text for text in self.tested if text.isidentifier())
        return TemplateLiterals(self.tested - names, self.roles | names)

    @property
    def text_uses(self) -> TextUses:
        return PLAIN_USES._replace(exact_fields=self.exact_fields)

    @property
    def readable_fields(self) -> frozenset[str] | None:
        return self.fields

    def turns_read(self, name: str) -> bool:  # noqa: ARG002 - a part of the protocol
        return True

    def may_write(self, text: str) -> bool:
        return text in self.markers

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:
        return tuple((name, value) for name, value in sorted(arguments.items()) if name in self.options)

    def probe_time(self, arguments: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:  # noqa: ARG002
        return DEFAULT_DATE


def unknown_role(role: str, *, index: int, roles: Iterable[str], name: str) -> TemplateRefusalError:
    """Return the error about a message with a role that a format does not have."""
    fault = f"there is no role {role!r}. The roles are {', '.join(sorted(roles))}."
    return TemplateRefusalError(fault, index, format_name=name)
