"""Normalise messages and tools to plain JSON data.

Normalisation does not depend on the template: objects become dicts, subclasses become exact types, and reasoning gets
the keys that templates read. The caller's objects are never changed. `adapt.py` does the part that depends on the
template.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from renderers.core.completions import ParsedResponse
from renderers.core.function_tools import describe_function, is_function_tool
from renderers.core.message_checks import check_arguments, check_content, check_reasoning, has_usual_arguments
from renderers.core.message_types import MEDIA_KINDS
from renderers.core.native import native
from renderers.core.plain_json import copy_json, is_plain, untrack
from renderers.core.spans import Path
from renderers.core.text import describe_type
from renderers.core.tool_list import ToolList, find_shared, share
from renderers.errors import MessageError

REASONING_NAMES = ("reasoning_content", "thinking", "reasoning")
"""The keys of a message that may hold reasoning. The first that is set counts."""

MAX_JSON_DEPTH = 100
"""How many levels JSON data of a caller or of a model may be nested."""

# str(value) would call a method that a subclass may override.
_CONVERT: dict[type, Any] = {str: str.__str__, int: int.__int__, float: float.__float__}
_EXACT = frozenset({str, int, float, bool, type(None)})
# A tuple is checked faster than a union, which is built on every call.
_SCALARS, _LISTS, _CONTAINERS = tuple(_CONVERT), (list, tuple), (list, dict)
_TEXT_OR_NONE = (str, type(None))
_KEYS = (
    *("role", "content", "name", "tool_call_id", "tool_calls", "function", "arguments", "id"),
    *REASONING_NAMES,
)
"""The keys of messages and calls that the C extension reads, in its order."""
_MESSAGE = "a dict with a role and a content"


def normalise_messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Return messages as plain JSON data that shares nothing with the caller's objects.

    Parsed responses become messages. Pydantic models, OpenAI SDK objects and dataclasses become dicts. Their fields
    that are None are left out, except for `content`. Subclasses of str, int, float, dict and list become the exact
    types. An object that is not JSON data is only allowed in a media part, at any depth, and becomes a string:
    templates test for an image, but do not read it. Reasoning in `reasoning_content`, `thinking` or `reasoning` is
    copied to `reasoning_content` and `thinking`, as in transformers.

    Raises:
        MessageError: A message cannot be rendered by any template. Names the message and the field.

    >>> normalise_messages([{"role": "assistant", "content": "Hi", "reasoning": "They greet."}])[0]["reasoning_content"]
    'They greet.'
    """
    values = messages if type(messages) is list else list_messages(messages)
    # A message may have one more level than its deepest part, and the list is one more.
    plain = copy_json(values, MAX_JSON_DEPTH + 2, True)
    if plain is NotImplemented and any(isinstance(value, ParsedResponse) for value in values):
        values = list_messages(values)
        plain = copy_json(values, MAX_JSON_DEPTH + 2, True)
    if plain is NotImplemented:
        normalised = [_finish_message(_normalise(value, n, (), ()), value, n) for n, value in enumerate(values)]
    else:
        normalised = plain
        for index in finish_usual(plain, _KEYS):
            normalised[index] = _finish_message(plain[index], values[index], index)
    if not normalised:
        raise MessageError(
            "there are no messages: a conversation needs at least one, such as {'role': 'user', 'content': 'Hello!'}"
        )
    return normalised


def list_messages(messages: Iterable[Any], *, kind: str = "messages") -> list[Any]:
    """Return messages, or values of another kind, as a list, without inspecting them. Parsed responses become messages.

    Raises:
        MessageError: `messages` is not a list or another iterable of messages.
    """
    is_list = type(messages) is list
    if not is_list and (isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable)):
        remedy = ": put it into a list" if isinstance(messages, Mapping) and kind != "conversations" else ""
        if isinstance(messages, str) and kind == "messages":
            remedy = ": put the text into a message such as {'role': 'user', 'content': 'Hello!'}"
        raise MessageError(f"{kind} must be a list of {kind}, not {describe_type(messages)}{remedy}")
    return [value.to_message() if isinstance(value, ParsedResponse) else value for value in messages]


