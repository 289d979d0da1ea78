"""Convert messages and tools to formats that a template accepts.

An accepted format is passed on unchanged. A format that the template fails on, drops, or serialises as data is
converted to an accepted one if there is one. Arguments that are JSON text stay text if the template accepts text and
writes JSON; otherwise they become an object.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.messages import MEDIA_KINDS, media_kind, normalise_data
from renderers.core.spans import Path
from renderers.errors import MessageError
from renderers.programs.input_formats import EMPTY_VALUES, OPTIONAL_KEYS, TEXT_PART_TYPES, accepts_format
from renderers.templating import ChatTemplate


def adapt_messages(template: ChatTemplate, messages: list[JsonObject], *, arguments: Arguments) -> list[JsonObject]:
    """Convert messages to formats that a template accepts.

    Raises:
        MessageError: The template accepts no format of a content part, or needs arguments to be a JSON object.

    >>> template = ChatTemplate("{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}")
    >>> parts = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]
    >>> adapt_messages(template, [{"role": "user", "content": parts}], arguments=())
    [{'role': 'user', 'content': 'Hi there'}]
    """
    accepts = functools.partial(accepts_format, template, arguments)
    mentions = functools.partial(_mentions, template.source)
    return [_adapt_message(message, index, accepts, mentions) for index, message in enumerate(messages)]


def adapt_tools(
    template: ChatTemplate, tools: list[JsonObject] | None, *, arguments: Arguments
) -> list[JsonObject] | None:
    """Wrap tools in `{"type": "function", "function": ...}` or unwrap them, as a template accepts them."""
    if tools is None:
        return None
    accepts = functools.partial(accepts_format, template, arguments)
    return [_adapt_tool(tool, accepts) for tool in tools]


_Accepts = Callable[[str, str], bool]
"""Takes a role and the name of a format. Returns True if the template accepts it."""

_Mentions = Callable[[str], bool]
"""Takes a type of content parts. Returns True if the template mentions it."""


def _mentions(source: str, part_type: str) -> bool:
    return part_type in source


def _adapt_message(message: JsonObject, index: int, accepts: _Accepts, mentions: _Mentions) -> JsonObject:
    if message["role"] == "developer" and not _accepts_role("developer", accepts) and _accepts_role("system", accepts):
        message = {**message, "role": "system"}
    message = _adapt_reasoning(_adapt_thinking(message, index, accepts), accepts)
    message = _adapt_empty(message, accepts)
    message = _adapt_content(message, index, accepts, mentions)
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        adapted = [_adapt_call(call, index, ("tool_calls", number), accepts) for number, call in enumerate(calls)]
        message = {**message, "tool_calls": adapted}
    return message


def _accepts_role(role: str, accepts: _Accepts) -> bool:
    return accepts(role, "text") or accepts(role, "parts")


def _adapt_empty(message: JsonObject, accepts: _Accepts) -> JsonObject:
    """Remove empty optional keys that change the output of the template."""
    reasoning = message.get("reasoning_content")
    if reasoning is not None and message.get("thinking", reasoning) is None:
        message = {**message, "thinking": reasoning}
    misleading = [
        key
        for key in OPTIONAL_KEYS
        if key in message and message[key] in EMPTY_VALUES and not accepts(message["role"], f"{key} {message[key]}")
    ]
    return {key: value for key, value in message.items() if key not in misleading} if misleading else message


# ==================
# Content
# ==================


def _adapt_thinking(message: JsonObject, index: int, accepts: _Accepts) -> JsonObject:
    """Move thinking parts out of the content if the template does not accept them there."""
    role, content = message["role"], message.get("content")
    if not isinstance(content, list):
        return message
    texts = _thinking_texts(content, index)
    if not texts:
        return message
    if accepts(role, "thinking part"):
        if accepts(role, "thinking in parts"):
            return message
        plain = [{**part, "thinking": texts[n]} if n in texts else part for n, part in enumerate(content)]
        return {**message, "content": plain}
    reasoning = "".join(texts.values())
    if message.get("reasoning_content") not in (None, reasoning):
        return message
    rest = [part for n, part in enumerate(content) if n not in texts]
    return {"thinking": reasoning, **message, "content": rest, "reasoning_content": reasoning}


def _adapt_reasoning(message: JsonObject, accepts: _Accepts) -> JsonObject:
    """Move reasoning into a thinking part if the template accepts it only there."""
    role, reasoning, content = message["role"], message.get("reasoning_content"), message.get("content")
    parts = [{"type": "text", "text": content}] if content and isinstance(content, str) else content or []
    if not isinstance(reasoning, str) or not reasoning.strip() or not isinstance(parts, list):
        return message
    if accepts(role, "reasoning") or not accepts(role, "thinking part") or any(map(_is_thinking, parts)):
        return message
    return {**message, "content": [{"type": "thinking", "thinking": reasoning}, *parts]}


def _is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "thinking"


def _thinking_texts(parts: list[Any], index: int) -> dict[int, str]:
    """Return the texts of thinking parts by index. A text may itself be a list of parts."""
    texts = {}
    for number, part in enumerate(parts):
        if _is_thinking(part):
            thinking, path = part.get("thinking"), ("content", number, "thinking")
            if not isinstance(thinking, str | list | None):
                fault = f"is of type {type(thinking).__name__} and must be a string"
                raise MessageError(fault, message=index, path=path)
            texts[number] = _join_parts(thinking, index, path) if isinstance(thinking, list) else thinking or ""
    return texts


def _adapt_content(message: JsonObject, index: int, accepts: _Accepts, mentions: _Mentions) -> JsonObject:
    role, content = message["role"], message.get("content")
    if isinstance(content, str):
        if not accepts(role, "text") and accepts(role, "parts"):
            return {**message, "content": [{"type": "text", "text": content}]}
    elif isinstance(content, list) and (not content or any(map(_is_part, content))):
        if accepts(role, "parts"):
            places = enumerate(content)
            parts = [_adapt_part(part, role, index, ("content", number), accepts, mentions) for number, part in places]
            return {**message, "content": parts}
        if accepts(role, "text"):
            return {**message, "content": _join_parts(content, index, ("content",))}
    elif content is None:
        form = ("none" if "content" in message else "missing") + (" beside calls" if message.get("tool_calls") else "")
        if accepts(role, form):
            return message
        if form == "missing beside calls" and accepts(role, "none beside calls"):
            return {**message, "content": None}
        if accepts(role, "text"):
            return {**message, "content": ""}
    elif not isinstance(content, bool):
        form = "number" if isinstance(content, int | float) else "object"
        if not accepts(role, form) and accepts(role, "text"):
            return {**message, "content": json.dumps(content, ensure_ascii=False)}
    return message


def _is_part(item: Any) -> bool:
    """Return True for a content part. A list without parts is data, such as a tool result."""
    return isinstance(item, str) or (
        isinstance(item, dict) and any(item.get(key) is not None for key in ("type", "text", *MEDIA_KINDS))
    )


def _adapt_part(part: Any, role: str, index: int, path: Path, accepts: _Accepts, mentions: _Mentions) -> Any:
    """Convert a part to a format that the template does not drop."""
    if isinstance(part, str):
        return part if accepts(role, "string among parts") else {"type": "text", "text": part}
    if not _is_part(part):
        raise _rejected_part(part, role, index, path)
    kind = media_kind(part)
    if kind is not None:
        part = _adapt_media(part, kind, role, index, path, accepts)
    elif "text" in part and part.get("type") in (None, *TEXT_PART_TYPES):
        part = part if accepts(role, "part of another type") else {**part, "type": "text"}
    elif (part["type"] == "text" and not isinstance(part.get("text"), str)) or not mentions(str(part["type"])):
        raise _rejected_part(part, role, index, path)
    if None in part.values() and not accepts(role, "part with nulls"):
        part = {key: value for key, value in part.items() if value is not None}
    return part


def _adapt_media(part: JsonObject, kind: str, role: str, index: int, path: Path, accepts: _Accepts) -> JsonObject:
    """Give a media part the type that the template accepts."""
    plain = kind.removesuffix("_url").removeprefix("input_")
    if part.get("type") is None and accepts(role, f"{kind} alone"):
        return part
    for type_ in (kind, plain):
        if accepts(role, f"{type_} part"):
            return {**part, "type": type_}
    raise _rejected_part(part, role, index, path)


def _rejected_part(part: Any, role: str, index: int, path: Path) -> MessageError:
    fault = f"is {_describe_part(part)}, which this chat template does not accept for the role {role!r}"
    return MessageError(fault, message=index, path=path)


def _join_parts(parts: list[Any], index: int, path: Path) -> str:
    return "".join(_text_of(part, index, (*path, number)) for number, part in enumerate(parts))


def _text_of(part: Any, index: int, path: Path) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str) and media_kind(part) is None:
        text: str = part["text"]
        return text
    raise MessageError(f"is {_describe_part(part)}, and this chat template accepts only text", message=index, path=path)


def _describe_part(part: Any) -> str:
    if not isinstance(part, dict):
        return f"of type {type(part).__name__}"
    kind = part.get("type") or media_kind(part)
    return "a part without a text" if kind in (None, "text", *TEXT_PART_TYPES) else f"a part of type {kind!r}"


# ==================
# Calls and tools
# ==================


def _adapt_call(call: Any, index: int, path: Path, accepts: _Accepts) -> Any:
    if not isinstance(call, dict):
        raise MessageError("must be a dict with the called function", message=index, path=path)
    bare = call.get("function") is None and "name" in call
    if bare and not accepts("assistant", "bare call") and accepts("assistant", "call"):
        around = {key: value for key, value in call.items() if key not in ("name", "arguments", "function")}
        called = {key: call[key] for key in ("name", "arguments") if key in call}
        call = {"type": "function", **around, "function": called}
    if isinstance(call.get("function"), dict):
        return {
            **call,
            "function": _adapt_arguments(call["function"], index, (*path, "function", "arguments"), accepts),
        }
    return _adapt_arguments(call, index, (*path, "arguments"), accepts)


def _adapt_arguments(called: JsonObject, index: int, path: Path, accepts: _Accepts) -> JsonObject:
    arguments = called.get("arguments")
    if isinstance(arguments, str) and not arguments.strip() and accepts("assistant", "arguments within JSON"):
        # An empty text would break the JSON around it, so it means no arguments.
        arguments = None
    as_object = accepts("assistant", "arguments")
    if isinstance(arguments, dict):
        if as_object or not accepts("assistant", "arguments as text"):
            return called
        return {**called, "arguments": json.dumps(arguments, ensure_ascii=False)}
    as_text = accepts("assistant", "arguments as text")
    if arguments is None:
        return {**called, "arguments": {} if as_object else "{}"} if as_object or as_text else called
    as_json = accepts("assistant", "arguments as JSON")
    if not isinstance(arguments, str):
        if as_json or not (as_object or as_text):
            return called
        raise MessageError(
            f"must be a dict or its JSON, not a {type(arguments).__name__}: this chat template does not write "
            "arguments as JSON",
            message=index,
            path=path,
        )
    if not as_object or (as_text and as_json):
        return called
    parsed = _parse_object(arguments)
    if parsed is not None:
        return {**called, "arguments": normalise_data(parsed, message=index, path=path)}
    if as_text:
        return called
    raise MessageError(
        "is not the JSON of an object, and this chat template needs arguments to be an object: pass a dict or its JSON",
        message=index,
        path=path,
    )


def _parse_object(text: str) -> JsonObject | None:
    """Parse a JSON object. Return an empty one for blank text and null, and None for any other text.

    A text that a dict cannot represent, such as one with a repeated key, gives None.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_float=_finite) if text.strip() else None
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _unique_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


def _adapt_tool(tool: JsonObject, accepts: _Accepts) -> JsonObject:
    if "function" not in tool:
        bare = "name" in tool and tool.get("type", "function") == "function"
        if bare and not accepts("user", "bare tool") and accepts("user", "wrapped tool"):
            return {"type": "function", "function": {key: tool[key] for key in tool if key != "type"}}
    elif isinstance(tool["function"], dict) and not accepts("user", "wrapped tool") and accepts("user", "bare tool"):
        return tool["function"]
    return tool
