"""`InklingProgram`: the format of Inkling, which has no chat template.

    <|message_system|>tool_declare<|content_xml|>{tools as compact JSON with sorted keys}<|end_message|>
    <|message_system|><|content_text|>{content}<|end_message|>
    <|message_system|><|content_text|>Thinking effort level: 0.9<|end_message|>
    <|message_user|><|content_text|>{content}<|end_message|>
    <|message_model|><|content_thinking|>{reasoning}<|end_message|>
    <|message_model|><|content_text|>{content}<|end_message|>
    <|message_model|>{name}<|content_invoke_tool_json|>{"name":{name},"args":{arguments}}<|end_message|>
    <|content_model_end_sampling|>
    <|message_tool|>{name}<|content_text|>{content}<|end_message|>

(Line breaks are for readability only.) Each content part is a segment. The effort comes before the first message that
is not a system message.

This is the format of vLLM's encoder, which serves the model. The vendor's renderer, `tml-renderers`, writes the same
with four exceptions: the effort 0 is `0` and not `0.0`, nested keys of arguments are not sorted, the name of a result
is not looked up by the id of its call, and a prompt ends before `<|message_model|>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.messages import media_kind
from renderers.core.spans import Path
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs.content_parts import content_pieces, is_part, is_thinking, reasoning_pieces
from renderers.programs.encoders.piece_program import EncoderInput, PieceProgram, unknown_role
from renderers.programs.pieces import Piece, called_function

EFFORT = "reasoning_effort"
EFFORTS = {"none": 0.0, "minimal": 0.1, "low": 0.2, "medium": 0.7, "high": 0.9, "xhigh": 0.99, "max": 0.99}
_DEFAULT_EFFORT, _LARGEST_EFFORT = 0.9, 0.99
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "model"} | dict.fromkeys(
    RESULT_ROLES, "tool"
)
_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "<|content_image|>"),
    **dict.fromkeys(("audio", "audio_url", "input_audio"), "<|content_audio_input|><|audio_end|>"),
}
_KINDS = "text", "thinking", "xml", "invoke_tool_json", "image", "audio_input", "model_end_sampling"


class InklingProgram(PieceProgram):
    """The format of Inkling."""

    version = "inkling 1"
    markers = (
        *(f"<|message_{role}|>" for role in dict.fromkeys(_ROLES.values())),
        *(f"<|content_{kind}|>" for kind in _KINDS),
        *("<|end_message|>", "<|audio_end|>"),
    )
    special_tokens = markers
    roles = frozenset(_ROLES)
    fields = frozenset(
        "role content reasoning_content tool_calls function arguments name id tool_call_id tools".split()
    ) | {*_MEDIA}
    options = frozenset({EFFORT})

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        yield from _Conversation(
            encoder_input.messages, encoder_input.tools, _effort_text(encoder_input.arguments.get(EFFORT))
        ).write()
        if encoder_input.adds_prompt:
            yield Piece("<|message_model|>")

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:  # noqa: ARG002 - a part of the protocol
        # The effort changes only a number in a system message.
        return ()


def _effort_text(effort: Any) -> str:
    """Return the text of an effort: a number from 0 to 0.99, or a word.

    >>> _effort_text("medium"), _effort_text(0), _effort_text(None)
    ('0.7', '0.0', '0.9')
    """
    number: Any = EFFORTS.get(effort) if isinstance(effort, str) else _DEFAULT_EFFORT if effort is None else effort
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not 0 <= number <= _LARGEST_EFFORT:
        values = f"a number from 0 to {_LARGEST_EFFORT}, or one of {', '.join(EFFORTS)}"
        raise TemplateRefusalError(f"{EFFORT} is {effort!r}. Use {values}.", format_name="Inkling")
    text = f"{float(number):.2f}".rstrip("0").rstrip(".")
    return "0.0" if text in ("0", "-0") else text


class _Conversation(NamedTuple):
    """The input of a run."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    effort: str

    def write(self) -> Iterator[Piece]:
        """Yield the text of all messages.

        Raises:
            MessageError, TemplateRefusalError: A message cannot be written.
        """
        developers = (message for message in self.messages if message["role"] == "developer")
        tools = [*self.tools, *(tool for message in developers for tool in message.get("tools") or ())]
        if tools:
            yield from _write_segment(-1, "system", "xml", [Piece(_tool_json(tools), -1, ("tools",))], "tool_declare")
        names: dict[str, str] = {}
        effort = [*_write_segment(-1, "system", "text", [Piece(f"Thinking effort level: {self.effort}")])]
        for index, message in enumerate(self.messages):
            role = _ROLES.get(message["role"])
            if role is None:
                raise unknown_role(message["role"], index=index, roles=_ROLES, name="Inkling")
            if role != "system":
                yield from effort
                effort = []
            if role == "tool":
                yield from _write_result(index, message, names)
            elif role == "model":
                yield from _write_turn(index, message, names)
            else:
                yield from _write_content(index, message, role)
        yield from effort


