"""`ChatTemplate`: compile a chat template once, run it with provenance."""

from __future__ import annotations

import datetime
import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import jinja2

from renderers.core.lazy import lazy
from renderers.core.spans import Path, Span, Trace
from renderers.core.text import describe_type
from renderers.core.tool_list import ToolList
from renderers.errors import (
    MessageError,
    TemplateError,
    TemplateLimitError,
    TemplateRefusalError,
    TemplateRunError,
    TemplateSourceError,
    TraceMismatchError,
)
from renderers.templating.compiler import CompiledTemplate, compile_template
from renderers.templating.global_functions import GLOBAL_FUNCTIONS
from renderers.templating.limits import LIMITS, Budget, TemplateLimits
from renderers.templating.sandbox import ChatEnvironment, RaisedByTemplateError, protect
from renderers.templating.scopes import pieces_before, root_scope, settle_spans, written_fields
from renderers.templating.sizes import size_of_text, size_of_widths
from renderers.templating.syntax import parse_template
from renderers.templating.texts import field_text, plain
from renderers.templating.values import DataDict, FieldText, FunctionValue, MessageList, MixedText
from renderers.templating.wrapping import wrap, wrap_message, wrap_plain_messages

_PLAIN_TYPES = {
    **dict.fromkeys(("FieldText", "MixedText"), "str"),
    **dict.fromkeys(("DataDict", "LazyDict"), "dict"),
    **dict.fromkeys(("DataList", "LazyList", "MessageList"), "list"),
    "SafeText": "Markup",
    "FieldInt": "int",
    "FieldFloat": "float",
    "NamespaceValue": "Namespace",
}
_OWN_TYPE = re.compile(rf"\b(?:{'|'.join(_PLAIN_TYPES)})\b")
_OWNED_TEXTS = (FieldText, MixedText)
_TOO_DEEP = "contains itself or is nested too deeply"
_FUNCTIONS = {name: FunctionValue(name, call) for name, call in GLOBAL_FUNCTIONS.items()}


