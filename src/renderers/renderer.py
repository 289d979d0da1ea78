"""`ChatRenderer`: messages to token ids, for any tokenizer with a chat template."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, get_args

from renderers.bridging.bridge import Bridge, Prior, extend
from renderers.bridging.context import BridgeContext, pipeline_key
from renderers.bridging.refusal import BridgeReason, BridgeRefusal
from renderers.bridging.stability import PrefixStability, learn_prefix_stability
from renderers.configs import BaseRendererConfig
from renderers.core.completions import ParsedResponse
from renderers.core.conventions import SamplingConventions
from renderers.core.lazy import lazy
from renderers.core.messages import (
    extract_message_tool_names,
    list_messages,
    media_parts,
    normalise_messages,
    normalise_tools,
)
from renderers.core.options import ContentTokens, Prefill, ThinkingRetention
from renderers.core.spans import Trace
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.errors import MediaError, MessageError, TemplateError
from renderers.families.registry import NO_MATCH, UNKNOWN_FAMILY, FamilyMatch
from renderers.parsing.compiled import CompiledGrammar, compile_grammar
from renderers.parsing.grammar import NO_OVERRIDES, ParserOverrides
from renderers.parsing.markers import as_ids
from renderers.parsing.parser import ResponseParser, find_prefill
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.programs.template import TemplateProgram
from renderers.rendering.pipeline import RenderPipeline
from renderers.rendering.prefill import empty_reasoning
from renderers.rendering.settings import RenderSettings
from renderers.resolution import UNPROBED, UNREAD_CALLS, Resolution, resolve
from renderers.retention import find_contradiction, retention_of
from renderers.templating import LIMITS, ChatTemplate, Limits
from renderers.templating.chat import normalise_template_kwargs
from renderers.templating.template import resolve_verify
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer

__all__ = ["ChatRenderer", "MultimodalChatRenderer", "state_of"]

_LOG = logging.getLogger("renderers")
_TYPE_IDS = {"image": 1, "video": 2, "audio": 3}


@dataclass(frozen=True, kw_only=True)
class ChatRenderer:
    """Renders messages to the token ids of one model; made by `create_renderer`.

    Nothing about it changes, so that any number of threads may use it at once, it always gives the same
    ids, and a copy in another process does as well.

    >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
    >>> ids = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    >>> renderer.tokenizer.decode(ids)
    '<|turn|>user\\nHi<|end|>\\n<|turn|>assistant\\n'
    """

    tokenizer: LoadedTokenizer | ForeignTokenizer
    chat_template: str | None = None
    """The template's text where the caller chose one; None for the tokenizer's own."""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """What the template is given in every render, unless a call says otherwise."""
    date: datetime.datetime
    """The time that templates are told when they ask."""
    limits: Limits = LIMITS
    verify: bool | None = None
    """Whether each run of the template is compared with an untraced one. None is replaced by the value of the
    environment variable `RENDERERS_VERIFY` when the renderer is made."""
    content_tokens: ContentTokens = "template"
    """What becomes of control text in what callers give."""
    conventions: SamplingConventions = field(default_factory=SamplingConventions)
    """Where the borders of what is sampled are drawn."""
    thinking_retention: ThinkingRetention | None = None
    """What of the reasoning in a history a bridge keeps though the template drops it; None for what it keeps itself,
    or what the family's record says."""
    prefill: Prefill = "template"
    """What becomes of empty reasoning that the generation prompt wrote, in the turns of the history."""
    found: FamilyMatch = NO_MATCH
    """The model's family, and what it was found by."""
    parsers: ParserOverrides = NO_OVERRIDES
    """What completions are read with, whatever the template shows."""
    config: BaseRendererConfig | None = None
    """The config that this was made with; None where it was made without one."""

    def __post_init__(self) -> None:
        if self.content_tokens not in get_args(ContentTokens):
            choices = ", ".join(map(repr, get_args(ContentTokens)))
            raise ValueError(f"content_tokens must be one of {choices}, not {self.content_tokens!r}")
        if self.thinking_retention not in (None, *get_args(ThinkingRetention)):
            choices = ", ".join(map(repr, (None, *get_args(ThinkingRetention))))
            raise ValueError(f"thinking_retention must be one of {choices}, not {self.thinking_retention!r}")
        self.parsers.check()
        if not isinstance(self.conventions, SamplingConventions):
            raise TypeError(f"conventions must be SamplingConventions, not a {type(self.conventions).__name__}")
        foreign = self.tokenizer if isinstance(self.tokenizer, ForeignTokenizer) else None
        if foreign is not None and self.content_tokens == "text":
            raise TypeError(
                f'content_tokens="text" needs a tokenizer that load_tokenizer gives, or one with a Rust backend: '
                f"{type(foreign.wrapped).__name__} alone decides what becomes of control text"
            )
        if foreign is not None and self.content_tokens == "refuse" and not foreign.lists_added_tokens:
            raise TypeError(
                f'content_tokens="refuse" needs a tokenizer that says which tokens are control tokens: '
                f"{type(foreign.wrapped).__name__} has no get_added_vocab"
            )
        if isinstance(self.tokenizer, LoadedTokenizer) and self.content_tokens == "text":
            # A vocabulary that cannot do it says so now.
            _ = self.tokenizer.vocab.plain
        object.__setattr__(self, "verify", resolve_verify(self.verify))
        object.__setattr__(self, "chat_template_kwargs", _frozen(normalise_template_kwargs(self.chat_template_kwargs)))
        # A template that is missing or broken is said now, not at the first render.
        self.template()
        if self.found.family != UNKNOWN_FAMILY:
            # The config of a family has said it already.
            return
        wrong = find_contradiction(
            self._text_with, normalise_template_kwargs(self.chat_template_kwargs), self.thinking_retention
        )
        if wrong is not None:
            raise ValueError(f"thinking_retention contradicts chat_template_kwargs: {wrong}")

    def render(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> RenderedTokens:
        """Returns the token ids of a conversation, and for each its message, its channel and whether it is sampled.

        Takes what `render_ids` takes, and gives the same ids. A tokenizer of the caller's own that cannot say
        where its tokens are in a text gives ids alone.

        >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
        >>> rendered = renderer.render([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}])
        >>> sampled = [token for token, sampled in zip(rendered.token_ids, rendered.sampled_mask) if sampled]
        >>> renderer.tokenizer.decode(sampled)
        'Yes?<|end|>'
        """
        run = self._writer.run(
            normalise_messages(messages),
            tools=normalise_tools(tools),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=self._for_template(template_arguments),
        )
        _refuse_media(run.run.messages, process_multimodal=process_multimodal)
        names = extract_message_tool_names(run.run.messages)
        encoded, injected = self._writer.encode(run.trace, run.labels)
        return RenderedTokens.of_runs(
            *encoded,
            injected=injected,
            message_roles=run.roles,
            message_tool_names=names,
            decode=self.tokenizer.decode,
        )

    def render_ids(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        process_multimodal: bool = True,
        **template_arguments: Any,
    ) -> list[int]:
        """Returns the token ids of a conversation.

        `messages` and `tools` may be dicts, pydantic models, OpenAI SDK objects or dataclasses.
        `continue_final_message` ends with the last message's content, so that a model goes on with it, or
        with another field that it names: `"reasoning_content"`.
        Images, video and audio are not processed: they are an error, unless `process_multimodal=False` asks
        for the placeholders that the template writes for them.
        `template_arguments` are for the template: `enable_thinking=False`, `documents=[...]`; a name that it does not
        read is a `TypeError`, unless it is a switch of the family, or one for thinking.

        Raises:
            MessageError: Something in the messages cannot be rendered; says which message.
            TemplateError: The template refuses the messages, or fails on them.
            MediaError: A message holds an image, and the placeholder alone was not asked for.
            ControlTextError: A message holds control text, and that is to be refused.
            UnencodableTextError: A message holds a lone surrogate.
        """
        run = self._writer.run(
            normalise_messages(messages),
            tools=normalise_tools(tools),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=self._for_template(template_arguments),
        )
        _refuse_media(run.run.messages, process_multimodal=process_multimodal)
        return self._writer.ids(run.trace)

    def trace(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        **template_arguments: Any,
    ) -> Trace:
        """Returns the text of a conversation, and whose every character is; takes what `render_ids` takes.

        Images are the placeholders that the template writes.
        """
        return self._writer.run(
            normalise_messages(messages),
            tools=normalise_tools(tools),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            arguments=self._for_template(template_arguments),
        ).trace

    def _for_template(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what one render alone gives the template; a name that it does not read is a mistake.

        Switches of the family are not, nor those that let a model think: callers give these to all models.
        """
        plain = normalise_template_kwargs(arguments)
        for name in plain.keys() - {*THINKING_SWITCHES, *(switch.name for switch in self.found.family.switches)}:
            if not any(self._writer.program(with_tools=tools).mentions(name) for tools in (False, True)):
                raise TypeError(f"{name!r} is neither an option of a render nor a name that the chat template reads")
        return plain

    def _text_with(self, messages: list[dict[str, Any]], switches: Mapping[str, Any]) -> str | None:
        """Returns the text of messages with other switches; None where the template refuses them."""
        try:
            return self._writer.run(messages, tools=None, add_generation_prompt=True, arguments=switches).trace.text
        except (MessageError, TemplateError):
            return None

    def parse_response(
        self, token_ids: Iterable[Any], *, tools: Iterable[Any] | None = None, prompt_ids: Iterable[Any] | None = None
    ) -> ParsedResponse:
        """Parse a completion into content, reasoning and every attempt to call a tool. No ids make it raise.

        `tools` are those of the prompt: values that a format writes without quotes are read by their schemas.
        `prompt_ids` are the prompt's ids: its end may have opened the reasoning. If the template exceeds its limits
        when the grammar is derived, everything is content; `resolution.conflicts` has the reason.

        Raises:
            TypeError: The ids are in no list, array, tensor or other iterable.
            MessageError: A tool is not a dict or an object with fields.

        >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
        >>> completion = '<|think|>Look.<|/think|><|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>'
        >>> parsed = renderer.parse_response(renderer.tokenizer.encode(completion))
        >>> parsed.reasoning_content, parsed.tool_calls[0].name, parsed.tool_calls[0].arguments
        ('Look.', 'get', {'x': 1})
        """
        listed = None if tools is None else list(tools)
        if listed and set(map(type, listed)) != {dict}:
            # Dicts are read before this returns, so most tools need no copy per completion.
            listed = normalise_tools(listed)
        return self._parser(listed, prompt_ids).close(token_ids)

    def stream(self, *, tools: Iterable[Any] | None = None, prompt_ids: Iterable[Any] | None = None) -> ResponseParser:
        """Return a parser for a completion that arrives in chunks. Accepts the arguments of `parse_response`.

        The tools are copied: the parser does not see later changes of the caller's objects.

        Raises:
            MessageError: A tool has a wrong shape.
        """
        return self._parser(normalise_tools(tools), prompt_ids)

    def _parser(self, tools: list[Any] | None, prompt_ids: Iterable[Any] | None) -> ResponseParser:
        compiled = self._compiled_grammar
        prompt = as_ids(prompt_ids) if prompt_ids is not None else []
        return ResponseParser(
            compiled, tools, prefill=find_prefill(compiled, prompt) if prompt else compiled.assumed_prefill
        )

    def bridge(
        self,
        previous_prompt_ids: Iterable[Any],
        previous_completion_ids: Iterable[Any],
        new_messages: Iterable[Any] | None,
        *,
        tools: Iterable[Any] | None = None,
        process_multimodal: bool = True,
    ) -> Bridge | BridgeRefusal:
        """Extends a rollout: its prompt and completion, token for token, and what new messages add, or says why not.

        The tokens end where the assistant's next turn begins. What is added is what the template writes after such
        a turn, whatever the history; with the default `thinking_retention` only where it also keeps the history as
        it is. A turn that was cut off is closed with the template's own tokens, which are not sampled. The template
        is given what it is given in every render, so what one render alone was given has to be given by a renderer
        of its own.

        Raises:
            MessageError: A new message is none, or a tool.
            TemplateLimitError: The template does not come to an end.
            MediaError: A new message holds an image, and the placeholder alone was not asked for.
            ControlTextError: A new message holds control text, and that is to be refused.
            UnencodableTextError: A new message holds a lone surrogate.

        >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
        >>> prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
        >>> completion = renderer.tokenizer.encode("Hello!<|end|>")
        >>> bridge = renderer.bridge(prompt, completion, [{"role": "user", "content": "Bye"}])
        >>> renderer.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
        '\\n<|turn|>user\\nBye<|end|>\\n<|turn|>assistant\\n'
        """
        prompt, completion = as_ids(previous_prompt_ids), as_ids(previous_completion_ids)
        new = [] if new_messages is None else list_messages(new_messages)
        if not prompt:
            return BridgeRefusal(BridgeReason.NO_PRIOR)
        if not new:
            return BridgeRefusal(BridgeReason.NOTHING_NEW)
        new = normalise_messages(new)
        listed = normalise_tools(tools)
        parsed = self.parse_response(completion, tools=listed, prompt_ids=prompt)
        prior = Prior(prompt, completion, parsed.state, parsed.content)
        _refuse_media(new, process_multimodal=process_multimodal)
        context = BridgeContext(self._writer, listed, self.resolution.grammar.header)
        return extend(context, prior, new, retention=self.thinking_retention or self._kept)

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Iterable[Any],
        previous_completion_ids: Iterable[Any],
        new_messages: Iterable[Any] | None,
        *,
        tools: Iterable[Any] | None = None,
        process_multimodal: bool = True,
    ) -> RenderedTokens | None:
        """Returns the tokens of `bridge`, or None where it refuses; the reason is logged at debug level."""
        bridged = self.bridge(
            previous_prompt_ids,
            previous_completion_ids,
            new_messages,
            tools=tools,
            process_multimodal=process_multimodal,
        )
        if isinstance(bridged, Bridge):
            return bridged.tokens
        _LOG.debug("no bridge to the next turn: %s: %s", bridged.reason, bridged.detail)
        return None

    @property
    def is_prefix_stable(self) -> bool:
        """Whether appending messages to a conversation that ends in an assistant's leaves its ids unchanged.

        Both are rendered without a generation prompt, and with what is given in every render. Found once, with small
        conversations; `prefix_stability` says which.
        """
        return self._stability.stable

    def prefix_stability(self) -> PrefixStability:
        """Returns the smallest conversation whose ids change when messages are appended, or what was tried.

        Raises:
            TemplateLimitError: The template does not come to an end.

        >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
        >>> found = renderer.prefix_stability()
        >>> found.stable, found.tried[0]
        (True, 'after a question: a turn, then user')
        """
        return self._stability

    @lazy
    def _stability(self) -> PrefixStability:
        keys = tuple(pipeline_key(self._writer, with_tools=tools) for tools in (False, True))
        programs = {self._writer.program(with_tools=tools) for tools in (False, True)}
        reads_tools = len(programs) > 1 or any(program.mentions("tools") for program in programs)
        return learn_prefix_stability(keys, self._render_sample, reads_tools=reads_tools)

    def _render_sample(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> tuple[str, list[int]]:
        trace = self._writer.run(messages, tools=tools, add_generation_prompt=False).trace
        return trace.text, self._writer.ids(trace)

    def get_stop_token_ids(self) -> list[int]:
        """Returns the tokens that a model is to be stopped with, in order; `resolution` says who named them."""
        return list(self.resolution.stop_token_ids)

    @lazy
    def resolution(self) -> Resolution:
        """What was found out about the model: its stop tokens, how it writes a turn, and what contradicts what."""
        return resolve(
            self.tokenizer,
            self._writer.turn_format(with_tools=False),
            self._writer.turn_format(with_tools=True),
            found=self.found,
            parsers=self.parsers,
        )

    @lazy
    def _kept(self) -> ThinkingRetention | None:
        silent = empty_reasoning(self._writer.turn_format(with_tools=False), "user") is not None
        return retention_of(self.found.family, self.chat_template_kwargs, silent=silent)

    @property
    def supports_tools(self) -> bool:
        """Whether tool calls are read from completions."""
        return self.resolution.grammar.tools is not None

    @lazy
    def _compiled_grammar(self) -> CompiledGrammar:
        for conflict in self.resolution.conflicts:
            if conflict.startswith((UNREAD_CALLS, UNPROBED)):
                # Parsing never raises, so calls that stay content are only visible in the log.
                _LOG.warning("%s: %s", self.tokenizer.name_or_path, conflict)
        return compile_grammar(self.resolution.grammar, self.tokenizer.vocab, stops=self.resolution.ends)

    @lazy
    def _writer(self) -> RenderPipeline:
        settings = RenderSettings(
            tokenizer=self.tokenizer,
            chat_template=self.chat_template,
            chat_template_kwargs=self.chat_template_kwargs,
            date=self.date,
            limits=self.limits,
            verify=bool(self.verify),
            content_tokens=self.content_tokens,
            conventions=self.conventions,
            prefill=self.prefill,
        )
        return RenderPipeline(settings)

    def template(self, *, tools: bool = False) -> ChatTemplate:
        """Returns the template that is used with or without tools."""
        program = self._writer.program(with_tools=tools)
        assert isinstance(program, TemplateProgram)
        return program.template

    def __hash__(self) -> int:
        # Without the arguments, which may be lists; those that are equal have the same hash all the same.
        return hash((self.tokenizer, self.chat_template, self.date, self.limits, self.verify, self.content_tokens))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), state_of(self))


class MultimodalChatRenderer(ChatRenderer):
    """Renders messages of a model that takes images; `create_renderer` knows which do."""

    supports_process_multimodal: ClassVar[bool] = True
    """`render` and the bridges take `process_multimodal`."""

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Iterable[Any],
        previous_completion_ids: Iterable[Any],
        new_messages: Iterable[Any] | None,
        *,
        tools: Iterable[Any] | None = None,
        process_multimodal: bool = True,
        previous_multi_modal_data: MultiModalData | None = None,
    ) -> RenderedTokens | None:
        """Return the tokens of `bridge` with a copy of the prior prompt's media, or None if the bridge is refused.

        New images are placeholders and add nothing to `previous_multi_modal_data`. The copy shares the processed
        items with it, but no dict and no list.
        """
        bridged = super().bridge_to_next_turn(
            previous_prompt_ids,
            previous_completion_ids,
            new_messages,
            tools=tools,
            process_multimodal=process_multimodal,
        )
        if bridged is not None and previous_multi_modal_data is not None:
            bridged.multi_modal_data = previous_multi_modal_data.copy()
        return bridged

    @lazy
    def mm_token_type_id_map(self) -> dict[int, int]:
        """The placeholder tokens that the template writes: 1 for an image, 2 for a video, 3 for audio."""
        found = {kind: self._placeholder(kind) for kind in _TYPE_IDS}
        return {token: _TYPE_IDS[kind] for kind, token in found.items() if token is not None}

    def _placeholder(self, kind: str) -> int | None:
        text = self._writer.turn_format(with_tools=False).placeholder("user", kind)
        ids = self.tokenizer.encode(text, add_special_tokens=False) if text else []
        return ids[0] if len(ids) == 1 else None


def state_of(renderer: ChatRenderer) -> dict[str, Any]:
    """Returns what a renderer is made of, as what can be pickled."""
    state = {one.name: getattr(renderer, one.name) for one in fields(renderer)}
    return {**state, "chat_template_kwargs": normalise_template_kwargs(renderer.chat_template_kwargs)}


def _rebuild(kind: type[ChatRenderer], state: Mapping[str, Any]) -> ChatRenderer:
    return kind(**state)


def _refuse_media(messages: Sequence[Mapping[str, Any]], *, process_multimodal: bool) -> None:
    if process_multimodal:
        for at, message in enumerate(messages):
            for part, kind in media_parts(message).items():
                raise MediaError.at(kind, message=at, part=part)


def _frozen(value: Any) -> Any:
    """Returns JSON data that cannot be changed."""
    if isinstance(value, dict):
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
