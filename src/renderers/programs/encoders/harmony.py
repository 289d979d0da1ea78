"""`HarmonyProgram`: the Harmony format of gpt-oss, token by token that of OpenAI's encoder.

    <|start|>system<|message|>{identity, cutoff, date, effort, built-in tools, channels}<|end|>
    <|start|>developer<|message|># Instructions\n\n{first system message}\n\n# Tools\n\n{functions}<|end|>
    <|start|>user<|message|>{content}<|end|>
    <|start|>assistant<|channel|>analysis<|message|>{reasoning}<|end|>
    <|start|>assistant<|channel|>commentary<|message|>{content beside calls}<|end|>
    <|start|>assistant to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>{arguments}<|call|>
    <|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{result}<|end|>
    <|start|>assistant<|channel|>final<|message|>{content}<|end|>

The encoder gets messages in channels. This module decides which these are, and writes them as the encoder does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.probe_words import PROBE_ARGUMENT
from renderers.errors import MessageError
from renderers.programs.content_parts import content_pieces, reasoning_pieces
from renderers.programs.encoders.harmony_prompt import (
    BUILTIN_TOOLS,
    OPTION_NAMES,
    HarmonyOptions,
    system_pieces,
    tool_pieces,
)
from renderers.programs.encoders.piece_program import EncoderInput, PieceProgram, unknown_role
from renderers.programs.pieces import Piece, called_function

_ROLES = frozenset({"system", "developer", "user", "assistant", *RESULT_ROLES})
_PROMPT_ROLES = ("system", "developer")
_FREE_TEXTS = frozenset({"model_identity", "knowledge_cutoff", "conversation_start_date", "reasoning_effort"})
"""The arguments that are only written into the system message."""
_FUNCTIONS = "functions."


class HarmonyProgram(PieceProgram):
    """The Harmony format."""

    version = "harmony 1"
    markers = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>")
    special_tokens = markers
    roles = _ROLES
    fields = frozenset("role content reasoning_content tool_calls function arguments name tool_call_id".split())
    options = OPTION_NAMES
    tested = frozenset({_FUNCTIONS, *BUILTIN_TOOLS, *(f"{name}." for name in BUILTIN_TOOLS)})
    reads_time = True

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        options = HarmonyOptions.read(encoder_input.arguments, encoder_input.now)
        return _Conversation(encoder_input.messages, encoder_input.tools, options, encoder_input.adds_prompt).write()

    def probe_arguments(self, arguments: Mapping[str, Any]) -> Arguments:
        # The list of built-in tools changes only the system message.
        names = arguments.keys() & (OPTION_NAMES - {"builtin_tools"})
        return tuple(
            (name, PROBE_ARGUMENT if name in _FREE_TEXTS else arguments[name] is not False) for name in sorted(names)
        )


class _Conversation(NamedTuple):
    """The input of a run."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    options: HarmonyOptions
    adds_prompt: bool

    def write(self) -> Iterator[Piece]:
        """Yield the text of all messages.

        Raises:
            MessageError, TemplateRefusalError: A message cannot be written.
        """
        if self.options.use_system_prompt:
            system = system_pieces(self.options, has_functions=bool(self.tools))
            yield from _write_message(-1, "system", system)
        leads = self.messages[0]["role"] in _PROMPT_ROLES
        yield from self._write_developer(0 if leads else -1, self.tools)
        tool_names = _tool_names(self.messages)
        analysis_start = self._analysis_start()
        for index in range(leads, len(self.messages)):
            role = self.messages[index]["role"]
            if role in _PROMPT_ROLES:
                yield from self._write_developer(index, ())
            elif role == "user":
                yield from _write_message(index, "user", content_pieces(self.messages[index], index))
            elif role == "assistant":
                yield from self._write_turn(index, keeps_analysis=index >= analysis_start)
            elif role in RESULT_ROLES:
                yield from self._write_result(index, tool_names[index])
            else:
                raise unknown_role(role, index=index, roles=_ROLES, name="Harmony")
        if self.adds_prompt:
            yield Piece("<|start|>assistant")

    def _analysis_start(self) -> int:
        """Return the index of the first message with analysis that is written.

        Analysis is dropped once the turn has a final message. A render that ends with a turn is for training, so the
        messages before it are as they were when the turn was sampled.
        """
        if not self.options.auto_drop_analysis:
            return 0
        end = len(self.messages)
        end -= self.messages[-1]["role"] == "assistant" and not self.adds_prompt
        finals = (index for index in range(end) if _is_final(self.messages[index]))
        return max(finals, default=-1) + 1

    def _write_developer(self, index: int, tools: Sequence[JsonObject]) -> Iterator[Piece]:
        """Yield a developer message: instructions of the caller's message `index`, -1 for none, and tools."""
        instructions = content_pieces(self.messages[index], index) if index >= 0 else []
        has_text = any(piece.text for piece in instructions)
        body = [Piece("# Instructions\n\n", index), *instructions] if has_text else []
        if tools:
            body += [*([Piece("\n\n", index)] if body else ()), *tool_pieces(tools)]
        if body:
            yield from _write_message(index, "developer", body)

    def _write_turn(self, index: int, *, keeps_analysis: bool) -> Iterator[Piece]:
        """Yield the messages of an assistant's turn."""
        message = self.messages[index]
        reasoning, content = reasoning_pieces(message, index), content_pieces(message, index)
        calls = message.get("tool_calls") or ()
        if keeps_analysis and any(piece.text for piece in reasoning):
            yield from _write_message(index, "assistant<|channel|>analysis", reasoning)
        if not calls:
            is_last = index == len(self.messages) - 1 and not self.adds_prompt
            yield from _write_message(
                index, "assistant<|channel|>final", content, end="<|return|>" if is_last else "<|end|>"
            )
        elif any(piece.text for piece in content):
            yield from _write_message(index, "assistant<|channel|>commentary", content)
        for number, call in enumerate(calls):
            yield from self._write_call(index, number, call)

    def _write_call(self, index: int, number: int, call: JsonObject) -> Iterator[Piece]:
        called, path = called_function(call, number)
        prefix, name, channel = self._address(called["name"])
        content_type = "<|constrain|>json" if prefix else "code"
        arguments = called.get("arguments")
        body = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        yield Piece(f"<|start|>assistant to={prefix}", index)
        yield Piece(name, index, (*path, "name"))
        yield Piece(f"<|channel|>{channel} {content_type}<|message|>", index)
        yield Piece(body, index, (*path, "arguments"))
        yield Piece("<|call|>", index)

    def _write_result(self, index: int, tool_name: str | None) -> Iterator[Piece]:
        if tool_name is None:
            fault = "is a tool result without a matching call. Set its name, or the tool_call_id of an earlier call"
            raise MessageError(fault, message=index)
        prefix, name, channel = self._address(tool_name)
        yield Piece(f"<|start|>{prefix}", index)
        yield Piece(name, index, ("name",))
        yield Piece(f" to=assistant<|channel|>{channel}<|message|>", index)
        yield from content_pieces(self.messages[index], index)
        yield Piece("<|end|>", index)

    def _address(self, name: str) -> tuple[str, str, str]:
        """Return the prefix of a tool, its name, and its channel. Functions of the caller hide built-in tools."""
        functions = (tool.get("function") or tool for tool in self.tools)
        is_builtin = name.partition(".")[0] in BUILTIN_TOOLS and all(name != tool["name"] for tool in functions)
        return ("", name, "analysis") if is_builtin else (_FUNCTIONS, name.removeprefix(_FUNCTIONS), "commentary")


def _write_message(index: int, header: str, body: Sequence[Piece], *, end: str = "<|end|>") -> Iterator[Piece]:
    yield Piece(f"<|start|>{header}<|message|>", index)
    yield from body
    yield Piece(end, index)


def _is_final(message: JsonObject) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def _tool_names(messages: Sequence[JsonObject]) -> list[str | None]:
    """Return the name of the tool of each result, and None for other messages and unknown tools.

    It is the name of the message, that of the call with its id, or that of the call at the same place: the second
    result after a turn is that of its second call.
    """
    names: list[str | None] = []
    by_id: dict[Any, str] = {}
    in_turn: list[str] = []
    place = 0
    for message in messages:
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            in_turn, place = [(call.get("function") or call)["name"] for call in calls], 0
            by_id |= {call["id"]: name for call, name in zip(calls, in_turn, strict=True) if call.get("id") is not None}
        if message["role"] not in RESULT_ROLES:
            names.append(None)
            continue
        in_place = in_turn[place] if place < len(in_turn) else None
        names.append(message.get("name") or by_id.get(message.get("tool_call_id")) or in_place)
        place += 1
    return names
