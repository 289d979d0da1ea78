"""`ChatRenderer`: the public methods that render, parse and bridge."""

from __future__ import annotations

import datetime
import functools
import logging
import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from renderers.batching import BatchErrors, check_count, check_errors, check_shared, run_batch, tools_of_items
from renderers.bridging.bridge import Extension
from renderers.bridging.call_ids import with_call_ids
from renderers.bridging.context import BridgeContexts
from renderers.bridging.prior import Prior
from renderers.bridging.refusal import BridgeRefusal, RefusalLog, find_missing, naming_new_messages
from renderers.bridging.result import Bridge
from renderers.bridging.stability import PrefixStability, learn_prefix_stability
from renderers.core.completions import ParsedResponse
from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.losses import LossPolicy
from renderers.core.messages import (
    list_messages,
    normalise_messages,
    normalise_tools,
    readable_tools,
)
from renderers.core.options import (
    ContentTokens,
    NoneContent,
    Prefill,
    SamplingConventions,
    ThinkingRetention,
)
from renderers.core.spans import Trace
from renderers.core.token_ids import as_ids, as_packed_ids, list_ids, list_sequences, unpack_ids
from renderers.core.tokens import RenderedTokens
from renderers.errors import MessageError, TemplateError
from renderers.families.registry import UNKNOWN_FAMILY, FamilyMatch
from renderers.live_renderers import is_ours, register, restore
from renderers.parsing.compiled import CompiledGrammar, compile_grammar
from renderers.parsing.grammar import ParserOverrides
from renderers.parsing.parser import ResponseParser, find_prefill, parse_whole
from renderers.parsing.pieces import Pieces
from renderers.programs.template import TemplateProgram
from renderers.rendering.labelled_text import encode_together
from renderers.rendering.pipeline import RenderedText, RenderPipeline
from renderers.rendering.prefill import empty_reasoning, warn_without_prefill
from renderers.resolution import UNPROBED, UNREAD_CALLS, Resolution, resolve
from renderers.retention import find_contradiction, keeping_switch, retention_of
from renderers.setting_attribute import SettingAttribute
from renderers.settings import RendererSettings
from renderers.templating import ChatTemplate, TemplateLimits
from renderers.text_renderer import RenderOptions, TextRenderer, reject_media
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer

if TYPE_CHECKING:
    from renderers.configs import BaseRendererConfig

_LOG = logging.getLogger("renderers")


