"""Messages and tools: their types, and plain JSON data from whatever callers send.

What is done here does not depend on the template: objects become dicts, subclasses exact types, other names for
reasoning the ones that templates read. The caller's objects are never changed. `adapt.py` does what depends on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from renderers.core.spans import Path
from renderers.errors import MessageError

__all__ = [
    "MAX_JSON_DEPTH",
    "MEDIA_KINDS",
    "REASONING_NAMES",
    "Content",
    "ContentPart",
    "ImagePart",
    "Message",
    "TextPart",
    "ThinkingPart",
    "ToolCall",
    "ToolCallFunction",
    "ToolSpec",
    "VideoPart",
    "extract_message_tool_names",
    "list_messages",
    "media_kind",
    "media_parts",
    "normalise_arguments",
    "normalise_data",
    "normalise_messages",
    "normalise_tools",
]


class TextPart(TypedDict):
    """A part of a message's content that is text."""

    type: Literal["text"]
    text: str


class ThinkingPart(TypedDict):
    """A part of a message's content that is the model's reasoning."""

    type: Literal["thinking"]
    thinking: str


class ImagePart(TypedDict, total=False):
    """A part of a message's content that is an image, in one of the forms that callers use."""

    type: Literal["image", "image_url"]
    image: Any
    image_url: Any
    url: str
    path: str


class VideoPart(TypedDict, total=False):
    """A part of a message's content that is a video."""

    type: Literal["video", "video_url"]
    video: Any
    video_url: Any
    url: str
    path: str


ContentPart = TextPart | ThinkingPart | ImagePart | VideoPart
Content = str | Sequence[ContentPart] | None


class ToolCallFunction(TypedDict):
    """What a tool call calls: a name, and arguments as an object or as its JSON text."""

    name: str
    arguments: dict[str, Any] | str


class ToolCall(TypedDict, total=False):
    """A tool call of an assistant's message."""

    function: ToolCallFunction
    id: str
    type: Literal["function"]


# Parts and calls require no key, as in release 0.1. What is written as a text, as annotations here are, cannot say at
# run time which keys are not required, so those that are have classes of their own.
class _Role(TypedDict):
    role: str


class _Name(TypedDict):
    name: str


class Message(_Role, total=False):
    """A message. Templates may read other keys as well; all are passed on."""

    content: Content
    reasoning_content: str | None
    reasoning: str | None
    tool_calls: Sequence[ToolCall] | None
    tool_call_id: str
    name: str


class ToolSpec(_Name, total=False):
    """A tool: a name, a description and a JSON schema. Also accepted in a `{"type": "function", "function": ...}`."""

    description: str
    parameters: dict[str, Any]


MEDIA_KINDS = ("image", "image_url", "video", "video_url", "audio", "audio_url", "input_audio")
"""Types of content parts that are not text, and the keys under which they hold what they are."""

REASONING_NAMES = ("reasoning_content", "thinking", "reasoning")
"""The keys of a message that callers give reasoning in, the first that there is counting."""

MAX_JSON_DEPTH = 100
"""How many levels JSON data may be nested, whether a caller sends it or a model wrote it."""

_NOT_A_MESSAGE = "must be a dict with a role and a content, not a {}"
_NO_MESSAGES = "there are no messages: a conversation needs at least one, such as {'role': 'user', 'content': 'Hello!'}"


def normalise_messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns messages as plain JSON data of their own.

    Pydantic models, OpenAI SDK objects and dataclasses become dicts without the keys that are None, except
    for `content`. Subclasses of str, int, float, dict and list become the exact types. An object that is
    not JSON data may only stand in a content part that is not text, at any depth, and becomes a string
    there: templates ask whether an image is there, not what it is. Reasoning that is given as
    `reasoning_content`, `thinking` or `reasoning` is passed on as `reasoning_content` and `thinking`, as
    transformers does.

    Raises:
        MessageError: Something cannot be rendered; says which message and where in it.

    >>> normalise_messages([{"role": "assistant", "content": "Hi", "reasoning": "They greet."}])[0]["reasoning_content"]
    'They greet.'
    """
    normalised = [_normalise_message(message, at) for at, message in enumerate(list_messages(messages))]
    if not normalised:
        raise MessageError(_NO_MESSAGES)
    return normalised


def list_messages(messages: Iterable[Any]) -> list[Any]:
    """Return messages as a list, without a look at any of them.

    Raises:
        MessageError: `messages` is not a list or another iterable of messages.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise MessageError(f"messages must be a list of messages, not a {type(messages).__name__}")
    return list(messages)