def _write_turn(index: int, message: JsonObject, names: dict[str, str]) -> Iterator[Piece]:
    """Yield the segments of an assistant's turn. Add the names of its calls to `names`, by their ids."""
    reasoning = reasoning_pieces(message, index)
    if any(piece.text for piece in reasoning):
        yield from _write_segment(index, "model", "thinking", reasoning)
    yield from _write_content(index, message, "model")
    for number, call in enumerate(message.get("tool_calls") or ()):
        called, path = called_function(call, number)
        name = called["name"]
        if call.get("id"):
            names[call["id"]] = name
        body = [
            Piece('{"name":', index),
            Piece(json.dumps(name, ensure_ascii=False), index, (*path, "name")),
            Piece(',"args":', index),
            Piece(_arguments_json(called.get("arguments"), index, (*path, "arguments")), index, (*path, "arguments")),
            Piece("}", index),
        ]
        yield from _write_segment(index, "model", "invoke_tool_json", body, name, (*path, "name"))
    yield Piece("<|content_model_end_sampling|>", index)


def _write_result(index: int, message: JsonObject, names: Mapping[str, str]) -> Iterator[Piece]:
    name = message.get("name") or names.get(message.get("tool_call_id") or "", "")
    yield from _write_segment(index, "tool", "text", content_pieces(message, index), name, ("name",))


def _write_content(index: int, message: JsonObject, role: str) -> Iterator[Piece]:
    """Yield a segment for each part of a content. An empty text has none."""
    content = message.get("content")
    if not isinstance(content, list) or not any(map(is_part, content)):
        pieces = content_pieces(message, index)
        if any(piece.text for piece in pieces):
            yield from _write_segment(index, role, "text", pieces)
        return
    for number, part in enumerate(content):
        if is_thinking(part):
            continue
        marker = _MEDIA.get(str(media_kind(part)))
        if marker is not None:
            # The marker is text of the format. The empty piece has the path of the part.
            yield Piece(f"<|message_{role}|>{marker}", index)
            yield Piece("", index, ("content", number))
            yield Piece("<|end_message|>", index)
            continue
        # The paths of the pieces have the number of the part.
        (piece,) = content_pieces({**message, "content": [part]}, index)
        yield from _write_segment(index, role, "text", [piece._replace(path=("content", number, *piece.path[2:]))])


def _write_segment(
    index: int, role: str, kind: str, body: Sequence[Piece], author: str = "", path: Path = ()
) -> Iterator[Piece]:
    """Yield a segment. `path` is the path of its author's name; empty for text of the format."""
    yield Piece(f"<|message_{role}|>", index)
    if author:
        yield Piece(author, index, path)
    yield Piece(f"<|content_{kind}|>", index)
    yield from body
    yield Piece("<|end_message|>", index)


def _arguments_json(arguments: Any, index: int, path: Path) -> str:
    """Return the arguments of a call as JSON with sorted keys.

    Raises:
        MessageError: The arguments are not a JSON object.
    """
    try:
        value = json.loads(arguments) if isinstance(arguments, str) and arguments.strip() else arguments or {}
        if isinstance(value, dict):
            return _compact_json(value)
    except (ValueError, RecursionError):
        pass
    raise MessageError("must be a dict or the text of a JSON object", message=index, path=path)


def _tool_json(tools: Sequence[JsonObject]) -> str:
    specs = []
    for tool in tools:
        function = tool.get("function")
        spec = function if isinstance(function, dict) else tool
        specs.append(
            {
                "description": spec.get("description") or "",
                "name": spec.get("name", ""),
                "parameters": spec.get("parameters") or {},
                "type": tool.get("type", "function"),
            }
        )
    return _compact_json(specs)


def _compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