@dataclass(frozen=True, repr=False)
class ChatRenderer:
    """Renders messages to the token ids of one model, parses completions, and bridges turns.

    Call `create_renderer` to create one. A renderer is immutable. Any number of threads can share it, and a copy in
    another process returns the same ids.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> ids = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    >>> renderer.tokenizer.decode(ids)
    '<|turn|>user\\nHi<|end|>\\n<|turn|>assistant\\n'
    """

    settings: RendererSettings

    tokenizer = SettingAttribute[LoadedTokenizer | ForeignTokenizer]()
    chat_template = SettingAttribute[str | None]()
    chat_template_kwargs = SettingAttribute[Mapping[str, Any]]()
    date = SettingAttribute[datetime.datetime]()
    limits = SettingAttribute[TemplateLimits]()
    verify = SettingAttribute[bool | None]()
    content_tokens = SettingAttribute[ContentTokens]()
    conventions = SettingAttribute[SamplingConventions]()
    thinking_retention = SettingAttribute[ThinkingRetention | None]()
    prefill = SettingAttribute[Prefill]()
    on_loss = SettingAttribute[LossPolicy]()
    none_content = SettingAttribute[NoneContent]()
    program = SettingAttribute[str]()
    parsers = SettingAttribute[ParserOverrides]()
    family_match = SettingAttribute[FamilyMatch]()
    found = property(operator.attrgetter("family_match"), doc="The old name of `family_match`.")

    @lazy
    def config(self) -> BaseRendererConfig:
        """The config, including the options that were passed as arguments.

        A switch of thinking that is None has the value that the template chooses.
        """
        # The config classes need pydantic, which takes longer to import than the rest of a renderer.
        from renderers.config_reader import with_default_thinking

        prompt_with = functools.partial(self._pipeline.generation_prompt, with_tools=False)
        return with_default_thinking(self.settings.config, prompt_with)

    def __post_init__(self) -> None:
        self._check()
        register(self)

    def _check(self) -> None:
        # Raises now if the template is missing or invalid, not on the first render.
        self._pipeline.program(with_tools=False)
        if self.prefill == "kept":
            warn_without_prefill(self._pipeline.turn_format(with_tools=False))
        if self.family_match.family != UNKNOWN_FAMILY:
            # The config class of the family checks this.
            return
        contradiction = find_contradiction(self._try_text, self._pipeline.arguments, self.settings.thinking_retention)
        if contradiction is not None:
            raise ValueError(f"thinking_retention contradicts chat_template_kwargs: {contradiction}")

    @classmethod
    def _from_settings(cls, settings: RendererSettings) -> Self:
        """Create a renderer from resolved settings, whatever the constructor of a subclass accepts."""
        renderer = object.__new__(cls)
        ChatRenderer.__init__(renderer, settings)
        return renderer

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tokenizer.name_or_path!r}, family={self.family_match.family.key!r})"

    # ==================
    # Rendering
    # ==================

    def render(
        self,
        messages: Iterable[MessageLike],
        *,
        tools: Iterable[ToolLike] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> RenderedTokens:
        """Render a conversation to token ids with the message, channel and sampled flag of every token.

        Accepts the same arguments as `render_ids` and returns the same ids. The attribution is empty if a custom
        tokenizer provides no offsets.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> rendered = renderer.render([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}])
        >>> sampled = [token for token, sampled in zip(rendered.token_ids, rendered.sampled_mask) if sampled]
        >>> renderer.tokenizer.decode(sampled)
        'Yes?<|end|>'
        """
        options = RenderOptions(template_arguments, add_generation_prompt, continue_final_message, process_multimodal)
        text = self._text_renderer.render(messages, tools, options)
        return self._tokens_of(text)

    def _tokens_of(self, text: RenderedText) -> RenderedTokens:
        return RenderedTokens.of_encoded(
            text.encoded.ids,
            text.attribute,
            message_roles=text.roles,
            decode=self.settings.tokenizer.decode,
            find_losses=lambda: text.loss_finder().losses(),
        )

    @overload
    def render_batch(
        self,
        conversations: Iterable[Iterable[MessageLike]],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        errors: Literal["raise"] = "raise",
        **template_arguments: Any,
    ) -> list[RenderedTokens]: ...
    @overload
    def render_batch(
        self,
        conversations: Iterable[Iterable[MessageLike]],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        errors: BatchErrors,
        **template_arguments: Any,
    ) -> list[RenderedTokens | Exception]: ...
    def render_batch(
        self,
        conversations: Iterable[Iterable[MessageLike]],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        errors: BatchErrors = "raise",
        **template_arguments: Any,
    ) -> Any:
        """Render conversations in order, each with the result of `render`. The texts are encoded at the end.

        `tools` are the tools of all conversations, or a list with a list or None for each of them. With
        `errors="return"` an exception takes the place of the result.

        Raises:
            MessageError, TemplateError, ...: As `render`. Names the index of the first conversation that fails.
            TypeError: An option has a list with a value for each conversation.
            ValueError: `tools` has entries for another number of conversations.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> chats = [[{"role": "user", "content": text}] for text in ("Hi", "Bye")]
        >>> [renderer.tokenizer.decode(rendered.token_ids) for rendered in renderer.render_batch(chats)]
        ['<|turn|>user\\nHi<|end|>\\n', '<|turn|>user\\nBye<|end|>\\n']
        """
        check_errors(errors)
        check_shared(
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            process_multimodal=process_multimodal,
        )
        items = list_messages(conversations, kind="conversations")
        pairs = zip(items, tools_of_items(tools, len(items)), strict=True)
        options = RenderOptions(template_arguments, add_generation_prompt, continue_final_message, process_multimodal)
        texts = self._text_renderer.render_all(pairs, options)
        # Encoding can fail too, so the first error is known only after it.
        encode_together([text for text in texts if isinstance(text, RenderedText)])
        return run_batch(self._tokens_of_result, texts, errors=errors, kind="conversation")

    def _tokens_of_result(self, result: RenderedText | Exception) -> RenderedTokens:
        if isinstance(result, Exception):
            raise result
        return self._tokens_of(result)

    def render_ids(
        self,
        messages: Iterable[MessageLike],
        *,
        tools: Iterable[ToolLike] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> list[int]:
        """Render a conversation to token ids.

        `messages` and `tools` can be dicts, pydantic models, OpenAI SDK objects or dataclasses.
        `continue_final_message` ends the ids after the last message's content, so that a model continues it, or after
        another field that it names, such as `"reasoning_content"`.
        Images, video and audio raise a `MediaError`. Pass `process_multimodal=False` to render the template's
        placeholders for them instead.
        `template_arguments` go to the template: `enable_thinking=False`, `documents=[...]`. All models accept switches
        for thinking. A switch of the family that the template does not read gives a warning.

        Raises:
            UnknownSwitchError: A template argument is not such a switch, and the template does not read it.
            MessageError: A message cannot be rendered. Names the message and the field.
            TemplateError: The template rejects the messages or fails on them.
            MediaError: A message contains media, and `process_multimodal` is True.
            LossError: The template writes nothing of a message or field, and `on_loss` is `"error"` for it.
            ControlTextError: A message contains a special token, and `content_tokens` is `"refuse"`.
            UnencodableTextError: A message contains a lone surrogate.
        """
        options = RenderOptions(template_arguments, add_generation_prompt, continue_final_message, process_multimodal)
        text = self._text_renderer.render(messages, tools, options)
        return unpack_ids(text.encoded.ids)

    def render_text(
        self,
        messages: Iterable[MessageLike],
        *,
        tools: Iterable[ToolLike] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> str:
        """Render a conversation to text.

        Accepts the arguments of `render_ids` and raises the same errors, except for a lone surrogate. Encode the text
        without adding special tokens, because it has those of the template. Even so, the ids differ from those of
        `render_ids` if a message contains a special token and `content_tokens` is `"text"`.

        >>> from renderers import EXAMPLE_MODEL, create_renderer
        >>> create_renderer(EXAMPLE_MODEL).render_text([{"role": "user", "content": "Hi"}])
        '<|turn|>user\\nHi<|end|>\\n'
        """
        options = RenderOptions(template_arguments, add_generation_prompt, continue_final_message, process_multimodal)
        text = self._text_renderer.render(messages, tools, options)
        # Raises if the renderer refuses special tokens in messages.
        _ = text.cuts
        return text.text

    def trace(
        self,
        messages: Iterable[MessageLike],
        *,
        tools: Iterable[ToolLike] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        **template_arguments: Any,
    ) -> Trace:
        """Render a conversation to text with the origin of every character.

        Accepts the same arguments as `render_ids`. Media are rendered as the template's placeholders.
        """
        options = RenderOptions(template_arguments, add_generation_prompt, continue_final_message)
        return self._text_renderer.render(messages, tools, options).trace

    def _try_text(self, messages: list[JsonObject], arguments: Mapping[str, Any]) -> str | None:
        """Return the text of messages with other template arguments; None if the template rejects them."""
        try:
            return self._pipeline.run(messages, tools=None, add_generation_prompt=True, arguments=arguments).text
        except (MessageError, TemplateError):
            return None

    # ==================
    # Parsing
    # ==================

    def parse_response(
        self,
        token_ids: TokenIds,
        *,
        tools: Iterable[ToolLike] | None = None,
        prompt_ids: TokenIds | None = None,
        **template_arguments: Any,
    ) -> ParsedResponse:
        """Parse a completion into content, reasoning and every attempt to call a tool. Never raises for ints.

        `tools` are the tools of the prompt. Formats without quotes need their schemas to restore types.
        `prompt_ids` are the ids of the prompt, which may have opened the reasoning. `template_arguments` are those
        that the prompt was rendered with, such as `enable_thinking=False`. Without `prompt_ids`, the completion is
        parsed as one that follows the generation prompt of these arguments, and without both on its own. With
        `prompt_ids`, template arguments have no effect. If the template exceeds its limits while the grammar is
        inferred, everything is content, and `resolution.conflicts` has the reason.

        Raises:
            TypeError: An id is not an int, or there are ids of several sequences; names the position. Or a template
                argument is unknown, as in `render_ids`.
            MessageError: A tool is not JSON data, or has no name. Names the tool and the field.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> completion = '<|think|>Look.<|/think|><|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>'
        >>> parsed = renderer.parse_response(renderer.tokenizer.encode(completion, add_special_tokens=False))
        >>> parsed.reasoning_content, parsed.tool_calls[0].name, parsed.tool_calls[0].arguments
        ('Look.', 'get', {'x': 1})
        """
        tool_list = readable_tools(tools)
        prefill = self._find_prefill(tool_list, prompt_ids, template_arguments)
        return parse_whole(self._compiled_grammar, tool_list, prefill=prefill, token_ids=token_ids)

    @overload
    def parse_batch(
        self,
        completions: Iterable[TokenIds],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        prompt_ids: Iterable[TokenIds | None] | None = None,
        errors: Literal["raise"] = "raise",
        **template_arguments: Any,
    ) -> list[ParsedResponse]: ...
    @overload
    def parse_batch(
        self,
        completions: Iterable[TokenIds],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        prompt_ids: Iterable[TokenIds | None] | None = None,
        errors: BatchErrors,
        **template_arguments: Any,
    ) -> list[ParsedResponse | Exception]: ...
    def parse_batch(
        self,
        completions: Iterable[TokenIds],
        *,
        tools: Iterable[ToolLike | Iterable[ToolLike] | None] | None = None,
        prompt_ids: Iterable[TokenIds | None] | None = None,
        errors: BatchErrors = "raise",
        **template_arguments: Any,
    ) -> Any:
        """Parse completions in order, each with the result of `parse_response`.

        `tools` are the tools of all prompts, or a list with a list or None for each completion. `prompt_ids` has the
        ids or None for each completion. `template_arguments` are those of all prompts. With `errors="return"` an
        exception takes the place of the result.

        Raises:
            TypeError, MessageError: As `parse_response`. Names the index of the first completion that fails.
            ValueError: `tools` or `prompt_ids` has entries for another number of completions.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> texts = "Hi<|end|>", "Yes?<|end|>"
        >>> completions = [renderer.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        >>> [parsed.content for parsed in renderer.parse_batch(completions)]
        ['Hi', 'Yes?']
        """
        items = list_sequences(completions, name="completions")
        prompts = [None] * len(items) if prompt_ids is None else list_sequences(prompt_ids, name="prompt_ids")
        check_count("prompt_ids", prompts, len(items))
        return run_batch(
            lambda item: self.parse_response(item[0], tools=item[1], prompt_ids=item[2], **template_arguments),
            zip(items, tools_of_items(tools, len(items)), prompts, strict=True),
            errors=errors,
            kind="completion",
        )

    def parser(
        self,
        *,
        tools: Iterable[ToolLike] | None = None,
        prompt_ids: TokenIds | None = None,
        **template_arguments: Any,
    ) -> ResponseParser:
        """Return a parser for a completion that arrives in chunks. Accepts the arguments of `parse_response`.

        The parser copies the tools, so it does not see later changes of the caller's objects.

        Raises:
            TypeError: An id of the prompt that is read is not an int, or a template argument is unknown.
            MessageError: A tool is not JSON data, or has no name. Names the tool and the field.
        """
        tool_list = normalise_tools(tools)
        prefill = self._find_prefill(tool_list, prompt_ids, template_arguments)
        return ResponseParser(self._compiled_grammar, tool_list, prefill=prefill)

    def stream(self, *, tools: Iterable[ToolLike] | None = None, prompt_ids: TokenIds | None = None) -> ResponseParser:
        """The old name of `parser`."""
        return self.parser(tools=tools, prompt_ids=prompt_ids)

    def _find_prefill(
        self, tools: list[Any] | None, prompt_ids: TokenIds | None, template_arguments: Mapping[str, Any]
    ) -> Pieces:
        """Return the beginning of the turn in the prompt of a completion."""
        compiled = self._compiled_grammar
        prompt: Sequence[Any] = []
        if prompt_ids is not None:
            prompt = prompt_ids if isinstance(prompt_ids, array) else list_ids(prompt_ids, name="prompt_ids")
        if template_arguments:
            arguments = self._text_renderer.normalise_arguments(template_arguments)
            if not prompt:
                text = self._pipeline.generation_prompt(arguments, with_tools=tools is not None)
                prompt = self.tokenizer.encode(text, add_special_tokens=False)
        return find_prefill(compiled, prompt) if prompt else compiled.assumed_prefill

    # ==================
    # Bridging
    # ==================

    def bridge(
        self,
        previous_prompt_ids: TokenIds,
        previous_completion_ids: TokenIds,
        new_messages: Iterable[MessageLike] | None,
        *,
        tools: Iterable[ToolLike] | None = None,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> Bridge | BridgeRefusal:
        """Extend a rollout by new messages without changing its tokens, or return a refusal with a reason.

        The returned tokens are the previous prompt and completion, then the template's text for the new messages, up
        to the start of the assistant's next turn. The text must not depend on the unknown history. With the default
        `thinking_retention`, the template must also leave the history unchanged. A completion that was cut off is
        closed with the template's own tokens, which are not sampled. `tools` and `template_arguments` are those of the
        prompt.

        Raises:
            TypeError: An id is not an int; names its position. Or a template argument is unknown, as in `render_ids`.
            TokenIdError: An id is negative, or above 4,294,967,295. Names its position.
            MessageError: A new message or a tool cannot be rendered.
            TemplateLimitError: The template exceeds its limits.
            MediaError: A new message contains media, and `process_multimodal` is True.
            LossError: The template writes nothing of a new message or field, and `on_loss` is `"error"` for it.
            ControlTextError: A new message contains a special token, and `content_tokens` is `"refuse"`.
            UnencodableTextError: A new message contains a lone surrogate.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
        >>> completion = renderer.tokenizer.encode("Hello!<|end|>", add_special_tokens=False)
        >>> bridge = renderer.bridge(prompt, completion, [{"role": "user", "content": "Bye"}])
        >>> renderer.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
        '\\n<|turn|>user\\nBye<|end|>\\n<|turn|>assistant\\n'
        """
        arguments = self._text_renderer.normalise_arguments(template_arguments) if template_arguments else {}
        prompt = as_packed_ids(previous_prompt_ids, name="previous_prompt_ids")
        completion = as_ids(previous_completion_ids, name="previous_completion_ids")
        messages = [] if new_messages is None else list_messages(new_messages)
        missing = find_missing(prompt, messages)
        if missing is not None:
            return missing
        tool_list = normalise_tools(tools)
        with naming_new_messages():
            messages = normalise_messages(messages)
            prefill = self._find_prefill(tool_list, prompt, {})
            parsed = parse_whole(self._compiled_grammar, tool_list, prefill=prefill, token_ids=completion)
            prior = Prior(prompt, completion, parsed)
            new = with_call_ids(messages, parsed.state.calls)
            if process_multimodal:
                reject_media(messages)
            context = self._bridge_contexts.get(tool_list, self.resolution.grammar.header, arguments)
            retention = self._retention_in(context.pipeline) if arguments else self._default_retention
            retention = self.settings.thinking_retention or retention
            switch = functools.partial(keeping_switch, self.family_match.family, context.pipeline.arguments)
            return Extension(
                context, prior, new, messages, retention, self._text_renderer.loss_reporter, switch
            ).bridge()

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: TokenIds,
        previous_completion_ids: TokenIds,
        new_messages: Iterable[MessageLike] | None,
        *,
        tools: Iterable[ToolLike] | None = None,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> RenderedTokens | None:
        """Return the tokens of `bridge`, or None if it refuses.

        The first refusal of each reason is logged at info level, later ones at debug level.
        """
        prior = previous_prompt_ids, previous_completion_ids
        options = {"process_multimodal": process_multimodal, **template_arguments}
        bridged = self.bridge(*prior, new_messages, tools=tools, **options)
        if isinstance(bridged, Bridge):
            return bridged.tokens
        self._refusal_log.add(bridged)
        return None

    @lazy
    def _refusal_log(self) -> RefusalLog:
        return RefusalLog()

    @lazy
    def _bridge_contexts(self) -> BridgeContexts:
        return BridgeContexts(self._pipeline)

    @lazy
    def _default_retention(self) -> ThinkingRetention | None:
        return self._retention_in(self._pipeline)

    def _retention_in(self, pipeline: RenderPipeline) -> ThinkingRetention | None:
        """Return the reasoning that bridges keep by default with the template arguments of a pipeline."""
        silent = empty_reasoning(pipeline.turn_format(with_tools=False), "user") is not None
        return retention_of(self.family_match.family, pipeline.arguments, silent=silent)

    @property
    def effective_thinking_retention(self) -> ThinkingRetention | Literal["template"]:
        """The reasoning of earlier turns that bridges keep: `thinking_retention`, or the one that its None stands for.

        "template" is the reasoning that the template keeps.

        >>> from renderers import EXAMPLE_MODEL, create_renderer
        >>> create_renderer(EXAMPLE_MODEL).effective_thinking_retention
        'template'
        """
        return self.settings.thinking_retention or self._default_retention or "template"

    @property
    def is_prefix_stable(self) -> bool:
        """True if appending messages to a conversation that ends with an assistant message leaves its ids unchanged.

        Both conversations are rendered without a generation prompt. The result is learned once per template and
        arguments, by rendering up to two hundred conversations. `prefix_stability` returns those that were compared.

        Raises:
            TemplateLimitError: The template exceeds its limits.
        """
        return self.prefix_stability().stable

    def prefix_stability(self) -> PrefixStability:
        """Return the smallest conversation with ids that change when messages are appended, or all that were compared.

        Each call returns a record of its own.

        Raises:
            TemplateLimitError: The template exceeds its limits.

        >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
        >>> stability = renderer.prefix_stability()
        >>> stability.stable, stability.tried[0]
        (True, 'after a question: a turn, then user')
        """
        return learn_prefix_stability(self._pipeline)

    # ==================
    # The model
    # ==================

    @lazy
    def resolution(self) -> Resolution:
        """The family, stop tokens and grammar of the model, the source of each, and conflicts between them."""
        return resolve(
            self.tokenizer,
            self._pipeline.turn_format(with_tools=False),
            self._pipeline.turn_format(with_tools=True),
            family_match=self.family_match,
            parsers=self.settings.parsers,
            program_name=self.settings.program,
            date=self.settings.date,
        )

    def get_stop_token_ids(self) -> list[int]:
        """Return the stop token ids in order. `resolution.stop_source` names their source."""
        return list(self.resolution.stop_token_ids)

    @property
    def supports_tools(self) -> bool:
        """True if tool calls are parsed from completions."""
        return self.resolution.grammar.tools is not None

    def template(self, *, tools: bool = False) -> ChatTemplate:
        """Return the chat template for conversations with or without tools.

        Raises:
            TypeError: The renderer's format is not a chat template.
        """
        program = self._pipeline.program(with_tools=tools)
        if not isinstance(program, TemplateProgram):
            raise TypeError(f"the format of {self.tokenizer.name_or_path} is not a chat template")
        return program.template

    @lazy
    def _compiled_grammar(self) -> CompiledGrammar:
        for conflict in self.resolution.conflicts:
            if conflict.startswith((UNREAD_CALLS, UNPROBED)):
                # Parsing never raises, so calls that stay content are only visible in the log.
                _LOG.warning("%s: %s", self.tokenizer.name_or_path, conflict)
        return compile_grammar(self.resolution.grammar, self.tokenizer.vocab, stops=self.resolution.end_token_ids)

    @lazy
    def _pipeline(self) -> RenderPipeline:
        return RenderPipeline(self.settings)

    @lazy
    def _text_renderer(self) -> TextRenderer:
        return TextRenderer(self.settings, self._pipeline)

    def __reduce__(self) -> tuple[Any, ...]:
        # Attributes of a caller's subclass. Those of this package are computed from the settings.
        computed = {name for parent in type(self).__mro__ if is_ours(parent) for name in vars(parent)}
        own = {name: value for name, value in vars(self).items() if name not in {"settings", *computed}}
        return restore, (type(self), self.settings), own or None
