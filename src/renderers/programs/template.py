"""`TemplateProgram`: a chat template as a `Program`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.literals import TemplateLiterals, TextEdits, TextUses
from renderers.core.text import digest_of
from renderers.programs.adapt import adapt_messages, adapt_tools
from renderers.programs.base import ProgramRun
from renderers.programs.input_formats import probe_arguments
from renderers.templating import ChatTemplate
from renderers.templating.chat import mentions_variable, run_chat
from renderers.templating.field_reads import readable_fields
from renderers.templating.literals import template_literals
from renderers.templating.text_edits import text_edits
from renderers.templating.text_uses import text_uses


@dataclass(frozen=True)
class TemplateProgram:
    """A chat template with the special tokens that it can refer to, such as `bos_token`."""

    template: ChatTemplate
    special_tokens: tuple[tuple[str, str], ...]

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
        probed = probe_arguments(self.template, self.special_tokens, arguments)
        adapted = adapt_messages(self.template, messages, arguments=probed)
        trace = run_chat(
            self.template,
            adapted,
            tools=adapt_tools(self.template, tools, arguments=probed),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            now=now,
            arguments={**dict(self.special_tokens), **arguments},
        )
        return ProgramRun(trace.text, adapted, lambda: trace)

    def mentions(self, name: str) -> bool:
        return mentions_variable(self.template.source, name)

    @property
    def literals(self) -> TemplateLiterals:
        return template_literals(self.template.source)

    @property
    def text_uses(self) -> TextUses:
        return text_uses(self.template.source)

    @property
    def readable_fields(self) -> frozenset[str] | None:
        return readable_fields(self.template.source)

    @property
    def text_edits(self) -> TextEdits:
        return text_edits(self.template.source)

    def may_write(self, text: str) -> bool:
        return text in self.template.source

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:
        return probe_arguments(self.template, (), arguments)
