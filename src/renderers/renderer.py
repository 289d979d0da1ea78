"""`ChatRenderer`: messages to token ids, for any tokenizer with a chat template."""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from renderers.adapt import adapt_messages, adapt_tools
from renderers.chat import choose_template, plain_switches, read_template, run_chat
from renderers.control import find_injected, find_marks, find_own
from renderers.conventions import Conventions
from renderers.errors import ControlTextError, MediaError, UnencodableTextError
from renderers.forms import Given, all_given, given_to, takes_form
from renderers.messages import extract_message_tool_names, media_parts, plain_messages, plain_tools
from renderers.parse.lexicon import as_ids
from renderers.parse.prompt import prefill_of
from renderers.parse.response import ParsedResponse
from renderers.parse.stream import ResponseParser
from renderers.parse.tables import Tables, tables_for
from renderers.probing import Ways, placeholder, ways_of
from renderers.rendered import InjectedText, RenderedTokens
from renderers.resolution import Resolution, resolve
from renderers.spans import Mark, Span, Trace
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer, adopt_tokenizer
from renderers.tokenizer.encode import Cuts, cut_at_own, cut_at_walls, encode_labelled, encode_text, locate_marks
from renderers.trace import LIMITS, ChatTemplate, Limits
from renderers.turns import label

__all__ = ["ChatRenderer", "MultimodalChatRenderer", "create_renderer"]

ContentTokens = Literal["template", "text", "refuse"]
"""What becomes of control text in what callers give: what the template would make of it, ordinary text, an error."""

