"""Types of messages, their content parts, tool calls and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict


class TextPart(TypedDict):
    """A text part of a message's content."""

    type: Literal["text", "input_text", "output_text"]
    text: str


class ThinkingPart(TypedDict):
    """A reasoning part of a message's content."""

    type: Literal["thinking"]
    thinking: str


class ImagePart(TypedDict, total=False):
    """An image part of a message's content, in any of the common forms."""

    type: Literal["image", "image_url", "input_image"]
    image: Any
    image_url: Any
    url: str
    path: str


class VideoPart(TypedDict, total=False):
    """A video part of a message's content, in any of the common forms."""

    type: Literal["video", "video_url"]
    video: Any
    video_url: Any
    url: str
    path: str


class AudioPart(TypedDict, total=False):
    """An audio part of a message's content, in any of the common forms."""

    type: Literal["audio", "audio_url", "input_audio"]
    audio: Any
    audio_url: Any
    input_audio: Any
    url: str
    path: str


ContentPart = TextPart | ThinkingPart | ImagePart | VideoPart | AudioPart
Content = str | Sequence[ContentPart] | None


class ToolCallFunction(TypedDict):
    """The function of a tool call: its name, and its arguments as an object or as JSON text."""

    name: str
    arguments: dict[str, Any] | str


class ToolCall(TypedDict, total=False):
    """A tool call of an assistant message."""

    function: ToolCallFunction
    id: str
    type: Literal["function"]


# Parts and calls require no key, as in release 0.1. Annotations are strings in this module, so `NotRequired` has no
# effect at run time: required keys have classes of their own.
class _Role(TypedDict):
    role: str


class _Name(TypedDict):
    name: str


class Message(_Role, total=False):
    """A message. Other keys are passed to the template too."""

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


class _Function(TypedDict):
    function: ToolSpec


class Tool(_Function, total=False):
    """A tool in the form of OpenAI."""

    type: Literal["function"]


MEDIA_KINDS = ("image", "image_url", "input_image", "video", "video_url", "audio", "audio_url", "input_audio")
"""Types of content parts that are not text. A part holds its medium under the key of the same name."""