def extract_message_tool_names(messages: Iterable[Mapping[str, Any]]) -> list[str | None]:
    """Return, for each message, the name of the tool that it is a result of. None for messages that are not results.

    The name is that of the message itself, or that of the call with the message's `tool_call_id`.

    Raises:
        MessageError: A message, its `tool_calls` or its `tool_call_id` has the wrong type.

    >>> call = {"id": "1", "function": {"name": "search"}}
    >>> extract_message_tool_names([{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1"}])
    [None, 'search']
    """
    checked = list_mappings(messages)
    for index, message in enumerate(checked):
        _check_message(message, index)
    return find_tool_names(checked)


def list_mappings(messages: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return messages that are mappings as a list.

    Raises:
        MessageError: `messages` is not a list of messages, or a message is not a mapping.
    """
    listed = list_messages(messages)
    for index, message in enumerate(listed):
        if not _is_mapping(message):
            raise _message_type_error(message, index)
    return listed


def find_tool_names(messages: Iterable[Mapping[str, Any]]) -> list[str | None]:
    """Return the result of `extract_message_tool_names` for normalised messages."""
    called: dict[Any, str] = {}
    names: list[str | None] = []
    for message in messages:
        calls = message.get("tool_calls")
        if calls:
            for call in calls:
                called[call.get("id")] = (call.get("function") or call)["name"]
        if message.get("role") == "tool":
            names.append(message.get("name") or called.get(message.get("tool_call_id")))
        else:
            names.append(None)
    return names


def media_kind(part: Any) -> str | None:
    """Return the media type of a content part, by its `type` or else by its keys. None for other parts.

    >>> media_kind({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
    'image_url'
    """
    if not isinstance(part, dict):
        return None
    if part.get("type") is not None:
        return part["type"] if part["type"] in MEDIA_KINDS else None
    return next((kind for kind in MEDIA_KINDS if part.get(kind) is not None), None)


def media_parts(message: Mapping[str, Any]) -> dict[int, str]:
    """Return the media types of the content parts that are not text, by position.

    >>> media_parts({"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image"}]})
    {1: 'image'}
    """
    content = message.get("content")
    if not isinstance(content, list):
        return {}
    return {number: kind for number, kind in enumerate(map(media_kind, content)) if kind is not None}


def normalise_tools(tools: Iterable[Any] | None) -> ToolList | None:
    """Return tools as plain JSON data. None if there are none. Calls with the same tools get the same list.

    Functions and pydantic model classes are described by `describe_function`.

    Raises:
        MessageError: A tool is not JSON data, or has no name; or a function cannot be described. Names the tool and
            the field.

    >>> normalise_tools(({"name": "search"},))
    [{'name': 'search'}]
    """
    if tools is None:
        return None
    values = tools if type(tools) is list else list_messages(tools, kind="tools")
    shared = find_shared(values)
    return share(_read_tools(values)) if shared is None else shared


def readable_tools(tools: Iterable[Any] | None) -> list[Any] | None:
    """Return tools to read at once, with the errors of `normalise_tools`. JSON data with functions is not copied."""
    if tools is None:
        return None
    values = tools if type(tools) is list else list_messages(tools, kind="tools")
    return values if _are_usual_tools(values) and is_plain(values) else normalise_tools(values)


def _are_usual_tools(values: list[Any]) -> bool:
    """Return True if all tools are dicts of exact types with a function and its name."""
    for value in values:
        function = value.get("function") if type(value) is dict else None
        if type(function) is not dict or type(function.get("name")) is not str:
            return False
    return True


def _read_tools(values: list[Any]) -> list[dict[str, Any]]:
    plain = []
    for number, value in enumerate(values):
        path: Path = ("tools", number)
        described = is_function_tool(value)
        tool = describe_function(value, path=path) if described else normalise_data(value, path=path)
        if not isinstance(tool, dict):
            raise MessageError("must be a dict with the tool's name and schema", path=path)
        if tool.get("type", "function") == "function" or tool.get("function") is not None:
            _check_function(tool, None, path)
        plain.append(tool)
    return plain


def normalise_data(value: Any, *, message: int | None = None, path: Path = ()) -> Any:
    """Return a value as plain JSON data: at a path of a message, or all arguments of a template.

    Raises:
        MessageError: A part of it is not JSON data. Names the message and the path.
    """
    plain = copy_json(value, MAX_JSON_DEPTH + 1, False)
    return _normalise(value, message, path, ()) if plain is NotImplemented else plain


def finish_usual_in_python(messages: list[Any], _keys: tuple[str, ...], /) -> list[int]:
    """Finish the messages of usual forms in a list of plain data. Return the indices of the others.

    A usual form has text or None in all fields that are checked, and calls of exact types.
    """
    others = []
    for index, message in enumerate(messages):
        if _is_usual(message):
            messages[index] = _with_reasoning(message)
        else:
            others.append(index)
    return others


def _is_usual(message: Any) -> bool:
    if type(message) is not dict or type(message.get("role")) is not str:
        return False
    if any(type(message.get(key)) not in _TEXT_OR_NONE for key in ("content", "name", "tool_call_id")):
        return False
    calls = message.get("tool_calls")
    if calls is not None and not (type(calls) is list and all(map(_is_usual_call, calls))):
        return False
    return type(_reasoning_of(message)) in _TEXT_OR_NONE


def _reasoning_of(message: dict[str, Any]) -> Any:
    return next((message[key] for key in REASONING_NAMES if message.get(key) is not None), None)


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its reasoning under the keys that templates read."""
    reasoning = _reasoning_of(message)
    if reasoning is None:
        return message
    return untrack({"thinking": reasoning, **message, "reasoning_content": reasoning})


finish_usual = finish_usual_in_python if native is None else native.finish_messages


def _finish_message(plain: Any, message: Any, index: int) -> dict[str, Any]:
    """Check a message of exact types, and copy its reasoning to the keys that templates read."""
    if type(plain) is not dict:
        raise _message_type_error(message, index)
    if type(plain.get("role")) is not str:
        fault = f"not {plain['role']!r}" if "role" in plain else "and is missing"
        raise MessageError(f"must be a string such as 'user', {fault}", message=index, path=("role",))
    _check_message(plain, index)
    for key in REASONING_NAMES:
        reasoning = plain.get(key)
        if reasoning is not None:
            check_reasoning(reasoning, index, key)
            break
    return _with_reasoning(plain)


def _check_message(message: Mapping[str, Any], index: int) -> None:
    """Raise a `MessageError` if a field of a message has a type that no template takes. Ids may be numbers."""
    check_content(message, index)
    name, result_of = message.get("name"), message.get("tool_call_id")
    if name is not None and not isinstance(name, str):
        raise _type_error("a string", name, index, ("name",))
    if isinstance(result_of, _CONTAINERS):
        raise _type_error("a string", result_of, index, ("tool_call_id",))
    calls = message.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, _LISTS):
        raise _type_error("a list of tool calls", calls, index, ("tool_calls",))
    for number, call in enumerate(calls):
        if _is_usual_call(call):
            continue
        path: Path = ("tool_calls", number)
        if not _is_mapping(call):
            raise _type_error("a dict with a function", call, index, path)
        _check_function(call, index, path)
        nested = call.get("function") is not None
        check_arguments(call["function"] if nested else call, index, (*path, "function") if nested else path)
        if isinstance(call.get("id"), _CONTAINERS):
            raise _type_error("a string", call.get("id"), index, (*path, "id"))


