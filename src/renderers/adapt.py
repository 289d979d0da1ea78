"""The forms of messages and tools that a template takes, found by trying, and putting messages into them.

A form that the template takes is passed on untouched. A form that it fails on, loses, or shows as data instead of text
is put into one that it takes, if there is one. So arguments that are given as JSON text stay that text where a template
takes it, and become an object where it wants one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from renderers.errors import MessageError, TemplateError, TemplateLimitError
from renderers.trace import ChatTemplate, Limits

__all__ = ["adapt_messages", "adapt_tools"]

Data = dict[str, Any]
Tokens = tuple[tuple[str, str], ...]
"""The control tokens that the template is given, as hashable pairs."""

_WORD = "Zyxwort"
_DECOY = "zyxlure"
"""A key whose value is no text: where it shows up, the template writes data instead of text."""


def adapt_messages(template: ChatTemplate, messages: list[Data], *, tokens: Tokens) -> list[Data]:
    """Returns messages in forms that a template takes.

    Raises:
        MessageError: A content part that is not text, where the template takes text alone.

    >>> template = ChatTemplate("{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}")
    >>> parts = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]
    >>> adapt_messages(template, [{"role": "user", "content": parts}], tokens=())
    [{'role': 'user', 'content': 'Hi there'}]
    """
    takes = functools.partial(_takes, template, tokens)
    return [_adapt_message(message, at, takes) for at, message in enumerate(messages)]


def adapt_tools(template: ChatTemplate, tools: list[Data] | None, *, tokens: Tokens) -> list[Data] | None:
    """Returns tools bare or in a `{"type": "function", "function": ...}`, as a template takes them."""
    if tools is None:
        return None
    takes = functools.partial(_takes, template, tokens)
    return [_adapt_tool(tool, takes) for tool in tools]


Takes = Callable[[str, str], bool]
"""Answers whether the template takes a form (second) of what a role (first) says."""


def _adapt_message(message: Data, at: int, takes: Takes) -> Data:
    role = message["role"]
    if role == "developer" and not takes(role, "text") and takes("system", "text"):
        role = "system"
        message = {**message, "role": role}
    message = _adapt_thinking(message, takes)
    message = _adapt_content(message, at, takes)
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        message = {**message, "tool_calls": [_adapt_call(call, takes) for call in calls]}
    return message


def _adapt_thinking(message: Data, takes: Takes) -> Data:
    """Takes thinking parts out of the content where the template does not know them there."""
    content = message.get("content")
    if not isinstance(content, list) or takes(message["role"], "thinking part"):
        return message
    thoughts = [part for part in content if isinstance(part, dict) and part.get("type") == "thinking"]
    if not thoughts or message.get("reasoning_content") is not None:
        return message
    reasoning = "".join(part.get("thinking") or "" for part in thoughts)
    rest = [part for part in content if part not in thoughts]
    return {"thinking": reasoning, **message, "content": rest, "reasoning_content": reasoning}


def _adapt_content(message: Data, at: int, takes: Takes) -> Data:
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        if not takes(role, "text") and takes(role, "parts"):
            return {**message, "content": [{"type": "text", "text": content}]}
    elif isinstance(content, list):
        if not takes(role, "parts") and takes(role, "text"):
            return {**message, "content": _joined(content, at)}
    elif content is None:
        form = ("none" if "content" in message else "missing") + (" beside calls" if message.get("tool_calls") else "")
        if takes(role, form):
            return message
        if form == "missing beside calls" and takes(role, "none beside calls"):
            return {**message, "content": None}
        if takes(role, "text"):
            return {**message, "content": ""}
    return message


def _joined(parts: list[Any], at: int) -> str:
    for number, part in enumerate(parts):
        if not isinstance(part, str) and not (isinstance(part, dict) and isinstance(part.get("text"), str)):
            kind = part.get("type", "part without a text") if isinstance(part, dict) else type(part).__name__
            raise MessageError(
                f"is a {kind}, and this chat template takes text alone", message=at, path=("content", number)
            )
    return "".join(part if isinstance(part, str) else part["text"] for part in parts)


def _adapt_call(call: Any, takes: Takes) -> Any:
    if not isinstance(call, dict):
        return call
    if "function" not in call and not takes("assistant", "bare call") and takes("assistant", "call"):
        around = {key: value for key, value in call.items() if key not in ("name", "arguments")}
        called = {key: call[key] for key in ("name", "arguments") if key in call}
        call = {"type": "function", **around, "function": called}
    if isinstance(call.get("function"), dict):
        return {**call, "function": _adapt_arguments(call["function"], takes)}
    return _adapt_arguments(call, takes)


def _adapt_arguments(called: Data, takes: Takes) -> Data:
    arguments = called.get("arguments")
    if isinstance(arguments, str):
        if not takes("assistant", "arguments as text") and takes("assistant", "arguments"):
            parsed = _parsed(arguments)
            return called if parsed is None else {**called, "arguments": parsed}
    elif (
        isinstance(arguments, dict) and not takes("assistant", "arguments") and takes("assistant", "arguments as text")
    ):
        return {**called, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return called


def _parsed(text: str) -> Data | None:
    """Returns the object that a text is the JSON of; None where it is not, and the template gets it as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _adapt_tool(tool: Data, takes: Takes) -> Data:
    if "function" not in tool:
        if not takes("tools", "bare") and takes("tools", "wrapped"):
            return {"type": "function", "function": tool}
    elif isinstance(tool["function"], dict) and not takes("tools", "wrapped") and takes("tools", "bare"):
        return tool["function"]
    return tool


