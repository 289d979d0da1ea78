"""`TextRenderer`: conversations to texts. Normalises the input, runs the program, and checks the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.batching import attempt_each
from renderers.core.inputs import MessageLike, ToolLike
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.messages import media_parts, normalise_messages, normalise_tools
from renderers.core.options import DEFAULT_DATE
from renderers.core.tool_list import ToolList
from renderers.default_date import DefaultDateNotice
from renderers.errors import MediaError
from renderers.programs.base import Program
from renderers.programs.template import TemplateProgram
from renderers.rendering.loss_reports import LossReporter
from renderers.rendering.pipeline import RenderedText, RenderPipeline, RunConversation
from renderers.settings import RendererSettings
from renderers.switches import check_arguments
from renderers.templating.chat import normalise_template_kwargs


class RenderOptions(NamedTuple):
    """The arguments of a call besides the conversations and tools. `ChatRenderer.render_ids` describes them."""

    template_arguments: Mapping[str, Any]
    add_generation_prompt: bool
    continue_final_message: bool | str
    process_multimodal: bool = False


@dataclass(frozen=True)
class TextRenderer:
    """Renders conversations of a caller to texts, and reports input that they do not contain."""

    settings: RendererSettings
    pipeline: RenderPipeline

    def render(
        self, messages: Iterable[MessageLike], tools: Iterable[ToolLike] | None, options: RenderOptions
    ) -> RenderedText:
        """Normalise the input, run the program, and reject media that would need processing."""
        plain, tool_list = normalise_messages(messages), normalise_tools(tools)
        text = self._prepare(tool_list is not None, options)(plain, tool_list)
        self._check(text, options)
        return text

    def render_all(
        self, conversations: Iterable[tuple[Iterable[MessageLike], Iterable[ToolLike] | None]], options: RenderOptions
    ) -> list[RenderedText | Exception]:
        """Do what `render` does for conversations with their tools, step by step.

        An exception takes the place of a text that fails. A step for all conversations takes less time than all
        steps for one after the other.
        """
        prepared: dict[bool, RunConversation] = {}

        def normalise(conversation: tuple[Any, Any]) -> tuple[list[JsonObject], ToolList | None]:
            messages, tools = conversation
            return normalise_messages(messages), normalise_tools(tools)

        def run(conversation: tuple[list[JsonObject], ToolList | None]) -> RenderedText:
            messages, tools = conversation
            with_tools = tools is not None
            if with_tools not in prepared:
                prepared[with_tools] = self._prepare(with_tools, options)
            return prepared[with_tools](messages, tools)

        def check(text: RenderedText) -> RenderedText:
            self._check(text, options)
            return text

        return attempt_each(check, attempt_each(run, attempt_each(normalise, conversations)))

    def _prepare(self, with_tools: bool, options: RenderOptions) -> RunConversation:
        arguments = options.template_arguments
        return self.pipeline.prepare(
            with_tools=with_tools,
            add_generation_prompt=options.add_generation_prompt,
            continue_final_message=options.continue_final_message,
            arguments=self.normalise_arguments(arguments) if arguments else None,
        )

    def _check(self, text: RenderedText, options: RenderOptions) -> None:
        """Reject media that would need processing, and report input that is not written and the default date."""
        if options.process_multimodal:
            reject_media(text.run.messages)
        self.loss_reporter.report(text, is_cut=bool(options.continue_final_message))
        if self.date_notice.is_pending:
            self.date_notice.check(
                text,
                add_generation_prompt=options.add_generation_prompt,
                continue_final_message=options.continue_final_message,
            )

    def normalise_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Normalise the template arguments of one call, and check that they have an effect."""
        plain = normalise_template_kwargs(arguments)
        check_arguments(plain, family=self.settings.family_match.family, programs=self._programs)
        return plain

    @lazy
    def loss_reporter(self) -> LossReporter:
        """The reporter of input that is not written."""
        return LossReporter(self.settings.on_loss, self._source)

    @lazy
    def date_notice(self) -> DefaultDateNotice:
        """The warning about the default date."""
        given = self.settings.given_config
        is_set = self.settings.date != DEFAULT_DATE or (given is not None and given.date is not None)
        return DefaultDateNotice(self._programs, source=self._source, is_set=is_set)

    @property
    def _source(self) -> str:
        """The definition of the format, as messages to callers name it."""
        is_template = all(isinstance(program, TemplateProgram) for program in self._programs)
        kind = "chat template" if is_template else "format"
        return f"the {kind} of {self.settings.tokenizer.name_or_path or 'the model'}"

    @property
    def _programs(self) -> set[Program]:
        return {self.pipeline.program(with_tools=with_tools) for with_tools in (False, True)}


def reject_media(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise a `MediaError` for the first image, video or audio of messages."""
    for index, message in enumerate(messages):
        # Most contents are texts.
        if type(message.get("content")) is not str:
            for part, kind in media_parts(message).items():
                raise MediaError.at(kind, message=index, part=part)
