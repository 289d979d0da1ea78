"""Convert messages and tools to formats that a template accepts.

An accepted format is passed on unchanged. A format that the template fails on, drops, or serialises as data is
converted to an accepted one if there is one. Arguments that are JSON text stay text if the template accepts text and
writes JSON; otherwise they become an object.
"""

from __future__ import annotations

import json
import math
import operator
from typing import Any, NamedTuple

from renderers.core.bounded_table import BoundedTable
from renderers.core.caller_warnings import warn_caller
from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.messages import media_kind, normalise_data
from renderers.core.options import NoneContent
from renderers.core.spans import Path
from renderers.core.text import describe_type
from renderers.core.tool_list import ToolList
from renderers.errors import BrokenArgumentsWarning, MessageError
from renderers.programs.content_parts import describe_part, is_part, is_thinking
from renderers.programs.input_formats import EMPTY_VALUES, NULL_KEY, OPTIONAL_KEYS, TEXT_PART_TYPES, AcceptedFormats
from renderers.templating import ChatTemplate

_OPTIONAL_KEYS = frozenset(OPTIONAL_KEYS)
_PARSED: BoundedTable[JsonObject | None] = BoundedTable(keep=512)
"""The objects of arguments that are JSON text, by the text. None if it is not that of an object."""
_LONGEST_KEPT = 2000
"""The longest arguments that are kept, in characters."""
_EQUIVALENT_TYPES = {
    "image_url": ("image",),
    "input_image": ("image", "image_url"),
    "video_url": ("video",),
    "audio_url": ("audio",),
    "input_audio": ("audio",),
}
"""The types of media parts that a part of another type can be passed as."""


_PLACES_OF_NONE = {
    **{f"the content of a {role} message": (role, "silent none") for role in ("system", "user", "tool")},
    "the content of an assistant message": ("assistant", "silent none"),
    "the content of an assistant message with tool calls": ("assistant", "silent none beside calls"),
    "the id of a tool call": ("assistant", "silent call id"),
    **{f"the {key} of a tool message": ("tool", NULL_KEY + key) for key in ("name", "tool_call_id")},
    **{f"the name of a {role} message": (role, NULL_KEY + "name") for role in ("user", "assistant")},
}
"""The fields that SDKs set to None, with the role and the format that they are probed with."""


class InputAdapter:
    """Converts messages and tools to formats that a template accepts with some arguments.

    It keeps the formats that it has probed, so it should be used for many conversations.
    """

    def __init__(self, template: ChatTemplate, arguments: Arguments, *, none_content: NoneContent = "omitted") -> None:
        self.arguments = arguments
        self.source = template.source
        self.writes_none = none_content == "as_template"
        self._has_warned = False
        self.formats = AcceptedFormats(template, arguments)

    def messages(self, messages: list[JsonObject]) -> list[JsonObject]:
        """Return the messages. Those in accepted formats are the same objects."""
        return [
            message if self._accepts(message) else _MessageAdapter(self, index, message["role"]).adapt(message)
            for index, message in enumerate(messages)
        ]

    def report(self, broken: MessageError) -> None:
        """Issue a warning about the first call with broken arguments."""
        if not self._has_warned:
            self._has_warned = True
            warn_caller(f"{broken}. Later calls like this one are not reported.", BrokenArgumentsWarning)

    def _accepts(self, message: JsonObject) -> bool:
        """Return True if a message of a usual form needs no conversion. Others are checked field by field."""
        formats, role = self.formats, message["role"]
        if type(message.get("content")) is not str or None in message.values() or not formats[role, "text"]:
            return False
        if _OPTIONAL_KEYS.isdisjoint(message):
            return True
        for key in OPTIONAL_KEYS:
            if not message.get(key, True):
                return False
        for call in message.get("tool_calls", ()):
            function = call.get("function")
            if type(function) is not dict or type(function.get("arguments")) is not dict or None in call.values():
                return False
            if not formats["assistant", "arguments"]:
                return False
        # Reasoning that the template accepts in no form stays where it is.
        return "reasoning_content" not in message or formats[role, "reasoning"] or not formats[role, "thinking part"]

    def adaptations(self) -> tuple[str, ...]:
        """Describe each conversion of the input that changes the rendered text."""
        if self.writes_none:
            return ()
        written = [place for place, key in _PLACES_OF_NONE.items() if self._replaces_none(*key)]
        return tuple(f"None as {place} is omitted: the template would write it as a word" for place in written)

    def _replaces_none(self, role: str, name: str) -> bool:
        key = name.removeprefix(NULL_KEY)
        return (key == name or key in self.source) and not self.formats[role, name]

    def tools(self, tools: list[JsonObject] | None) -> list[JsonObject] | None:
        """Return the tools. Those in an accepted format are the same objects."""
        bare, wrapped = self.formats["user", "bare tool"], self.formats["user", "wrapped tool"]
        if not tools or bare == wrapped:
            return tools
        convert = _unwrap_tool if bare else _wrap_tool
        if type(tools) is ToolList:
            return tools.derive(convert.__name__, lambda: ToolList(list(map(convert, tools))))
        return list(map(convert, tools))