# ==================
# Trying
# ==================


def _takes(template: ChatTemplate, tokens: Tokens, role: str, form: str) -> bool:
    return _tried(template.source, template.limits, tokens, role, form)


@functools.lru_cache(maxsize=4096)
def _tried(source: str, limits: Limits, tokens: Tokens, role: str, form: str) -> bool:
    """Runs small conversations with the form in different surroundings; one that shows the word is enough."""
    template = ChatTemplate(source, limits=limits, verify=False)
    given: list[list[Data] | None] = [None, [_WRAPPED | {"function": _SPEC | {"name": "f"}}]]
    if role == "tools":
        role, form, given = "user", "question", [[_SPEC] if form == "bare" else [_WRAPPED]]
    said = [{"role": role, **message} for message in _FORMS[form]]

    def trial(messages: list[Data], word: str, tools: list[Data] | None) -> bool:
        return _shows(template, messages, word, tools=tools, **dict(tokens))

    if form in _WITHOUT_TEXT:
        pairs = [
            (messages, filled, tools)
            for message in said
            for messages, filled in zip(_around(message), _around({**message, "content": ""}), strict=True)
            for tools in given
        ]
        # Wherever a call is shown beside an empty text, it must be shown beside nothing; else any text will do.
        shown = any(trial(one, _WORD, tools) for *both, tools in pairs for one in both)
        word = _WORD if shown else ""
        return all(trial(messages, word, tools) or not trial(filled, word, tools) for messages, filled, tools in pairs)
    return any(trial(messages, _WORD, tools) for message in said for messages in _around(message) for tools in given)


def _call(name: str, arguments: Any) -> Data:
    return {"id": "call00000", "type": "function", "function": {"name": name, "arguments": arguments}}


_OBJECT, _TEXT = {"x": "y"}, '{"x": "y"}'
_SPEC = {"name": _WORD, "description": "d", "parameters": {"type": "object", "properties": {}}}
_WRAPPED = {"type": "function", "function": _SPEC}
_WITHOUT_TEXT = {"none", "none beside calls", "missing", "missing beside calls"}
_FORMS: dict[str, list[Data]] = {
    "question": [{"content": "Q"}],
    "text": [{"content": _WORD}],
    "parts": [{"content": [{"type": "text", "text": _WORD, _DECOY: 0}]}],
    "thinking part": [
        {"content": [{"type": "thinking", "thinking": _WORD, _DECOY: 0}, {"type": "text", "text": "T"}]},
    ],
    "none": [{"content": None}],
    "none beside calls": [{"content": None, "tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT)],
    "missing": [{}],
    "missing beside calls": [{"tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT)],
    "call": [
        {"content": content, "tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT) for content in ("", None)
    ],
    "bare call": [
        {"content": "", "tool_calls": [{"id": "call00000", "name": _WORD, "arguments": form}]}
        for form in (_OBJECT, _TEXT)
    ],
    "arguments": [{"content": content, "tool_calls": [_call("f", {"x": _WORD})]} for content in ("", None)],
    "arguments as text": [
        {"content": content, "tool_calls": [_call("f", json.dumps({"x": _WORD}))]} for content in ("", None)
    ],
}
"""What a message of a form looks like, beside its role. The last two say whether arguments are shown as JSON."""


def _around(message: Data) -> list[list[Data]]:
    """Returns conversations with a message in them."""
    ask = {"role": "user", "content": "Q"}
    result = {"role": "tool", "tool_call_id": "call00000", "name": "f", "content": "R"}
    match message["role"]:
        case "system" | "developer":
            return [[message, ask]]
        case "user":
            return [[message]]
        case "tool":
            calls = [
                {"role": "assistant", "content": "", "tool_calls": [_call("f", form)]} for form in (_OBJECT, _TEXT)
            ]
            return [[ask, call, result | message] for call in calls]
        case _ if "tool_calls" in message:
            return [[ask, message], [ask, message, result], [ask, message, result, ask]]
        case _:
            return [[ask, message], [ask, message, ask]]


def _shows(template: ChatTemplate, messages: list[Data], word: str, **arguments: Any) -> bool:
    """Says whether a template gives a text with the word in it, and not as a part of data."""
    try:
        text = template.run(messages, **arguments).text
    except TemplateLimitError:
        # It would not do better with anything else.
        raise
    except TemplateError:
        return False
    return word in text and not any(trap in text for trap in (_DECOY, f'\\"{_WORD}', "{'x': "))
