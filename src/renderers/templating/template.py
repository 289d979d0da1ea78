"""`ChatTemplate`: compile a chat template once, run it with provenance."""

from __future__ import annotations

import datetime
import functools
import marshal
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import jinja2

from renderers.core.spans import Trace
from renderers.core.text import describe_type
from renderers.errors import (
    MessageError,
    TemplateError,
    TemplateLimitError,
    TemplateRefusalError,
    TemplateRunError,
    TemplateSourceError,
    TraceMismatchError,
)
from renderers.templating.environment import TracingContext, TracingEnvironment
from renderers.templating.limits import LIMITS, Budget, TemplateLimits
from renderers.templating.runs import Owner
from renderers.templating.sandbox import ChatEnvironment, RaisedByTemplateError
from renderers.templating.scopes import Scopes, resolve_spans
from renderers.templating.sizes import size_of_text, size_of_widths
from renderers.templating.traced_str import plain
from renderers.templating.traced_values import trace_value

_TOOLS = Owner(-1, ("tools",))
_MARSHAL_VERSION = 0
"""The version of the `marshal` format in which equal data has equal bytes: it has no references."""
_CACHED_TOOLS_SIZE = 2**16
"""Tools of more bytes are not cached."""
_TRACED_NAME = re.compile(r"(?:renderers\.templating\.\w+\.)?Traced(Str|Markup|Dict|List|Int|Float)\b")
_OPENING = {"for", "if", "macro", "call", "filter", "generation", "block", "with", "autoescape"}
_CLOSING = {f"end{name}" for name in _OPENING}


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template. Each source is compiled once, and any number of threads can run it at the same time.

    `limits` bounds the work of a run. `verify=True` also runs the template without tracing, and raises if the texts
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
        _compile(self.source, self.limits)

    def run(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        now: datetime.datetime | None = None,
        **switches: Any,
    ) -> Trace:
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
        time = now or datetime.datetime.now()
        fixed = {
            "documents": None,
            "add_generation_prompt": bool(add_generation_prompt),
            "strftime_now": functools.partial(_strftime_now, time, self.limits),
        }
        variables = {
            **fixed,
            "messages": _traced_messages(messages),
            "tools": _traced_tools(tools),
            **{name: _switch(name, value) for name, value in switches.items()},
        }
        if not self.verify:
            return self._traced(variables, messages)
        return self._verified(variables, messages, {**fixed, "messages": messages, "tools": tools, **switches})

    def _traced(self, variables: dict[str, Any], messages: Sequence[Mapping[str, Any]]) -> Trace:
        compiled = _compile(self.source, self.limits)
        context = compiled.new_context(variables)
        assert isinstance(context, TracingContext)
        size = functools.partial(size_of_text, variables["messages"])
        context.scopes, context.budget = Scopes(), Budget(self.limits, messages=len(messages), size=size)
        pieces = []
        try:
            for piece in compiled.root_render_func(context):
                context.budget.tick()
                if not isinstance(piece, str):
                    raise TypeError(f"a filter block must return a string, not {describe_type(piece)}")
                context.budget.charge(len(piece))
                pieces.append((piece, context.scopes.current))
        except Exception as error:
            raise _template_error(error, context.scopes) from (
                error.__cause__ if isinstance(error, TemplateError) else error
            )
        text = "".join([plain(piece) for piece, _ in pieces])
        bos = variables.get("bos_token")
        roles = [message.get("role") for message in messages]
        leading = bos if isinstance(bos, str) and text.startswith(bos) else ""
        return Trace(text, resolve_spans(pieces, roles=roles, bos=leading))

    def _verified(
        self, variables: dict[str, Any], messages: Sequence[Mapping[str, Any]], untraced: dict[str, Any]
    ) -> Trace:
        """Run the template with and without tracing. Raise TraceMismatchError if the outcomes differ."""
        outcome: Trace | TemplateError
        try:
            outcome = self._traced(variables, messages)
        except TemplateLimitError:
            # The plain run has no limits.
            raise
        except TemplateError as error:
            outcome = error
        expected: str | Exception
        try:
            expected = _compile_plain(self.source).render(untraced)
        except Exception as error:
            expected = error
        if isinstance(outcome, Trace) and outcome.text == expected:
            return outcome
        if isinstance(outcome, TemplateError) and isinstance(expected, Exception):
            raise outcome
        raise TraceMismatchError(
            f"the traced run gives {outcome!r}, but the plain run gives {expected!r}. "
            "This is a bug in renderers: please report this."
        )


def resolve_verify(verify: bool | None) -> bool:
    """Return `verify`, or the value of the environment variable `RENDERERS_VERIFY` if it is None."""
    if not isinstance(verify, bool | None):
        raise TypeError(f"verify must be True, False or None, not {describe_type(verify)}")
    return os.environ.get("RENDERERS_VERIFY", "") not in ("", "0") if verify is None else verify


