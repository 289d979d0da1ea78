"""The programs by name. A renderer's settings name the one that it uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from renderers.core.importing import load_target
from renderers.core.options import NoneContent
from renderers.programs.base import Program
from renderers.programs.template import TemplateProgram
from renderers.templating import ChatTemplate, TemplateLimits
from renderers.templating.chat import choose_template


class ProgramTokenizer(Protocol):
    """The attributes of a tokenizer that a program is built from."""

    @property
    def name_or_path(self) -> str: ...
    @property
    def chat_templates(self) -> Mapping[str, str]: ...
    @property
    def special_tokens_map(self) -> Mapping[str, str]: ...


class ProgramRequest(NamedTuple):
    """Everything that a program is built from."""

    tokenizer: ProgramTokenizer
    chat_template: str | None
    """The source of the template that the caller passed; None for the tokenizer's own."""
    with_tools: bool
    """True for the program of conversations with tools."""
    limits: TemplateLimits
    verify: bool
    none_content: NoneContent = "omitted"


def build_template_program(request: ProgramRequest) -> TemplateProgram:
    """Build the program of a chat template.

    Raises:
        TemplateMissingError: The tokenizer has no chat template.
        TemplateSourceError: The template is not valid.
    """
    tokenizer, source = request.tokenizer, request.chat_template
    if source is None:
        source = choose_template(tokenizer.chat_templates, tools=request.with_tools, name=tokenizer.name_or_path)
    template = ChatTemplate(source, limits=request.limits, verify=request.verify)
    return TemplateProgram(template, tuple(tokenizer.special_tokens_map.items()), request.none_content)


def build_sorting_program(request: ProgramRequest) -> TemplateProgram:
    """Build the program of a chat template for a tokenizer that sorts the keys of tools."""
    return dataclasses.replace(build_template_program(request), sorts_tools=True)


def _encoder(target: str, **fields: bool) -> Callable[[ProgramRequest], Program]:
    """Return a function that imports and builds an encoder. Most models have a template and need none."""

    def build(_: ProgramRequest) -> Program:
        program: Program = load_target(f"renderers.programs.encoders.{target}")(**fields)
        return program

    return build


PROGRAMS: Mapping[str, Callable[[ProgramRequest], Program]] = MappingProxyType(
    {
        "template": build_template_program,
        "sorted-tools": build_sorting_program,
        "harmony": _encoder("harmony:HarmonyProgram"),
        "harmony-0.1": _encoder("harmony:HarmonyProgram", of_release=True),
        "inkling": _encoder("inkling:InklingProgram"),
        "deepseek-r1": _encoder("deepseek_r1:DeepSeekR1Program"),
        "deepseek-v3.2": _encoder("deepseek_v32:DeepSeekV32Program"),
        "deepseek-v4": _encoder("deepseek_v4:DeepSeekV4Program"),
        "deepseek-v4.1": _encoder("deepseek_v4:DeepSeekV4Program", has_system_token=True),
    }
)