def extract_message_tool_names(messages: Iterable[Mapping[str, Any]]) -> list[str | None]:
    """Return, for each message, the name of the tool that it is a result of. None for messages that are no result.

    The name is that of the message itself, or that of the call with the message's `tool_call_id`.

    Raises:
        MessageError: A message, its `tool_calls` or its `tool_call_id` has the wrong type.

    >>> call = {"id": "1", "function": {"name": "search"}}
    >>> extract_message_tool_names([{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1"}])
    [None, 'search']
    """
    called: dict[Any, str] = {}
    names: list[str | None] = []
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise MessageError(_NOT_A_MESSAGE.format(type(message).__name__), message=at)
        _check_message(message, at)
        for call in message.get("tool_calls") or ():
            called[call.get("id")] = (call.get("function") or call)["name"]
        is_result = message.get("role") == "tool"
        names.append((message.get("name") or called.get(message.get("tool_call_id"))) if is_result else None)
    return names


def media_kind(part: Any) -> str | None:
    """Returns what a content part is that is not text, by its type or else by the key that it has; None for others.

    >>> media_kind({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
    'image_url'
    """
    if not isinstance(part, dict):
        return None
    if part.get("type") is not None:
        return part["type"] if part["type"] in MEDIA_KINDS else None
    return next((kind for kind in MEDIA_KINDS if part.get(kind) is not None), None)


def media_parts(message: Mapping[str, Any]) -> dict[int, str]:
    """Returns which parts of a message's content are not text, by their number.

    >>> media_parts({"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image"}]})
    {1: 'image'}
    """
    content = message.get("content")
    kinds = enumerate(map(media_kind, content)) if isinstance(content, list) else ()
    return {number: kind for number, kind in kinds if kind is not None}