class TemplateRun(Trace):
    """The trace of a template run. Its spans are computed on first access."""

    def __init__(
        self,
        text: str,
        compute_spans: Callable[[], tuple[Span, ...]],
        pieces: list[str],
    ) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "_compute_spans", compute_spans)
        object.__setattr__(self, "_pieces", pieces)

    @lazy
    def spans(self) -> tuple[Span, ...]:
        """The spans of the text."""
        spans: tuple[Span, ...] = vars(self)["_compute_spans"]()
        return spans

    @property
    def pieces(self) -> list[str]:
        """The texts of the output, with their owners."""
        pieces: list[str] = vars(self)["_pieces"]
        return pieces

    def written_fields(self) -> set[tuple[int, Path]]:
        """Return the fields with text in the output. No spans are computed for it.

        A field is a message and a path, as in spans. The message is -1 for tools and other arguments. The path is
        empty if the text belongs to a message as a whole. A field that rendered to nothing is missing.

        >>> template = ChatTemplate("{% for m in messages %}<{{ m.content }}>{% endfor %}")
        >>> template.run([{"role": "user", "content": "Hi"}]).written_fields()
        {(0, ('content',))}
        """
        return written_fields(self.pieces)

    def truncate(self, end: int) -> TemplateRun:
        pieces = pieces_before(self.pieces, end)
        return TemplateRun(self.text[:end], lambda: super(TemplateRun, self).truncate(end).spans, pieces)

    def __reduce__(self) -> tuple[Any, ...]:
        return Trace, (self.text, self.spans)


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template. Each source is compiled once, and any number of threads can run it at the same time.

    `limits` bounds the work of a run. `verify=True` also runs the template with Jinja itself, and raises if the texts
    differ. None takes the setting from the environment variable `RENDERERS_VERIFY`.

    Raises:
        TemplateSourceError: The source is not a valid template.
        TemplateLimitError: The source is too long or too deeply nested.

    >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}")
    >>> trace = template.run([{"role": "user", "content": " Hi "}])
    >>> trace.text, [(span.message, span.path, trace.text[span.start : span.end]) for span in trace.spans]
    ('<user>Hi', [(0, (), '<'), (0, ('role',), 'user'), (0, (), '>'), (0, ('content',), 'Hi')])
    """

    source: str
    _: KW_ONLY
    limits: TemplateLimits = LIMITS
    verify: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "verify", resolve_verify(self.verify))
        if not isinstance(self.source, str):
            raise TemplateSourceError(f"a chat template must be a string, not {describe_type(self.source)}")
        # Raises errors of the source now, not on the first run.
        _ = self._compiled

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments that the template reads, apart from those that it sets itself.

        >>> ChatTemplate("{% set a = b %}{{ a + bos_token }}").arguments == {"b", "bos_token"}
        True
        """
        return self._compiled.arguments

    @lazy
    def _compiled(self) -> CompiledTemplate:
        return _compile(self.source, self.limits)

    @lazy
    def _functions(self) -> dict[str, FunctionValue]:
        """The global functions that the template can call."""
        return {name: function for name, function in _FUNCTIONS.items() if name in self._compiled.arguments}

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(ChatTemplate, self.source, limits=self.limits, verify=self.verify), ()

    def run(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime.datetime | None = None,
        **switches: Any,
    ) -> TemplateRun:
        """Render messages to text, with the message and the field of each character.

        `messages`, `tools` and `switches` are JSON data, as returned by `renderers.core.messages`. `now` is the time
        that `strftime_now` formats. A string switch with a name that ends in `_token` is a special token of the
        tokenizer: it counts as template text, not as a field.

        Raises:
            MessageError: An argument is not JSON data.
            TemplateRefusalError: The template calls `raise_exception`.
            TemplateRunError: The template fails with any other error.
            TemplateLimitError: The run exceeds one of the limits.
        """
        read = self._compiled.arguments
        fixed = {"documents": None, "add_generation_prompt": bool(add_generation_prompt)}
        variables: dict[str, Any] = {
            **self._functions,
            **fixed,
            "messages": _wrapped_messages(messages),
            "tools": None if tools is None else _wrapped_tools(tools),
        }
        if self.verify or "strftime_now" in read:
            now = now or datetime.datetime.now()
            variables["strftime_now"] = FunctionValue("strftime_now", functools.partial(_strftime_now, now))
        for name, value in switches.items():
            # A text needs no check.
            if name in read or name == "bos_token" or value.__class__ is not str:
                variables[name] = _switch(name, value)
        if not self.verify:
            return self._run_compiled(variables)
        assert now is not None
        plain_input = protect({**fixed, "messages": list(messages), "tools": tools and list(tools), **switches})
        plain_variables = {**plain_input, "strftime_now": now.strftime}
        return self._verified(variables, plain_variables)

    def _run_compiled(self, variables: dict[str, Any]) -> TemplateRun:
        compiled = self._compiled
        messages: list[DataDict] = variables["messages"]
        budget = Budget(self.limits, messages=len(messages), size=functools.partial(size_of_text, messages))
        pieces: list[str] = []
        root = root_scope()
        try:
            compiled.run(variables, pieces, root, budget)
            budget.charge(sum(map(len, pieces)))
        except Exception as error:
            raise _template_error(error, compiled) from (error.__cause__ if isinstance(error, TemplateError) else error)
        text = "".join(pieces)
        bos = variables.get("bos_token")
        leading = bos if isinstance(bos, str) and text.startswith(bos) else ""
        # The messages themselves would keep a copy of all fields alive.
        roles = [message.get("role") for message in messages]
        compute_spans = functools.partial(settle_spans, text, pieces, root, roles=roles, bos=leading)
        return TemplateRun(text, compute_spans, pieces)

    def _verified(self, variables: dict[str, Any], plain_variables: dict[str, Any]) -> TemplateRun:
        """Run the compiled template and Jinja itself. Raise TraceMismatchError if the outcomes differ."""
        outcome: TemplateRun | TemplateError
        try:
            outcome = self._run_compiled(variables)
        except TemplateLimitError:
            # The run of Jinja has no limits.
            raise
        except TemplateError as error:
            outcome = error
        expected: str | Exception
        try:
            expected = _compile_plain(self.source).render(plain_variables)
        except Exception as error:
            expected = error
        if isinstance(outcome, TemplateRun) and outcome.text == expected:
            return outcome
        if isinstance(outcome, TemplateError) and isinstance(expected, Exception):
            raise outcome
        raise TraceMismatchError(
            f"our run of the template gives {outcome!r}, but Jinja gives {expected!r}. "
            "This is a bug in renderers: please report this."
        )


