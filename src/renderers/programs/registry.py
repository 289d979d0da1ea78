"""The programs by name. A renderer's settings name the one that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from renderers.programs.base import Program
from renderers.programs.template import TemplateProgram
from renderers.templating import ChatTemplate, Limits
from renderers.templating.chat import choose_template


class ProgramTokenizer(Protocol):
    """The attributes of a tokenizer that a program is built from."""

    @property
    def name_or_path(self) -> str: ...
    @property
    def chat_templates(self) -> Mapping[str, str]: ...
    @property
    def special_tokens_map(self) -> Mapping[str, str]: ...


class BuildProgram(Protocol):
    """Builds a program for a tokenizer."""

    def __call__(
        self,
        tokenizer: ProgramTokenizer,
        *,
        chat_template: str | None,
        with_tools: bool,
        limits: Limits,
        verify: bool,
    ) -> Program:
        """Return the program that renders conversations with or without tools."""


def build_template_program(
    tokenizer: ProgramTokenizer,
    *,
    chat_template: str | None,
    with_tools: bool,
    limits: Limits,
    verify: bool,
) -> TemplateProgram:
    """Build the program of a chat template, or of the tokenizer's own if none is passed.

    Raises:
        TemplateMissingError: The tokenizer has no chat template.
        TemplateSourceError: The template is not valid.
    """
    source = chat_template
    if source is None:
        source = choose_template(tokenizer.chat_templates, tools=with_tools, name=tokenizer.name_or_path)
    template = ChatTemplate(source, limits=limits, verify=verify)
    return TemplateProgram(template, tuple(tokenizer.special_tokens_map.items()))


PROGRAMS: Mapping[str, BuildProgram] = MappingProxyType({"template": build_template_program})
