"""Messages and tools, put into forms that a template takes.

A form that the template takes is passed on untouched. A form that it fails on, loses, or shows as data instead of text
is put into one that it takes, if there is one. So arguments that are given as JSON text stay that text where a template
takes text and writes JSON anyway, and become an object where it does not.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

from renderers.core.messages import MEDIA_KINDS, media_kind, plain_data
from renderers.core.spans import Path
from renderers.errors import MessageError
from renderers.programs.input_formats import EMPTY, OPTIONAL, OTHER_TEXTS, Data, Given, takes_form
from renderers.templating import ChatTemplate

__all__ = ["adapt_messages", "adapt_tools"]


def adapt_messages(template: ChatTemplate, messages: list[Data], *, given: Given) -> list[Data]:
    """Returns messages in forms that a template takes.

    Raises:
        MessageError: A content part that the template cannot take, or arguments that are no object where it wants one.

    >>> template = ChatTemplate("{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}")
    >>> parts = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]
    >>> adapt_messages(template, [{"role": "user", "content": parts}], given=())
    [{'role': 'user', 'content': 'Hi there'}]
    """
    takes = functools.partial(takes_form, template, given)
    known = functools.partial(_is_known, template.source)
    return [_adapt_message(message, at, takes, known) for at, message in enumerate(messages)]


def adapt_tools(template: ChatTemplate, tools: list[Data] | None, *, given: Given) -> list[Data] | None:
    """Returns tools bare or in a `{"type": "function", "function": ...}`, as a template takes them."""
    if tools is None:
        return None
    takes = functools.partial(takes_form, template, given)
    return [_adapt_tool(tool, takes) for tool in tools]


Takes = Callable[[str, str], bool]
"""Answers whether the template takes a form (second) of what a role (first) says."""


Known = Callable[[str], bool]
"""Answers whether the template knows a type of content parts."""


def _is_known(source: str, kind: str) -> bool:
    return kind in source


def _adapt_message(message: Data, at: int, takes: Takes, known: Known) -> Data:
    if message["role"] == "developer" and not _hears("developer", takes) and _hears("system", takes):
        message = {**message, "role": "system"}
    message = _adapt_reasoning(_adapt_thinking(message, at, takes), takes)
    message = _adapt_empty(message, takes)
    message = _adapt_content(message, at, takes, known)
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        adapted = [_adapt_call(call, at, ("tool_calls", number), takes) for number, call in enumerate(calls)]
        message = {**message, "tool_calls": adapted}
    return message


def _hears(role: str, takes: Takes) -> bool:
    return takes(role, "text") or takes(role, "parts")


def _adapt_empty(message: Data, takes: Takes) -> Data:
    """Takes out the keys that only say that something is not there, where the template is misled by them."""
    reasoning = message.get("reasoning_content")
    if reasoning is not None and message.get("thinking", reasoning) is None:
        message = {**message, "thinking": reasoning}
    misleading = [
        key
        for key in OPTIONAL
        if key in message and message[key] in EMPTY and not takes(message["role"], f"{key} {message[key]}")
    ]
    return {key: value for key, value in message.items() if key not in misleading} if misleading else message


# ==================
# Content
# ==================


def _adapt_thinking(message: Data, at: int, takes: Takes) -> Data:
    """Takes thinking parts out of the content where the template does not know them there."""
    role, content = message["role"], message.get("content")
    if not isinstance(content, list):
        return message
    thoughts = _thoughts(content, at)
    if not thoughts:
        return message
    if takes(role, "thinking part"):
        if takes(role, "thinking in parts"):
            return message
        plain = [{**part, "thinking": thoughts[n]} if n in thoughts else part for n, part in enumerate(content)]
        return {**message, "content": plain}
    reasoning = "".join(thoughts.values())
    if message.get("reasoning_content") not in (None, reasoning):
        return message
    rest = [part for n, part in enumerate(content) if n not in thoughts]
    return {"thinking": reasoning, **message, "content": rest, "reasoning_content": reasoning}


def _adapt_reasoning(message: Data, takes: Takes) -> Data:
    """Puts reasoning into a thinking part where the template knows it only there."""
    role, reasoning, content = message["role"], message.get("reasoning_content"), message.get("content")
    parts = [{"type": "text", "text": content}] if content and isinstance(content, str) else content or []
    if not isinstance(reasoning, str) or not reasoning.strip() or not isinstance(parts, list):
        return message
    if takes(role, "reasoning") or not takes(role, "thinking part") or any(map(_is_thinking, parts)):
        return message
    return {**message, "content": [{"type": "thinking", "thinking": reasoning}, *parts]}


def _is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def _thoughts(parts: list[Any], at: int) -> dict[int, str]:
    """Returns the texts of thinking parts by their numbers; such a text may itself be given in parts."""
    texts = {}
    for number, part in enumerate(parts):
        if _is_thinking(part):
            thinking, path = part.get("thinking"), ("content", number, "thinking")
            if not isinstance(thinking, str | list | None):
                fault = f"is of type {type(thinking).__name__}, and must be a text"
                raise MessageError(fault, message=at, path=path)
            texts[number] = _joined(thinking, at, path) if isinstance(thinking, list) else thinking or ""
    return texts


def _adapt_content(message: Data, at: int, takes: Takes, known: Known) -> Data:
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        if not takes(role, "text") and takes(role, "parts"):
            return {**message, "content": [{"type": "text", "text": content}]}
    elif isinstance(content, list) and (not content or any(map(_is_part, content))):
        if takes(role, "parts"):
            places = enumerate(content)
            parts = [_adapt_part(part, role, at, ("content", number), takes, known) for number, part in places]
            return {**message, "content": parts}
        if takes(role, "text"):
            return {**message, "content": _joined(content, at, ("content",))}
    elif content is None:
        form = ("none" if "content" in message else "missing") + (" beside calls" if message.get("tool_calls") else "")
        if takes(role, form):
            return message
        if form == "missing beside calls" and takes(role, "none beside calls"):
            return {**message, "content": None}
        if takes(role, "text"):
            return {**message, "content": ""}
    elif not isinstance(content, bool):
        form = "number" if isinstance(content, int | float) else "object"
        if not takes(role, form) and takes(role, "text"):
            return {**message, "content": json.dumps(content, ensure_ascii=False)}
    return message


def _is_part(item: Any) -> bool:
    """Says whether an item of a list is a part of a content; a list without any is data, such as a tool gives."""
    return isinstance(item, str) or (
        isinstance(item, dict) and any(item.get(key) is not None for key in ("type", "text", *MEDIA_KINDS))
    )


def _adapt_part(part: Any, role: str, at: int, path: Path, takes: Takes, known: Known) -> Any:
    """Returns a part in a form that a template that takes parts does not lose."""
    if isinstance(part, str):
        return part if takes(role, "string among parts") else {"type": "text", "text": part}
    if not _is_part(part):
        raise _not_taken(part, role, at, path)
    kind = media_kind(part)
    if kind is not None:
        part = _adapt_media(part, kind, role, at, path, takes)
    elif "text" in part and part.get("type") in (None, *OTHER_TEXTS):
        part = part if takes(role, "part of another type") else {**part, "type": "text"}
    elif (part["type"] == "text" and not isinstance(part.get("text"), str)) or not known(str(part["type"])):
        raise _not_taken(part, role, at, path)
    if None in part.values() and not takes(role, "part with nulls"):
        part = {key: value for key, value in part.items() if value is not None}
    return part


def _adapt_media(part: Data, kind: str, role: str, at: int, path: Path, takes: Takes) -> Data:
    """Returns a part that is not text under a type by which the template knows it."""
    plain = kind.removesuffix("_url").removeprefix("input_")
    if part.get("type") is None and takes(role, f"{kind} alone"):
        return part
    for type_ in (kind, plain):
        if takes(role, f"{type_} part"):
            return {**part, "type": type_}
    raise _not_taken(part, role, at, path)


def _not_taken(part: Any, role: str, at: int, path: Path) -> MessageError:
    fault = f"is {_described(part)}, which this chat template does not take from the role {role!r}"
    return MessageError(fault, message=at, path=path)


def _joined(parts: list[Any], at: int, path: Path) -> str:
    return "".join(_text_of(part, at, (*path, number)) for number, part in enumerate(parts))


def _text_of(part: Any, at: int, path: Path) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str) and media_kind(part) is None:
        text: str = part["text"]
        return text
    raise MessageError(f"is {_described(part)}, and this chat template takes text alone", message=at, path=path)


def _described(part: Any) -> str:
    if not isinstance(part, dict):
        return f"of type {type(part).__name__}"
    kind = part.get("type") or media_kind(part)
    return "a part without a text" if kind in (None, "text", *OTHER_TEXTS) else f"a part of type {kind!r}"


# ==================
# Calls and tools
# ==================


def _adapt_call(call: Any, at: int, path: Path, takes: Takes) -> Any:
    if not isinstance(call, dict):
        raise MessageError("must be a dict with the function that is called", message=at, path=path)
    bare = "function" not in call and "name" in call
    if bare and not takes("assistant", "bare call") and takes("assistant", "call"):
        around = {key: value for key, value in call.items() if key not in ("name", "arguments")}
        called = {key: call[key] for key in ("name", "arguments") if key in call}
        call = {"type": "function", **around, "function": called}
    if isinstance(call.get("function"), dict):
        return {**call, "function": _adapt_arguments(call["function"], at, (*path, "function", "arguments"), takes)}
    return _adapt_arguments(call, at, (*path, "arguments"), takes)


def _adapt_arguments(called: Data, at: int, path: Path, takes: Takes) -> Data:
    arguments = called.get("arguments")
    if isinstance(arguments, str) and not arguments.strip() and takes("assistant", "arguments within JSON"):
        # An empty text would leave the JSON around it broken, so it can only stand for no arguments.
        arguments = None
    as_object = takes("assistant", "arguments")
    if isinstance(arguments, dict):
        if as_object or not takes("assistant", "arguments as text"):
            return called
        return {**called, "arguments": json.dumps(arguments, ensure_ascii=False)}
    as_text = takes("assistant", "arguments as text")
    if arguments is None:
        return {**called, "arguments": {} if as_object else "{}"} if as_object or as_text else called
    if not as_object or (as_text and takes("assistant", "arguments as JSON")):
        return called
    if not isinstance(arguments, str):
        return called
    parsed = _parsed(arguments)
    if parsed is not None:
        return {**called, "arguments": plain_data(parsed, message=at, path=path)}
    if as_text:
        return called
    raise MessageError(
        "is not the JSON of an object, and this chat template takes arguments as an object: pass a dict, or its JSON",
        message=at,
        path=path,
    )


def _parsed(text: str) -> Data | None:
    """Returns the object that a text is the JSON of, an empty one for a blank text and for null; None for others.

    What JSON allows and a dict cannot hold, such as a key that is there twice, is none either.
    """
    try:
        value = json.loads(text, object_pairs_hook=_only_once, parse_float=_finite) if text.strip() else None
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _only_once(pairs: list[tuple[str, Any]]) -> Data:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


def _adapt_tool(tool: Data, takes: Takes) -> Data:
    if "function" not in tool:
        bare = "name" in tool and tool.get("type", "function") == "function"
        if bare and not takes("user", "bare tool") and takes("user", "wrapped tool"):
            return {"type": "function", "function": {key: tool[key] for key in tool if key != "type"}}
    elif isinstance(tool["function"], dict) and not takes("user", "wrapped tool") and takes("user", "bare tool"):
        return tool["function"]
    return tool
