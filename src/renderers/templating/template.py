"""A chat template, run with provenance."""

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
_PLAIN = 0
"""The version of `marshal`'s format in which equal data is written the same."""
_SMALL = 2**16
"""How many bytes tools have at most that are kept."""
_TRACED_NAME = re.compile(r"(?:renderers\.templating\.\w+\.)?Traced(Str|Markup|Dict|List|Int|Float)\b")
_OPENING = {"for", "if", "macro", "call", "filter", "generation", "block", "with", "autoescape"}
_CLOSING = {f"end{name}" for name in _OPENING}


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template. Compiled once for each text; any number of threads may run it at once.

    `verify` compares every text with that of a plain run, without tracing; None asks the environment
    variable `RENDERERS_VERIFY`. `limits` is what one run may use up.

    Raises:
        TemplateSourceError: The text is not a template.
        TemplateLimitError: It is too long, or too deeply nested.

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
        if self.verify is None:
            object.__setattr__(self, "verify", os.environ.get("RENDERERS_VERIFY", "") not in ("", "0"))
        if not isinstance(self.source, str):
            raise TemplateSourceError(f"a chat template is a text, not a {type(self.source).__name__}")
        # What is wrong with the text is said now.
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
        """Renders messages, and says whose every character is.

        `messages`, `tools` and `switches` are JSON data, as `renderers.core.messages` makes them of what
        callers send. `now` is the time that `strftime_now` tells. A switch whose name ends in `_token`
        is a control token of the tokenizer: text of the template's own, not of a field.

        Raises:
            MessageError: Something is not JSON data; says which message.
            TemplateRefusalError: The template refuses the messages; its own words are in the text.
            TemplateRunError: It fails on them.
            TemplateLimitError: It uses more than it may.
        """
        time = now or datetime.datetime.now()
        fixed = {
            "documents": None,
            "add_generation_prompt": bool(add_generation_prompt),
            "strftime_now": functools.partial(_tell_time, time, self.limits),
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
                    raise TypeError(f"a filter block gives a {type(piece).__name__}, not a text")
                context.budget.charge(len(piece))
                pieces.append((piece, context.scopes.current))
        except Exception as error:
            raise _mapped(error, context.scopes) from (error.__cause__ if isinstance(error, TemplateError) else error)
        text = "".join([plain(piece) for piece, _ in pieces])
        bos = variables.get("bos_token")
        roles = [message.get("role") for message in messages]
        leading = bos if isinstance(bos, str) and text.startswith(bos) else ""
        return Trace(text, resolve_spans(pieces, roles=roles, bos=leading))

    def _verified(
        self, variables: dict[str, Any], messages: Sequence[Mapping[str, Any]], untraced: dict[str, Any]
    ) -> Trace:
        """Runs the template twice, the second time without tracing, and refuses to let them differ."""
        outcome: Trace | TemplateError
        try:
            outcome = self._traced(variables, messages)
        except TemplateLimitError:
            # Nothing would stop a plain run.
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
        raise TraceMismatchError(f"a traced run gives {outcome!r}, a plain run {expected!r}: please report this")


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
    """Returns how many blocks and brackets of a template are open at the same time, at most."""
    deepest = depth = 0
    before = ""
    for _, kind, value in environment.lex(source):
        if kind == "whitespace":
            continue
        opens = (kind == "operator" and value in "([{") or (before == "block_begin" and value in _OPENING)
        closes = (kind == "operator" and value in ")]}") or (before == "block_begin" and value in _CLOSING)
        depth += opens - closes
        deepest = max(deepest, depth)
        before = kind
    return deepest


def _only_template_errors(compile_: Callable[[], jinja2.Template]) -> jinja2.Template:
    """Turns whatever a text that is no template sets off in Jinja and in Python's own compiler into one error."""
    try:
        return compile_()
    except TemplateError:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateSourceError(f"the chat template is not one, at line {error.lineno}: {error.message}") from error
    except (RecursionError, MemoryError) as error:
        raise TemplateLimitError("nesting") from error
    except Exception as error:
        raise TemplateSourceError(f"the chat template cannot be compiled: {error}") from error


def _mapped(error: Exception, scopes: Scopes) -> TemplateError:
    """Returns what went wrong in a run as an error of our own, with the message that the template was at."""
    message = scopes.current.owner_message()
    message = None if message == -1 else message
    if isinstance(error, TemplateLimitError):
        return TemplateLimitError(error.limit, error.most, message)
    if isinstance(error, RaisedByTemplateError):
        return TemplateRefusalError(error.message or "", message)
    if isinstance(error, RecursionError | MemoryError):
        return TemplateLimitError("recursion" if isinstance(error, RecursionError) else "memory", message=message)
    where = "" if message is None else f" at message {message}"
    fault = f"{type(error).__name__}: {_in_plain_words(error)}"
    return TemplateRunError(f"the chat template fails{where}: {fault}", message)


def _in_plain_words(error: Exception) -> str:
    """Returns what an error says, with the names of the plain types for those of the traced ones."""
    return _TRACED_NAME.sub(lambda found: found[1] if found[1] == "Markup" else found[1].lower(), str(error))


def _tell_time(time: datetime.datetime, limits: TemplateLimits, format: str) -> str:  # noqa: A002
    """Gives a template the time as it asks for it; a width that it asks for is no reason to write a book."""
    if size_of_widths(format) > limits.characters:
        raise TemplateLimitError("characters", limits.characters)
    return time.strftime(plain(format))


def _traced_messages(messages: Any) -> list[Any]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise MessageError(f"messages must be a list of messages, not a {type(messages).__name__}")
    traced = [_traced_data(message, Owner(at, ())) for at, message in enumerate(messages)]
    for at, message in enumerate(traced):
        if not isinstance(message, dict):
            raise MessageError("is not a dict with a role and a content", message=at)
    return traced


def _traced_tools(tools: Any) -> Any:
    """Wraps tools; the same ones come again in one conversation after the other, and are wrapped once."""
    try:
        written = marshal.dumps(tools, _PLAIN)
    except ValueError:
        # They are no plain data, and it will be said which part of them is not.
        written = b""
    if not 0 < len(written) < _SMALL:
        return _traced_data(tools, _TOOLS)
    return _traced_once(written)


@functools.lru_cache(maxsize=32)
def _traced_once(written: bytes) -> Any:
    return _traced_data(marshal.loads(written), _TOOLS)


def _traced_data(value: Any, owner: Owner) -> Any:
    try:
        return trace_value(value, owner)
    except RecursionError:
        raise MessageError(
            "contains itself, or is too deeply nested",
            message=owner.message if owner.message >= 0 else None,
            path=owner.path,
        ) from None


def _switch(name: str, value: Any) -> Any:
    token = name.endswith("_token") and isinstance(value, str)
    return plain(value) if token else _traced_data(value, Owner(-1, (name,)))