def resolve_verify(verify: bool | None) -> bool:
    """Return `verify`, or the value of the environment variable `RENDERERS_VERIFY` if it is None."""
    if not isinstance(verify, bool | None):
        raise TypeError(f"verify must be True, False or None, not {describe_type(verify)}")
    return os.environ.get("RENDERERS_VERIFY", "") not in ("", "0") if verify is None else verify


@functools.lru_cache(maxsize=64)
def _compile(source: str, limits: TemplateLimits) -> CompiledTemplate:
    return compile_template(parse_template(source, limits))


@functools.lru_cache(maxsize=64)
def _compile_plain(source: str) -> jinja2.Template:
    return _plain_environment().from_string(source)


@functools.cache
def _plain_environment() -> ChatEnvironment:
    return ChatEnvironment()


def _template_error(error: Exception, compiled: CompiledTemplate) -> TemplateError:
    """Return the TemplateError for an error of a run, with the message that was being rendered."""
    message = compiled.message_at(error.__traceback__)
    if isinstance(error, TemplateLimitError):
        return TemplateLimitError(error.limit, error.most, message)
    if isinstance(error, RaisedByTemplateError):
        return TemplateRefusalError(error.message or "", message)
    if isinstance(error, RecursionError | MemoryError):
        return TemplateLimitError("recursion" if isinstance(error, RecursionError) else "memory", message=message)
    where = "" if message is None else f" at message {message}"
    reason = _OWN_TYPE.sub(lambda match: _PLAIN_TYPES[match[0]], f"{type(error).__name__}: {error}")
    return TemplateRunError(f"the chat template fails{where}: {reason}", message)


def _strftime_now(time: datetime.datetime, budget: Budget, format: str) -> str:  # noqa: A002
    """Format the time for a template. Widths in the format count as characters."""
    budget.check_size(size_of_widths(format))
    return time.strftime(plain(format))


def _wrapped_messages(messages: Any) -> list[DataDict]:
    is_list = messages.__class__ is list
    if not is_list and (isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable)):
        raise MessageError(f"messages must be a list of messages, not {describe_type(messages)}")
    wrapped, given = MessageList(), messages if is_list else list(messages)
    try:
        wrap_plain_messages(given, wrapped)
        for message in given[len(wrapped) :]:
            if not isinstance(message, dict):
                raise MessageError("must be a dict with role and content", message=len(wrapped))
            wrapped.append(wrap_message(message, len(wrapped)))
    except RecursionError:
        raise MessageError(_TOO_DEEP, message=len(wrapped)) from None
    return wrapped


def _wrapped_tools(tools: Any) -> Any:
    """Wrap tools: once for a list that many conversations share."""
    if type(tools) is ToolList:
        return tools.derive("wrapped for templates", lambda: _switch("tools", list(tools)))
    return _switch("tools", tools)


def _switch(name: str, value: Any) -> Any:
    if isinstance(value, _OWNED_TEXTS):
        # A program that makes a text from other arguments has recorded its owners.
        return value
    if isinstance(value, str):
        return plain(value) if name.endswith("_token") else field_text(plain(value), (-1, (name,)))
    try:
        return wrap(value, (-1, (name,)))
    except RecursionError:
        raise MessageError(_TOO_DEEP, path=(name,)) from None