@functools.lru_cache(maxsize=64)
def _compile(source: str, limits: TemplateLimits) -> jinja2.Template:
    environment = _tracing_environment()
    if len(source) > limits.source:
        raise TemplateLimitError("source", limits.source)
    return _only_template_errors(lambda: _checked(environment, source, limits))


def _checked(environment: jinja2.Environment, source: str, limits: TemplateLimits) -> jinja2.Template:
    if _nesting(environment, source) > limits.nesting:
        raise TemplateLimitError("nesting", limits.nesting)
    return environment.from_string(source)


@functools.lru_cache(maxsize=64)
def _compile_plain(source: str) -> jinja2.Template:
    return _plain_environment().from_string(source)


@functools.cache
def _tracing_environment() -> TracingEnvironment:
    return TracingEnvironment()


@functools.cache
def _plain_environment() -> ChatEnvironment:
    return ChatEnvironment()


def _nesting(environment: jinja2.Environment, source: str) -> int:
    """Return the maximum depth of nested blocks and brackets."""
    deepest = depth = 0
    previous = ""
    for _, kind, value in environment.lex(source):
        if kind == "whitespace":
            continue
        opens = (kind == "operator" and value in "([{") or (previous == "block_begin" and value in _OPENING)
        closes = (kind == "operator" and value in ")]}") or (previous == "block_begin" and value in _CLOSING)
        depth += opens - closes
        deepest = max(deepest, depth)
        previous = kind
    return deepest


def _only_template_errors(compile_: Callable[[], jinja2.Template]) -> jinja2.Template:
    """Compile a template. Errors of Jinja and of the Python compiler become a TemplateError."""
    try:
        return compile_()
    except TemplateError:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateSourceError(
            f"the chat template has a syntax error at line {error.lineno}: {error.message}"
        ) from error
    except (RecursionError, MemoryError) as error:
        raise TemplateLimitError("nesting") from error
    except Exception as error:
        raise TemplateSourceError(f"the chat template cannot be compiled: {error}") from error


def _template_error(error: Exception, scopes: Scopes) -> TemplateError:
    """Return the TemplateError for an error of a run, with the message that was being rendered."""
    message = scopes.current.owner_message()
    message = None if message == -1 else message
    if isinstance(error, TemplateLimitError):
        return TemplateLimitError(error.limit, error.most, message)
    if isinstance(error, RaisedByTemplateError):
        return TemplateRefusalError(error.message or "", message)
    if isinstance(error, RecursionError | MemoryError):
        return TemplateLimitError("recursion" if isinstance(error, RecursionError) else "memory", message=message)
    where = "" if message is None else f" at message {message}"
    reason = f"{type(error).__name__}: {_with_plain_types(error)}"
    return TemplateRunError(f"the chat template fails{where}: {reason}", message)


def _with_plain_types(error: Exception) -> str:
    """Return the text of an error with the names of traced types replaced by those of plain types."""
    return _TRACED_NAME.sub(lambda match: match[1] if match[1] == "Markup" else match[1].lower(), str(error))


def _strftime_now(time: datetime.datetime, limits: TemplateLimits, format: str) -> str:  # noqa: A002
    """Format the time for a template. Widths in the format count as characters."""
    if size_of_widths(format) > limits.characters:
        raise TemplateLimitError("characters", limits.characters)
    return time.strftime(plain(format))


def _traced_messages(messages: Any) -> list[Any]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise MessageError(f"messages must be a list of messages, not {describe_type(messages)}")
    traced = [_traced_data(message, Owner(index, ())) for index, message in enumerate(messages)]
    for index, message in enumerate(traced):
        if not isinstance(message, dict):
            raise MessageError("must be a dict with role and content", message=index)
    return traced


def _traced_tools(tools: Any) -> Any:
    """Wrap tools. Cached, as many conversations share the same tools."""
    try:
        serialized = marshal.dumps(tools, _MARSHAL_VERSION)
    except ValueError:
        # Not plain data: _traced_data raises an error with the path of the value.
        serialized = b""
    if not 0 < len(serialized) < _CACHED_TOOLS_SIZE:
        return _traced_data(tools, _TOOLS)
    return _cached_tools(serialized)


@functools.lru_cache(maxsize=32)
def _cached_tools(serialized: bytes) -> Any:
    return _traced_data(marshal.loads(serialized), _TOOLS)


def _traced_data(value: Any, owner: Owner) -> Any:
    try:
        return trace_value(value, owner)
    except RecursionError:
        raise MessageError(
            "contains itself or is nested too deeply",
            message=owner.message if owner.message >= 0 else None,
            path=owner.path,
        ) from None


def _switch(name: str, value: Any) -> Any:
    special_token = name.endswith("_token") and isinstance(value, str)
    return plain(value) if special_token else _traced_data(value, Owner(-1, (name,)))
