"""`TemplateProgram`: a chat template as a `Program`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from renderers.core.bounded_table import BoundedTable
from renderers.core.jsontypes import Arguments, JsonObject, exact_key
from renderers.core.lazy import lazy
from renderers.core.literals import TemplateLiterals, TextUses
from renderers.core.options import NoneContent
from renderers.core.text import digest_of
from renderers.programs.adapt import InputAdapter
from renderers.programs.base import REJECTIONS, ProgramRun, RunProgram
from renderers.programs.input_formats import probe_arguments, probe_time
from renderers.programs.lone_system import run_lone_system
from renderers.programs.typescript_tools import DECLARATIONS, declare_tools, sort_tools
from renderers.templating import ChatTemplate
from renderers.templating.chat import run_chat
from renderers.templating.field_reads import readable_fields
from renderers.templating.literals import template_literals
from renderers.templating.template import TemplateRun
from renderers.templating.text_uses import text_uses
from renderers.templating.turn_variables import turns_read_items

_ADAPTERS_KEPT = 64
"""How many combinations of arguments have their adapter kept, at least."""
_TOOLS = frozenset({"tools", DECLARATIONS})
"""The variables that are made of the tools."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True)
class TemplateProgram:
    """A chat template with the special tokens that it can refer to, such as `bos_token`."""

    template: ChatTemplate
    special_tokens: tuple[tuple[str, str], ...]
    none_content: NoneContent = "omitted"
    """How a value of None is passed to a template that would write it as a word."""
    sorts_tools: bool = False
    """True if the keys of tools are sorted, as the tokenizer code of some models does."""

    @property
    def digest(self) -> str:
        return digest_of(self.template.source)

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
        """Convert messages and tools to formats that the template accepts, and run it."""
        run = self.prepare(
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=arguments,
            now=now,
        )
        return run(messages, tools)

    def prepare(
        self,
        *,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any],
        now: datetime.datetime,
    ) -> RunProgram:
        template, adapter = self.template, self._adapter(arguments)
        given = {**self._special_tokens, **arguments}
        declares = self._reads_declarations and DECLARATIONS not in arguments

        def run(messages: list[JsonObject], tools: list[JsonObject] | None) -> ProgramRun:
            adapted, given_tools, own = adapter.messages(messages), adapter.tools(tools), given
            if given_tools and declares:
                given_tools, declarations = declare_tools(given_tools)
                own = {**given, DECLARATIONS: declarations}
            elif given_tools and self.sorts_tools:
                given_tools = sort_tools(given_tools)

            def run_template(messages: list[JsonObject]) -> TemplateRun:
                return run_chat(
                    template,
                    messages,
                    tools=given_tools,
                    add_generation_prompt=add_generation_prompt,
                    continue_final_message=continue_final_message,
                    now=now,
                    arguments=own,
                )

            try:
                trace = run_template(adapted)
            except REJECTIONS:
                if continue_final_message:
                    raise
                alone = run_lone_system(run_template, adapted)
                if alone is None:
                    raise
                return ProgramRun(alone.text, adapted, lambda: alone)
            return ProgramRun(trace.text, adapted, lambda: trace, trace.pieces)

        return run

    @lazy
    def _special_tokens(self) -> dict[str, str]:
        """The special tokens that a run reads."""
        read = self.template.arguments
        return {name: text for name, text in self.special_tokens if name in read or name == "bos_token"}

    @lazy
    def _reads_declarations(self) -> bool:
        return DECLARATIONS in self.template.arguments

    def _adapter(self, arguments: Mapping[str, Any]) -> InputAdapter:
        """Return the adapter for some arguments. Lists and objects are never probed."""
        scalars = tuple([(name, type(value), value) for name, value in arguments.items() if type(value) in _SCALARS])
        return self._adapters.get(scalars, lambda: self._find_adapter(arguments))

    def _find_adapter(self, arguments: Mapping[str, Any]) -> InputAdapter:
        """Return the adapter for the arguments that are probed. All values of a free text share one."""
        probed = probe_arguments(self.template, self.special_tokens, arguments)
        return self._adapters.get(exact_key(probed), lambda: self._make_adapter(probed))

    def _make_adapter(self, probed: Arguments) -> InputAdapter:
        return InputAdapter(self.template, probed, none_content=self.none_content)

    @lazy
    def _adapters(self) -> BoundedTable[InputAdapter]:
        return BoundedTable(keep=_ADAPTERS_KEPT)

    def adaptations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return self._adapter(arguments).adaptations()

    def mentions(self, name: str) -> bool:
        return name in self.template.arguments

    @property
    def literals(self) -> TemplateLiterals:
        return template_literals(self.template.source)

    @property
    def text_uses(self) -> TextUses:
        return text_uses(self.template.source)

    @property
    def readable_fields(self) -> frozenset[str] | None:
        return readable_fields(self.template.source)

    def turns_read(self, name: str) -> bool:
        return turns_read_items(self.template.source, _TOOLS if name == "tools" else frozenset({name}))

    def may_write(self, text: str) -> bool:
        return text in self.template.source

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:
        return tuple([pair for pair in self._adapter(arguments).arguments if pair[0] in arguments])

    def probe_time(self, arguments: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
        return probe_time(self.template, self._adapter(arguments).arguments, now)