def _is_usual_call(call: Any) -> bool:
    """Return True for a call of exact types with a function, its name, and an id that is text or missing."""
    function = call.get("function") if type(call) is dict else None
    if type(function) is not dict or type(function.get("name")) is not str:
        return False
    return has_usual_arguments(function) and type(call.get("id", "")) is str


def _check_function(value: Mapping[str, Any], message: int | None, path: Path) -> None:
    """Raise a `MessageError` if a tool or a tool call has no name, in a `function` or directly."""
    function = value.get("function")
    if function is not None:
        path = (*path, "function")
        if not _is_mapping(function):
            raise _type_error("a dict", function, message, path)
        value = function
    if "name" not in value:
        fault = "has neither a function nor a name" if function is None else "has no name"
        fault += ": add a name"
        raise MessageError(fault, message=message, path=path)
    if not isinstance(value["name"], str):
        raise _type_error("a string", value["name"], message, (*path, "name"))


def _is_mapping(value: object) -> bool:
    # A check of an abstract class takes several times as long, and most values are dicts.
    return type(value) is dict or isinstance(value, Mapping)


def _message_type_error(message: object, index: int) -> MessageError:
    is_conversation = isinstance(message, list) and any(map(_is_mapping, message))
    remedy = ". Pass one conversation, or use render_batch." if is_conversation else ""
    return MessageError(f"must be {_MESSAGE}, not {describe_type(message)}{remedy}", message=index)


