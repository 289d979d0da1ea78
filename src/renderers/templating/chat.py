"""Choose a chat template, check its arguments, and run it over a conversation."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from renderers.core.messages import REASONING_NAMES, normalise_data, normalise_messages, normalise_tools
from renderers.core.text import describe_type
from renderers.errors import MessageError, TemplateMissingError
from renderers.templating import ChatTemplate
from renderers.templating.template import TemplateRun

_RENDER_OPTIONS = ("add_generation_prompt", "continue_final_message", "messages", "now", "process_multimodal", "tools")
_OPTIONS = (
    *("bpe_engine", "chat_template", "chat_template_kwargs", "config", "content_tokens", "conventions", "limits"),
    *("none_content", "on_loss", "thinking_retention", "verify"),
)
_RESERVED = dict.fromkeys(_RENDER_OPTIONS, "render") | dict.fromkeys(_OPTIONS, "create_renderer")
"""Names that cannot be template arguments, with the function that has an option of this name."""

_TAG = "THE_MESSAGE_GOES_ON_HERE"
"""Marks the end of the field to continue. A space follows it, which a template that trims the field removes."""


def read_template(template: str | os.PathLike[str], *, named: Mapping[str, str]) -> str:
    """Return the source of a template, from its source, its path, or its name among the tokenizer's templates.

    Raises:
        TemplateMissingError: There is no such file or name.

    >>> read_template("{{ messages[0].content }}", named={})
    '{{ messages[0].content }}'
    """
    if isinstance(template, str) and template in named:
        return named[template]
    if isinstance(template, str) and ("{" in template or "\n" in template):
        return template
    if template == "":
        raise TemplateMissingError("chat_template is empty. Pass None to use the template of the tokenizer.")
    if not isinstance(template, str | os.PathLike):
        raise TypeError(f"chat_template must be a string or a path, not {describe_type(template)}")
    try:
        return Path(template).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        names = f", nor a template of the tokenizer ({', '.join(named)})" if named else ""
        raise TemplateMissingError(
            f"{str(template)!r} is neither the source of a chat template nor a readable file{names}: {error}"
        ) from error


def choose_template(named: Mapping[str, str], *, tools: bool, name: str) -> str:
    """Return the template that transformers would choose: `tool_use` with tools, else `default`.

    Raises:
        TemplateMissingError: The tokenizer has no such template.
    """
    for choice in ("tool_use", "default") if tools else ("default",):
        if choice in named:
            return named[choice]
    has = f"has only named chat templates ({', '.join(named)})" if named else "has no chat template"
    raise TemplateMissingError(
        f"the tokenizer {name or '(unnamed)'} {has}: pass chat_template= as source text, as a path"
        + (" or as one of these names" if named else "")
    )


def normalise_template_kwargs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return template arguments as plain JSON data.

    Raises:
        MessageError: A value is not JSON data, or a name is reserved.

    >>> normalise_template_kwargs({"enable_thinking": False})
    {'enable_thinking': False}
    """
    if not isinstance(arguments, Mapping):
        raise MessageError(f"template arguments must be a dict, not {describe_type(arguments)}")
    for name in arguments:
        if not isinstance(name, str):
            raise MessageError(f"{name!r} is not a template argument: names are strings")
        if name in _RESERVED:
            raise MessageError(f"is not a template argument: it is an option of {_RESERVED[name]}", path=(name,))
    normalised: dict[str, Any] = normalise_data(arguments)
    return normalised


def apply_template(
    conversation: Iterable[Any],
    *,
    named: Mapping[str, str],
    name: str,
    tools: Iterable[Any] | None,
    chat_template: str | os.PathLike[str] | None,
    add_generation_prompt: bool,
    continue_final_message: bool | str,
    arguments: Mapping[str, Any],
) -> str:
    """Return the text that transformers' `apply_chat_template` returns, without adapting message formats."""
    if chat_template is None:
        source = choose_template(named, tools=tools is not None, name=name)
    else:
        source = read_template(chat_template, named=named)
    trace = run_chat(
        ChatTemplate(source),
        normalise_messages(conversation),
        tools=normalise_tools(tools),
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        now=datetime.datetime.now(),
        arguments=normalise_template_kwargs(arguments),
    )
    return trace.text


def run_chat(
    template: ChatTemplate,
    messages: list[dict[str, Any]],
    *,
    tools: list[dict[str, Any]] | None,
    add_generation_prompt: bool,
    continue_final_message: bool | str,
    now: datetime.datetime,
    arguments: Mapping[str, Any],
) -> TemplateRun:
    """Run a template over normalised messages.

    With `continue_final_message`, end the text after the last message's content, or after the field that it names.

    Raises:
        MessageError: The last message cannot be continued.
        TemplateError: The template rejects the messages or fails on them.
    """
    if not continue_final_message:
        return template.run(messages, tools=tools, add_generation_prompt=add_generation_prompt, now=now, **arguments)
    if type(continue_final_message) not in (bool, str):
        fault = f"must be a bool or the name of a field, not {describe_type(continue_final_message)}"
        raise MessageError(fault, path=("continue_final_message",))
    if add_generation_prompt:
        raise MessageError("add_generation_prompt and continue_final_message exclude each other")
    field, last = "content" if continue_final_message is True else continue_final_message, len(messages) - 1
    value, tagged = _tag_last_message(messages, field)
    trace = template.run([*messages[:-1], tagged], tools=tools, now=now, **arguments)
    end = trace.text.rfind(_TAG)
    if end < 0 or value.strip() not in trace.text:
        raise MessageError(f"cannot be continued: the chat template does not write all of its {field}", message=last)
    before = trace.text[:end]
    # A message may contain the text of the tag.
    if _TAG in before and not template.run(messages, tools=tools, now=now, **arguments).text.startswith(before):
        raise MessageError(f"cannot be continued: the chat template writes its {field} twice", message=last)
    if not trace.text.startswith(f"{_TAG} ", end):
        # The template trims the field.
        end = len(before.rstrip())
    return trace.truncate(end)


def _tag_last_message(messages: list[dict[str, Any]], field: str) -> tuple[str, dict[str, Any]]:
    """Return the last text of a field of the last message, and the message with a tag after that text."""
    message = messages[-1]
    value = message.get(field)
    if isinstance(value, str):
        # Reasoning has several names, and the template reads one of them.
        same = {name for name in REASONING_NAMES if message.get(name) == value} if field in REASONING_NAMES else {field}
        return value, {**message, **dict.fromkeys(same, f"{value}{_TAG} ")}
    parts = list(value) if isinstance(value, list) else []
    for index, part in reversed(list(enumerate(parts))):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            parts[index] = {**part, "text": f"{part['text']}{_TAG} "}
            return part["text"], {**message, field: parts}
    raise MessageError("cannot be continued: it has no text", message=len(messages) - 1, path=(field,))