def normalise_tools(tools: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    """Returns tools as plain JSON data; None where there are none.

    >>> normalise_tools(({"name": "search"},))
    [{'name': 'search'}]
    """
    if tools is None:
        return None
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise MessageError(f"tools must be a list of tools, not a {type(tools).__name__}")
    plain = [_normalise(tool, None, ("tools", at), ()) for at, tool in enumerate(tools)]
    for at, tool in enumerate(plain):
        path: Path = ("tools", at)
        if not isinstance(tool, dict):
            raise MessageError("must be a dict with the tool's name and schema", path=path)
        if tool.get("type", "function") == "function" or tool.get("function") is not None:
            _check_function(tool, None, path)
    return plain


def normalise_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what else a template is given (`documents`, `enable_thinking`, ...) as plain JSON data."""
    return {name: _normalise(value, None, (name,), ()) for name, value in arguments.items()}


def normalise_data(value: Any, *, message: int, path: Path) -> Any:
    """Returns a value that is to stand in a message as plain JSON data."""
    return _normalise(value, message, path, ())


def _normalise_message(message: Any, at: int) -> dict[str, Any]:
    plain = _normalise(message, at, (), ())
    if not isinstance(plain, dict):
        raise MessageError(_NOT_A_MESSAGE.format(type(message).__name__), message=at)
    if not isinstance(plain.get("role"), str):
        fault = f"has the role {plain['role']!r}" if "role" in plain else "has no role"
        raise MessageError(f"{fault}: it must be a string, such as 'user'", message=at)
    _check_message(plain, at)
    reasoning = next((plain[key] for key in REASONING_NAMES if plain.get(key) is not None), None)
    if reasoning is None:
        return plain
    return {"thinking": reasoning, **plain, "reasoning_content": reasoning}


def _check_message(message: Mapping[str, Any], at: int) -> None:
    """Raise a `MessageError` if a field of a message has a type that no template takes.

    Content may be any JSON data except a boolean: a tool may return a number or an object. Ids may be numbers.
    """
    if isinstance(message.get("content"), bool):
        fault = "must be a string, a list of parts, None, or JSON data of a tool, not a bool"
        raise MessageError(fault, message=at, path=("content",))
    if not isinstance(message.get("name"), str | None):
        raise _not_a_string(message["name"], at, ("name",))
    if isinstance(message.get("tool_call_id"), list | dict):
        raise _not_a_string(message["tool_call_id"], at, ("tool_call_id",))
    calls = message.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list | tuple):
        fault = f"must be a list of tool calls, not a {type(calls).__name__}"
        raise MessageError(fault, message=at, path=("tool_calls",))
    for number, call in enumerate(calls):
        path: Path = ("tool_calls", number)
        if not isinstance(call, Mapping):
            fault = f"must be a dict with a function, not a {type(call).__name__}"
            raise MessageError(fault, message=at, path=path)
        _check_function(call, at, path)
        if isinstance(call.get("id"), list | dict):
            raise _not_a_string(call["id"], at, (*path, "id"))


def _check_function(value: Mapping[str, Any], message: int | None, path: Path) -> None:
    """Raise a `MessageError` if a tool or a tool call has no name, in a `function` or directly."""
    function = value.get("function")
    if function is not None:
        path = (*path, "function")
        if not isinstance(function, Mapping):
            raise MessageError(f"must be a dict, not a {type(function).__name__}", message=message, path=path)
        value = function
    if "name" not in value:
        fault = "has neither a function nor a name" if function is None else "has no name"
        raise MessageError(fault, message=message, path=path)
    if not isinstance(value["name"], str):
        raise _not_a_string(value["name"], message, (*path, "name"))


def _not_a_string(value: object, message: int | None, path: Path) -> MessageError:
    return MessageError(f"must be a string, not a {type(value).__name__}", message=message, path=path)


def _normalise(value: Any, message: int | None, path: Path, around: tuple[int, ...], *, media: bool = False) -> Any:
    """Returns a value as exact JSON types; of other objects, where media may be, the name of their type.

    `around` are the identities of all that the value is in.
    """
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    # Not str(value), which asks a method that a subclass may have changed.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if id(value) in around or len(around) > MAX_JSON_DEPTH:
        fault = "contains itself" if id(value) in around else f"is nested more than {MAX_JSON_DEPTH} levels deep"
        raise MessageError(f"{fault}, so it is not JSON data", message=message, path=path)
    around = (*around, id(value))
    if isinstance(value, Mapping):
        holds = _media_keys(value) if path[:-1] == ("content",) else ()
        return {
            _key(key, message, path): _normalise(item, message, (*path, key), around, media=media or key in holds)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_normalise(item, message, (*path, at), around, media=media) for at, item in enumerate(value)]
    fields = _fields(value)
    if fields is not None:
        said = {name: item for name, item in fields.items() if item is not None or name == "content"}
        return _normalise(said, message, path, around, media=media)
    if hasattr(value, "dtype") and callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        return _normalise(value.item(), message, path, around, media=media)
    if media:
        return f"<{kind.__name__}>"
    raise MessageError(
        f"is a {kind.__name__}, which is not JSON data: use strings, numbers, booleans, None, lists and dicts",
        message=message,
        path=path,
    )


def _media_keys(part: Mapping[Any, Any]) -> Collection[Any]:
    """Returns the keys of a content part under which there may be media: none in a text."""
    kind = part.get("type")
    if kind is None:
        return MEDIA_KINDS
    return () if kind in ("text", "thinking") else part.keys() - {"text", "thinking"}


def _fields(value: Any) -> dict[str, Any] | None:
    """Returns the fields of a pydantic model or a dataclass by their names; None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    if not isinstance(names, Mapping):
        return None
    return {name: getattr(value, name) for name in names} | dict(getattr(value, "model_extra", None) or {})


def _key(key: Any, message: int | None, path: Path) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise MessageError(f"has the key {key!r}, and keys of JSON data are strings", message=message, path=path)