def _unwrap_tool(tool: JsonObject) -> JsonObject:
    function = tool.get("function")
    return function if isinstance(function, dict) else tool


def _wrap_tool(tool: JsonObject) -> JsonObject:
    if "function" in tool or "name" not in tool or tool.get("type", "function") != "function":
        return tool
    return {"type": "function", "function": {key: tool[key] for key in tool if key != "type"}}


class _MessageAdapter(NamedTuple):
    """Converts one message to the accepted formats of its role."""

    adapter: InputAdapter
    message_index: int
    role: str

    def accepts(self, name: str) -> bool:
        return self.adapter.formats[self.role, name]

    def adapt(self, message: JsonObject) -> JsonObject:
        if self.role == "developer" and not self._accepts_text():
            as_system = self._replace(role="system")
            if as_system._accepts_text():
                return as_system.adapt({**message, "role": "system"})
        if type(message.get("content")) is list:
            message = self._adapt_thinking(message)
        if message.get("reasoning_content"):
            message = self._adapt_reasoning(message)
        message = self._adapt_content(self._adapt_null(self._adapt_empty(message)))
        given = message.get("tool_calls")
        if not given:
            return message
        # Calls are probed in messages of the assistant.
        assistant = self if self.role == "assistant" else self._replace(role="assistant")
        calls = [assistant._adapt_call(call, number) for number, call in enumerate(given)]
        return message if all(map(operator.is_, calls, given)) else {**message, "tool_calls": calls}

    def _accepts_text(self) -> bool:
        return self.accepts("text") or self.accepts("parts")

    def _error(self, fault: str, path: Path) -> MessageError:
        return MessageError(fault, message=self.message_index, path=path)

    def _adapt_empty(self, message: JsonObject) -> JsonObject:
        """Remove empty optional keys that change the output of the template."""
        reasoning = message.get("reasoning_content")
        if reasoning is not None and message.get("thinking", reasoning) is None:
            message = {**message, "thinking": reasoning}
        misleading = [
            key
            for key in OPTIONAL_KEYS
            if not message.get(key, True) and message[key] in EMPTY_VALUES and not self.accepts(f"{key} {message[key]}")
        ]
        return {key: value for key, value in message.items() if key not in misleading} if misleading else message

    def _adapt_null(self, message: JsonObject) -> JsonObject:
        """Remove other keys that are None, if the template would write a word for them."""
        if self.adapter.writes_none or None not in message.values():
            return message
        others = [key for key in message if message[key] is None and key not in ("content", *OPTIONAL_KEYS)]
        written = [key for key in others if key in self.adapter.source and not self.accepts(NULL_KEY + key)]
        return {key: value for key, value in message.items() if key not in written} if written else message

    def _adapt_thinking(self, message: JsonObject) -> JsonObject:
        """Move thinking parts out of the content if the template does not accept them there."""
        parts = message["content"]
        texts = {number: self._thinking_text(part, number) for number, part in enumerate(parts) if is_thinking(part)}
        if not texts or (self.accepts("thinking part") and self.accepts("thinking in parts")):
            return message
        if self.accepts("thinking part"):
            plain = [{**part, "thinking": texts[n]} if n in texts else part for n, part in enumerate(parts)]
            return {**message, "content": plain}
        reasoning = "".join(texts.values())
        if message.get("reasoning_content") not in (None, reasoning):
            return message
        rest = [part for n, part in enumerate(parts) if n not in texts]
        return {"thinking": reasoning, **message, "content": rest, "reasoning_content": reasoning}

    def _thinking_text(self, part: JsonObject, number: int) -> str:
        thinking, path = part.get("thinking"), ("content", number, "thinking")
        if isinstance(thinking, list):
            return self._join_parts(thinking, path)
        if not isinstance(thinking, str | None):
            raise self._error(f"is of type {type(thinking).__name__} and must be a string", path)
        return thinking or ""

    def _adapt_reasoning(self, message: JsonObject) -> JsonObject:
        """Move reasoning into a thinking part if the template accepts it only there."""
        reasoning, content = message.get("reasoning_content"), message.get("content")
        parts = [{"type": "text", "text": content}] if content and isinstance(content, str) else content or []
        if not isinstance(reasoning, str) or not reasoning.strip() or not isinstance(parts, list):
            return message
        if self.accepts("reasoning") or not self.accepts("thinking part") or any(map(is_thinking, parts)):
            return message
        return {**message, "content": [{"type": "thinking", "thinking": reasoning}, *parts]}

    def _adapt_content(self, message: JsonObject) -> JsonObject:
        content = message.get("content")
        if isinstance(content, str):
            if not self.accepts("text") and self.accepts("parts"):
                return {**message, "content": [{"type": "text", "text": content}]}
        elif isinstance(content, list) and (not content or any(map(is_part, content))):
            if self.accepts("parts"):
                parts = [self._adapt_part(part, ("content", number)) for number, part in enumerate(content)]
                return {**message, "content": parts}
            if self.accepts("text"):
                return {**message, "content": self._join_parts(content, ("content",))}
        elif content is None:
            form = "none" if "content" in message else "missing"
            form += " beside calls" if message.get("tool_calls") else ""
            if self.accepts(form) and (form.startswith("missing") or self._accepts_silently(form)):
                return message
            beside = "none beside calls"
            if form == "missing beside calls" and self.accepts(beside) and self._accepts_silently(beside):
                return {**message, "content": None}
            if self._accepts_text():
                return self._adapt_content({**message, "content": ""})
        else:
            form = "number" if isinstance(content, int | float) else "object"
            if not self.accepts(form) and self.accepts("text"):
                return {**message, "content": json.dumps(content, ensure_ascii=False)}
        return message

    def _accepts_silently(self, form: str) -> bool:
        """Return True if the template writes no word for a content of None, or if it is to be written."""
        return self.adapter.writes_none or self.accepts(f"silent {form}")

    def _adapt_part(self, part: Any, path: Path) -> Any:
        """Convert a part to a format that the template does not drop."""
        if isinstance(part, str):
            return part if self.accepts("string among parts") else {"type": "text", "text": part}
        if not is_part(part):
            raise self._rejected_part(part, path)
        if media_kind(part) is not None:
            part = self._adapt_media(part, path)
        elif "text" in part and part.get("type") in (None, *TEXT_PART_TYPES):
            part = part if self.accepts("part of another type") else {**part, "type": "text"}
        elif str(part["type"]) not in self.adapter.source or (
            part["type"] == "text" and not isinstance(part.get("text"), str)
        ):
            raise self._rejected_part(part, path)
        if None in part.values() and not self.accepts("part with nulls"):
            part = {key: value for key, value in part.items() if value is not None}
        return part

    def _adapt_media(self, part: JsonObject, path: Path) -> JsonObject:
        """Give a media part the type that the template accepts."""
        kind = str(media_kind(part))
        if part.get("type") is None and self.accepts(f"{kind} alone"):
            return part
        for type_ in (kind, *_EQUIVALENT_TYPES.get(kind, ())):
            if self.accepts(f"{type_} part"):
                return {**part, "type": type_}
        raise self._rejected_part(part, path)

    def _rejected_part(self, part: Any, path: Path) -> MessageError:
        fault = f"is {describe_part(part)}, which this chat template does not accept for the role {self.role!r}"
        return self._error(fault, path)

    def _join_parts(self, parts: list[Any], path: Path) -> str:
        texts = []
        for number, part in enumerate(parts):
            text = part.get("text") if isinstance(part, dict) and media_kind(part) is None else part
            if not isinstance(text, str):
                fault = f"is {describe_part(part)}, and this chat template accepts text parts only"
                raise self._error(fault, (*path, number))
            texts.append(text)
        return "".join(texts)

    def _adapt_call(self, call: JsonObject, number: int) -> JsonObject:
        bare = call.get("function") is None and "name" in call
        if bare and not self.accepts("bare call") and self.accepts("call"):
            called = {key: call[key] for key in ("name", "arguments") if key in call}
            around = {key: value for key, value in call.items() if key not in (*called, "function")}
            call = {"type": "function", **around, "function": called}
        if call.get("id", "") is None and not (self.adapter.writes_none or self.accepts("silent call id")):
            call = {key: value for key, value in call.items() if key != "id"}
        function = call.get("function")
        if not isinstance(function, dict):
            return self._adapt_arguments(call, ("tool_calls", number, "arguments"))
        adapted = self._adapt_arguments(function, ("tool_calls", number, "function", "arguments"))
        return call if adapted is function else {**call, "function": adapted}

    def _adapt_arguments(self, called: JsonObject, path: Path) -> JsonObject:
        arguments, accepts = called.get("arguments"), self.accepts
        if isinstance(arguments, str) and not arguments.strip() and accepts("arguments within JSON"):
            # An empty text would break the JSON around it, so it means no arguments.
            arguments = None
        as_object = accepts("arguments")
        if isinstance(arguments, dict):
            if as_object or not accepts("arguments as text"):
                return called
            return {**called, "arguments": json.dumps(arguments, ensure_ascii=False)}
        as_text = accepts("arguments as text")
        if arguments is None:
            return {**called, "arguments": {} if as_object else "{}"} if as_object or as_text else called
        as_json = accepts("arguments as JSON")
        if not isinstance(arguments, str):
            if as_json or not (as_object or as_text):
                return called
            kind = describe_type(arguments)
            fault = f"must be a dict or a JSON object string, not {kind}: this chat template cannot write other values"
            raise self._error(fault, path)
        if not as_object or (as_text and as_json):
            return called

        def parse() -> JsonObject | None:
            parsed = _parse_object(arguments)
            return None if parsed is None else normalise_data(parsed, message=self.message_index, path=path)

        # Every prompt of a rollout has the calls of all earlier turns. Nothing changes the objects.
        parsed = _PARSED.get(arguments, parse) if len(arguments) <= _LONGEST_KEPT else parse()
        if parsed is not None:
            return {**called, "arguments": parsed}
        return called if as_text else self._adapt_broken(called, arguments, path)

    def _adapt_broken(self, called: JsonObject, arguments: str, path: Path) -> JsonObject:
        """Pass text that is not the JSON of an object to a template that needs an object. Models write such calls."""
        if self.accepts("broken arguments"):
            result, adapted = "the template writes the text in its own way", called
        else:
            values = _parse_leniently(arguments)
            result = (
                "the call is rendered without arguments" if values is None else "the last value of each key is used"
            )
            adapted = {**called, "arguments": normalise_data(values or {}, message=self.message_index, path=path)}
        fault = f"is not the JSON of an object, which this chat template needs, so {result}. Pass a dict or its JSON"
        self.adapter.report(self._error(fault, path))
        return adapted


def _parse_object(text: str) -> JsonObject | None:
    """Parse a JSON object. Return an empty one for blank text and null, and None for any other text.

    A text that a dict cannot represent, such as one with a repeated key, gives None.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_float=_finite) if text.strip() else None
    except (ValueError, RecursionError):
        return None
    return {} if value is None else value if isinstance(value, dict) else None


def _parse_leniently(text: str) -> JsonObject | None:
    """Parse a JSON object with the last value of each repeated key. None if the text is not a JSON object."""
    try:
        value = json.loads(text, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
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
