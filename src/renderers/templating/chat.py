"""A conversation through a template: which template, what it is given, and where a message that goes on is cut."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from renderers.core.messages import REASONING_NAMES, plain_arguments, plain_messages, plain_tools
from renderers.core.spans import Trace
from renderers.errors import MessageError, TemplateMissingError
from renderers.templating import ChatTemplate

__all__ = ["apply_template", "choose_template", "plain_switches", "read_template", "reads", "run_chat"]

_OF_RENDER = ("add_generation_prompt", "continue_final_message", "messages", "now", "process_multimodal", "tools")
_TAKEN = {
    **dict.fromkeys(_OF_RENDER, "each render"),
    **dict.fromkeys(("chat_template", "chat_template_kwargs", "content_tokens", "conventions"), "create_renderer"),
    **dict.fromkeys(("config", "limits", "verify"), "create_renderer"),
}
"""Names that mean something else, and what they are for."""

_TAG = "THE_MESSAGE_GOES_ON_HERE "


def read_template(template: str | os.PathLike[str], *, named: Mapping[str, str]) -> str:
    """Returns the text of a template that a caller gave: its text, a path, or the name of one of the tokenizer's.

    Raises:
        TemplateMissingError: It is none of these.

    >>> read_template("{{ messages[0].content }}", named={})
    '{{ messages[0].content }}'
    """
    if isinstance(template, str) and template in named:
        return named[template]
    if isinstance(template, str) and ("{" in template or "\n" in template):
        return template
    if not isinstance(template, str | os.PathLike):
        raise TypeError(f"chat_template must be a text or a path, not a {type(template).__name__}")
    try:
        return Path(template).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        names = f", nor a template of the tokenizer ({', '.join(named)})" if named else ""
        raise TemplateMissingError(
            f"{str(template)!r} is neither the text of a chat template nor a file that can be read{names}: {error}"
        ) from error


def choose_template(named: Mapping[str, str], *, tools: bool, name: str) -> str:
    """Returns the template that transformers would choose of a tokenizer's: `tool_use` for tools, else `default`.

    Raises:
        TemplateMissingError: There is none.
    """
    for choice in ("tool_use", "default") if tools else ("default",):
        if choice in named:
            return named[choice]
    has = f"has only templates with names ({', '.join(named)})" if named else "has no chat template"
    raise TemplateMissingError(
        f"the tokenizer {name or 'that was given'} {has}: pass chat_template=, as text, as a path"
        + (" or as one of these names" if named else "")
    )


def reads(template: str, name: str) -> bool:
    """Says whether a template's text may read a name: whether it is a word of it.

    >>> reads("{% if enable_thinking %}", "enable_thinking"), reads("{% if enable_thinking %}", "thinking")
    (True, False)
    """
    return re.search(rf"\b{re.escape(name)}\b", template) is not None


def plain_switches(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a template is given beside the messages as plain JSON data.

    Raises:
        MessageError: It is no JSON data, or has a name that means something else.

    >>> plain_switches({"enable_thinking": False})
    {'enable_thinking': False}
    """
    if not isinstance(arguments, Mapping):
        raise MessageError(f"arguments for the template must be a dict, not a {type(arguments).__name__}")
    for name in arguments:
        if not isinstance(name, str):
            raise MessageError(f"{name!r} is not an argument for the template: names are strings")
        if name in _TAKEN:
            raise MessageError(f"is not an argument for the template: it is one of {_TAKEN[name]}", path=(name,))
    return plain_arguments(arguments)


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
    """Returns the text of a conversation as transformers' `apply_chat_template` gives it: now, and in its own form."""
    if chat_template is None:
        source = choose_template(named, tools=tools is not None, name=name)
    else:
        source = read_template(chat_template, named=named)
    trace = run_chat(
        ChatTemplate(source),
        plain_messages(conversation),
        tools=plain_tools(tools),
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        now=datetime.datetime.now(),
        arguments=plain_switches(arguments),
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
) -> Trace:
    """Runs a template over plain messages; with `continue_final_message` up to where the last one's text ends.

    That text is its content, or the field that is named.

    Raises:
        MessageError: The last message cannot be continued.
        TemplateError: The template gives no text.
    """
    if not continue_final_message:
        return template.run(messages, tools=tools, add_generation_prompt=add_generation_prompt, now=now, **arguments)
    if add_generation_prompt:
        raise MessageError("a generation prompt begins a new message: continue_final_message goes without it")
    field = "content" if continue_final_message is True else continue_final_message
    said, tagged = _tagged(messages, field)
    trace = template.run([*messages[:-1], tagged], tools=tools, now=now, **arguments)
    at = trace.text.rfind(_TAG.strip())
    if at < 0 or said.strip() not in trace.text:
        raise MessageError(
            f"cannot be continued: the chat template does not write all of its {field}", message=len(messages) - 1
        )
    before = trace.text[:at]
    if _TAG.strip() in before:
        # That may be text of a message, or the template writes this one more than once.
        plain = template.run(messages, tools=tools, now=now, **arguments)
        if not plain.text.startswith(before):
            raise MessageError(
                f"cannot be continued: the chat template writes its {field} twice", message=len(messages) - 1
            )
    if not trace.text.startswith(_TAG, at):
        # The template trims the text, so what is before the tag would have been trimmed as well.
        at = len(before.rstrip())
    return trace.until(at)


def _tagged(messages: list[dict[str, Any]], field: str) -> tuple[str, dict[str, Any]]:
    """Returns the last text of a field of the last message, and that message with a tag at the end of the text."""
    message = messages[-1]
    value = message.get(field)
    if isinstance(value, str):
        # Reasoning is there under several names, and the template reads one of them.
        same = {name for name in REASONING_NAMES if message.get(name) == value} if field in REASONING_NAMES else {field}
        return value, {**message, **dict.fromkeys(same, value + _TAG)}
    parts = list(value) if isinstance(value, list) else []
    for at in reversed(range(len(parts))):
        if isinstance(parts[at], dict) and isinstance(parts[at].get("text"), str):
            text = parts[at]["text"]
            return text, {**message, field: [*parts[:at], {**parts[at], "text": text + _TAG}, *parts[at + 1 :]]}
    raise MessageError("cannot be continued: it has no text", message=len(messages) - 1, path=(field,))