_TYPE_IDS = {"image": 1, "video": 2, "audio": 3}
_WORD = 40
"""How long a switch's value is at most that is a word and not a text."""


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
    content_tokens: ContentTokens = "template"
    """What becomes of control text in what callers give."""
    conventions: Conventions = field(default_factory=Conventions)
    """Where the borders of what is sampled are drawn."""

    def __post_init__(self) -> None:
        if self.content_tokens not in get_args(ContentTokens):
            choices = ", ".join(map(repr, get_args(ContentTokens)))
            raise ValueError(f"content_tokens must be one of {choices}, not {self.content_tokens!r}")
        if not isinstance(self.conventions, Conventions):
            raise TypeError(f"conventions must be Conventions, not a {type(self.conventions).__name__}")
        foreign = self.tokenizer if isinstance(self.tokenizer, ForeignTokenizer) else None
        if foreign is not None and self.content_tokens == "text":
            raise TypeError(
                f'content_tokens="text" needs a tokenizer that load_tokenizer gives, or one with a Rust backend: '
                f"{type(foreign.wrapped).__name__} alone decides what becomes of control text"
            )
        if foreign is not None and self.content_tokens == "refuse" and not foreign.tells_added_tokens:
            raise TypeError(
                f'content_tokens="refuse" needs a tokenizer that says which tokens are control tokens: '
                f"{type(foreign.wrapped).__name__} has no get_added_vocab"
            )
        if isinstance(self.tokenizer, LoadedTokenizer) and self.content_tokens == "text":
            # A vocabulary that cannot do it says so now.
            _ = self.tokenizer.plain
        object.__setattr__(self, "chat_template_kwargs", _frozen(plain_switches(self.chat_template_kwargs)))
        # A template that is missing or broken is said now, not at the first render.
        self.template()

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
        run = self._run(
            plain_messages(messages),
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            template_arguments=template_arguments,
        )
        _refuse_media(run.messages, process_multimodal=process_multimodal)
        names = extract_message_tool_names(run.messages)
        if isinstance(self.tokenizer, ForeignTokenizer) and not self.tokenizer.has_offsets:
            alone = self._ids(run.trace)
            return RenderedTokens(token_ids=alone, message_roles=run.roles, message_tool_names=names)
        labels = label(
            run.trace,
            run.messages,
            template=run.template,
            given=run.given,
            tools=tools is not None,
            control=self.tokenizer.control_texts,
            stops=self.tokenizer.stop_texts,
            now=self.date,
            conventions=self.conventions,
            inline=self.content_tokens != "text",
        )
        text, (cuts, injected) = run.trace.text, self._control(run.trace)
        with _naming_fields(run.trace):
            encoded = encode_labelled(self.tokenizer, text, cuts, labels)
            places = locate_marks(self.tokenizer, text, cuts, [mark for mark, _ in injected]) if injected else []
        return RenderedTokens.of_runs(
            *encoded,
            injected=[
                InjectedText(span.message, span.path, mark.text, *place)
                for (mark, span), place in zip(injected, places, strict=True)
            ],
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
        `template_arguments` are for the template: `enable_thinking=False`, `documents=[...]`.

        Raises:
            MessageError: Something in the messages cannot be rendered; says which message.
            TemplateError: The template refuses the messages, or fails on them.
            MediaError: A message holds an image, and the placeholder alone was not asked for.
            ControlTextError: A message holds control text, and that is to be refused.
            UnencodableTextError: A message holds a lone surrogate.
        """
        run = self._run(
            plain_messages(messages),
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            template_arguments=template_arguments,
        )
        _refuse_media(run.messages, process_multimodal=process_multimodal)
        return self._ids(run.trace)

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
        return self._run(
            plain_messages(messages),
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            template_arguments=template_arguments,
        ).trace

    def _run(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: Iterable[Any] | None,
        add_generation_prompt: bool,
        continue_final_message: bool | str,
        template_arguments: Mapping[str, Any],
    ) -> _Run:
        template = self.template(tools=tools is not None)
        tokens = self.tokenizer.special_tokens_map
        switches = {**plain_switches(self.chat_template_kwargs), **plain_switches(template_arguments)}
        given = given_to(template, tokens, switches)
        adapted = adapt_messages(template, messages, given=given)
        trace = run_chat(
            template,
            adapted,
            tools=adapt_tools(template, plain_tools(tools), given=given),
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            now=self.date,
            arguments={**tokens, **switches},
        )
        roles = [message["role"] for message in messages]
        return _Run(trace, adapted, roles, template, (*given, *_short(switches, given, template.source)))

    def _ids(self, trace: Trace) -> list[int]:
        cuts, _ = self._control(trace)
        with _naming_fields(trace):
            return encode_text(self.tokenizer, trace.text, cuts)

    def _control(self, trace: Trace) -> tuple[Cuts, list[tuple[Mark, Span]]]:
        """Returns where a text is cut to be encoded, and the control text in it that the template did not write."""
        reserved = self.tokenizer.reserved_texts
        marks = find_marks(trace.text, reserved)
        injected = find_injected(trace, marks)
        if self.content_tokens == "refuse" and injected:
            mark, span = injected[0]
            raise ControlTextError.at(mark.text, message=span.message, path=span.path)
        if self.content_tokens == "text" and isinstance(self.tokenizer, LoadedTokenizer):
            own = find_own(trace, reserved) if injected else marks
            return cut_at_own(self.tokenizer, trace.text, own), injected
        return cut_at_walls(self.tokenizer, marks), injected

    def parse_response(
        self, token_ids: Iterable[Any], *, tools: Iterable[Any] | None = None, prompt_ids: Iterable[Any] | None = None
    ) -> ParsedResponse:
        """Reads a completion: content, reasoning, and every attempt to call a tool. Never raises, whatever the ids.

        `tools` are those of the prompt: values that a format writes without quotes are read by their schemas.
        `prompt_ids` are the prompt's ids, whose end may have opened the reasoning.

        >>> from renderers import EMBEDDED, create_renderer, load_tokenizer
        >>> renderer = create_renderer(load_tokenizer(EMBEDDED))
        >>> completion = '<|think|>Look.<|/think|><|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>'
        >>> parsed = renderer.parse_response(renderer.tokenizer.encode(completion))
        >>> parsed.reasoning_content, parsed.tool_calls[0].name, parsed.tool_calls[0].arguments
        ('Look.', 'get', {'x': 1})
        """
        return self.stream(tools=tools, prompt_ids=prompt_ids).close(token_ids)

    def stream(self, *, tools: Iterable[Any] | None = None, prompt_ids: Iterable[Any] | None = None) -> ResponseParser:
        """Returns a parser for a completion that comes in chunks; takes what `parse_response` takes."""
        tables = self._tables
        given = as_ids(prompt_ids) if prompt_ids is not None else []
        prefill = prefill_of(tables, given) if given else tables.assumed
        listed = None if tools is None else list(tools)
        if listed and set(map(type, listed)) != {dict}:
            # Those that are dicts already, as most are, need not be copied for every completion.
            listed = plain_tools(listed)
        return ResponseParser(tables, listed, prefill=prefill)

    def get_stop_token_ids(self) -> list[int]:
        """Returns the tokens that a model is to be stopped with, in order; `resolution` says who named them."""
        return list(self.resolution.stop_token_ids)

    @functools.cached_property
    def resolution(self) -> Resolution:
        """What was found out about the model: its stop tokens, how it writes a turn, and what contradicts what."""
        return resolve(self.tokenizer, self._ways(tools=False), self._ways(tools=True))

    @functools.cached_property
    def _tables(self) -> Tables:
        return tables_for(self.resolution.grammar, self.tokenizer, stops=self.resolution.ends)

    def _ways(self, *, tools: bool) -> Ways:
        """Returns what decides about the text around turns, with what is given in every render."""
        template, switches = self.template(tools=tools), plain_switches(self.chat_template_kwargs)
        given = given_to(template, self.tokenizer.special_tokens_map, switches)
        return ways_of(template, given=(*given, *_short(switches, given, template.source)), tools=tools, now=self.date)

    def template(self, *, tools: bool = False) -> ChatTemplate:
        """Returns the template that is used with or without tools."""
        source = self.chat_template
        if source is None:
            source = choose_template(self.tokenizer.chat_templates, tools=tools, name=self.tokenizer.name_or_path)
        return ChatTemplate(source, limits=self.limits, verify=self.verify)

    def __hash__(self) -> int:
        # Without the arguments, which may be lists; those that are equal have the same hash all the same.
        return hash((self.tokenizer, self.chat_template, self.date, self.limits, self.verify, self.content_tokens))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), _state(self))


class MultimodalChatRenderer(ChatRenderer):
    """Renders messages of a model that takes images; `create_renderer` knows which do."""

    @functools.cached_property
    def mm_token_type_id_map(self) -> dict[int, int]:
        """The placeholder tokens that the template writes: 1 for an image, 2 for a video, 3 for audio."""
        found = {kind: self._placeholder(kind) for kind in _TYPE_IDS}
        return {token: _TYPE_IDS[kind] for kind, token in found.items() if token is not None}

    def _placeholder(self, kind: str) -> int | None:
        text = placeholder(self._ways(tools=False), self.tokenizer.control_texts, "user", kind)
        ids = self.tokenizer.encode(text, add_special_tokens=False) if text else []
        return ids[0] if len(ids) == 1 else None


class _Run(NamedTuple):
    """A template's run: its trace, the messages that it was given, and with what."""

    trace: Trace
    messages: list[dict[str, Any]]
    roles: list[str]
    """The roles of the caller's messages, which may have become others for the template."""
    template: ChatTemplate
    given: Given


def _state(renderer: ChatRenderer) -> dict[str, Any]:
    """Returns what a renderer is made of, as what can be pickled."""
    state = {one.name: getattr(renderer, one.name) for one in fields(renderer)}
    return {**state, "chat_template_kwargs": plain_switches(renderer.chat_template_kwargs)}


def _rebuild(kind: type[ChatRenderer], state: Mapping[str, Any]) -> ChatRenderer:
    return kind(**state)


def _refuse_media(messages: Sequence[Mapping[str, Any]], *, process_multimodal: bool) -> None:
    if process_multimodal:
        for at, message in enumerate(messages):
            for part, kind in media_parts(message).items():
                raise MediaError.at(kind, message=at, part=part)


def create_renderer(
    tokenizer: object,
    config: None = None,
    *,
    chat_template: str | os.PathLike[str] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    date: datetime.date | str | None = None,
    limits: Limits = LIMITS,
    verify: bool | None = None,
    content_tokens: ContentTokens = "template",
    conventions: Conventions | None = None,
) -> ChatRenderer:
    """Makes a renderer for a tokenizer.

    `tokenizer` is the result of `load_tokenizer`, or a tokenizer of the caller's own, as
    `adopt_tokenizer` takes it. `chat_template` is a template's text, a path, or the name of one of the
    tokenizer's own; by default it is the tokenizer's. `chat_template_kwargs` go to the template in every
    render. `date` is what templates that ask for the time are told, as a date, a datetime or its ISO text;
    by default the time of this call, so give it where several processes have to agree. `limits` is what
    one run of the template may use up, and `verify` compares each run with one without tracing.
    `content_tokens` says what becomes of control text, such as `<|im_end|>`, that stands in a message, a
    tool or a document: with `"template"` what the model's own template and tokenizer make of it, a control
    token; with `"text"` ordinary tokens; with `"refuse"` it is a `ControlTextError`. `conventions` draw the
    borders of what is sampled as another package does.

    Raises:
        TemplateMissingError: There is no template.
        TemplateSourceError: The template is none.
        TypeError: The object cannot be used as a tokenizer, or not with these `content_tokens`.
        ValueError: The date's text is none.

    >>> import datetime
    >>> from renderers import EMBEDDED, load_tokenizer
    >>> create_renderer(load_tokenizer(EMBEDDED), date=datetime.date(2026, 1, 31)).date
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    if config is not None:
        raise TypeError(f"config must be None, not a {type(config).__name__}: pass chat_template_kwargs=")
    adopted = adopt_tokenizer(tokenizer)
    given = None if chat_template is None else read_template(chat_template, named=adopted.chat_templates)
    made = ChatRenderer(
        tokenizer=adopted,
        chat_template=given,
        chat_template_kwargs=chat_template_kwargs or {},
        date=_moment(date),
        limits=limits,
        verify=verify,
        content_tokens=content_tokens,
        conventions=Conventions() if conventions is None else conventions,
    )
    return MultimodalChatRenderer(**_state(made)) if _takes_images(made) else made


def _takes_images(renderer: ChatRenderer) -> bool:
    """Says whether both the model and its template take images; of a model that does not say, the template decides."""
    template, tokens = renderer.template(), renderer.tokenizer.special_tokens_map
    if renderer.tokenizer.takes_images is False or "image" not in template.source:
        return False
    given = given_to(template, tokens, plain_switches(renderer.chat_template_kwargs))
    return takes_form(template, given, "user", "image part")


def _moment(date: datetime.date | str | None) -> datetime.datetime:
    if date is None:
        return datetime.datetime.now()
    if isinstance(date, str):
        return datetime.datetime.fromisoformat(date)
    if not isinstance(date, datetime.date):
        raise TypeError(f"date must be a date, a datetime or its ISO text, not a {type(date).__name__}")
    return date if isinstance(date, datetime.datetime) else datetime.datetime(date.year, date.month, date.day)


def _short(switches: Mapping[str, Any], given: Given, source: str) -> Given:
    """Returns the switches that may change what is written around a turn: flags, numbers and words, not whole texts.

    What is written around turns is learned anew for each of their values, so those that the template does
    not know are left out.
    """
    known = dict(given)
    return tuple(
        (name, value)
        for name, value in all_given({}, switches)
        if name not in known and name in source and not (isinstance(value, str) and len(value) > _WORD)
    )


def _frozen(value: Any) -> Any:
    """Returns JSON data that cannot be changed."""
    if isinstance(value, dict):
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@contextlib.contextmanager
def _naming_fields(trace: Trace) -> Iterator[None]:
    """Lets an error for a text that cannot be encoded say which field it came from."""
    try:
        yield
    except UnencodableTextError:
        raise _surrogate_in(trace) from None


def _surrogate_in(trace: Trace) -> UnencodableTextError:
    """Returns the error for a text's first lone surrogate, with the field that it came from."""
    at = next(at for at, character in enumerate(trace.text) if "\ud800" <= character <= "\udfff")
    (span,) = trace.spans_in(at, at + 1)
    field = ".".join(map(str, span.path))
    place = f"message {span.message}: {field or 'what is written around it'}" if span.message >= 0 else field
    return UnencodableTextError.at(f"{place or 'the chat template'}: a character", trace.text[at])