def _type_error(expected: str, value: object, message: int | None, path: Path) -> MessageError:
    return MessageError(f"must be {expected}, not {describe_type(value)}", message=message, path=path)


def _normalise(value: Any, message: int | None, path: Path, around: tuple[int, ...], *, media: bool = False) -> Any:
    """Return a value as exact JSON types. With `media`, an object that is not JSON data becomes the name of its type.

    `around` has the identities of all containers of the value.
    """
    kind = type(value)
    if kind in _EXACT:
        return value
    if isinstance(value, _SCALARS):
        return next(convert(value) for scalar, convert in _CONVERT.items() if isinstance(value, scalar))
    if id(value) in around or len(around) > MAX_JSON_DEPTH:
        fault = "contains itself" if id(value) in around else f"is nested more than {MAX_JSON_DEPTH} levels deep"
        raise MessageError(f"{fault}, so it is not JSON data", message=message, path=path)
    around = (*around, id(value))
    if kind is dict or isinstance(value, Mapping):
        holds = _media_keys(value) if path[:-1] == ("content",) else ()
        plain = {}
        for key, item in value.items():
            if not isinstance(key, str):
                fault = f"has the key {key!r}, and keys of JSON data are strings"
                raise MessageError(fault, message=message, path=path)
            # Most values are exact scalars, which need no call and no path.
            if type(item) not in _EXACT:
                item = _normalise(item, message, (*path, key), around, media=media or key in holds)
            plain[str.__str__(key)] = item
        return plain
    if isinstance(value, _LISTS):
        return [_normalise(item, message, (*path, index), around, media=media) for index, item in enumerate(value)]
    fields = _fields(value)
    if fields is not None:
        kept = {name: item for name, item in fields.items() if item is not None or name == "content"}
        return _normalise(kept, message, path, around, media=media)
    if hasattr(value, "dtype") and callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        return _normalise(value.item(), message, path, around, media=media)
    if media:
        return f"<{kind.__name__}>"
    fault = f"is {describe_type(value)}, which is not JSON data: use strings, numbers, booleans, None, lists and dicts"
    raise MessageError(fault, message=message, path=path)


def _media_keys(part: Mapping[Any, Any]) -> Collection[Any]:
    """Return the keys of a content part that may hold media. A text part has none."""
    kind = part.get("type")
    if kind is None:
        return MEDIA_KINDS
    return () if kind in ("text", "thinking") else part.keys() - {"text", "thinking"}


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a pydantic model or a dataclass by name. None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    if not isinstance(names, Mapping):
        return None
    return {name: getattr(value, name) for name in names} | dict(getattr(value, "model_extra", None) or {})
