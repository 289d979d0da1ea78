"""`HarmonyProgram`: the Harmony format of gpt-oss, token by token that of OpenAI's encoder.

    <|start|>system<|message|>{identity, cutoff, date, effort, built-in tools, channels}<|end|>
    <|start|>developer<|message|># Instructions\n\n{first system message}\n\n# Tools\n\n{functions}<|end|>
    <|start|>user<|message|>{content}<|end|>
    <|start|>assistant<|channel|>analysis<|message|>{reasoning}<|end|>
    <|start|>assistant<|channel|>commentary<|message|>{content beside calls}<|end|>
    <|start|>assistant to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>{arguments}<|call|>
    <|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{result}<|end|>
    <|start|>assistant<|channel|>final<|message|>{content}<|end|>

The encoder gets messages in channels. A `Conversion` decides which these are, and this module writes them as the
encoder does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.probe_words import PROBE_ARGUMENT
from renderers.errors import MessageError, TemplateRefusalError
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How messages of the caller become messages of Harmony. The defaults are those of OpenAI's documentation."""

    prompt: str = "<|start|>assistant"
    """The generation prompt."""
    beside_calls: str = "commentary"
    """The channel of content beside calls."""
    function_type: str = " <|constrain|>json"
    """The type of the arguments of functions, in the header of a call."""
    no_parameters: str = ""
    """The parameters of a function that has none."""
    moves_system: bool = False
    """True if the first system message comes before all others, and empty instructions are written."""
    keeps_final_analysis: bool = True
    """True if a turn without calls keeps its analysis in a render that ends with it. If not, analysis is dropped beside
    and before content without calls. A turn of analysis alone has no final message."""
    has_builtin_tools: bool = True
    """True if calls of `python` and `browser` are those of the built-in tools."""
    unnamed_tool: str | None = None
    """The tool of results without a name. None: that of their call."""


_DOCUMENTED = Conversion()
_RELEASE = Conversion(
    prompt="<|start|>assistant<|channel|>analysis<|message|>",
    beside_calls="final",
    function_type="",
    no_parameters="_: any",
    moves_system=True,
    keeps_final_analysis=False,
    has_builtin_tools=False,
    unnamed_tool="unknown",
)
"""The conversion of release 0.1 of this package, for models that were trained with it."""


@dataclass(frozen=True)
class HarmonyProgram(PieceProgram):
    """The Harmony format."""

    markers = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>")
    special_tokens = markers
    roles = _ROLES
    fields = frozenset("role content reasoning_content tool_calls function arguments name tool_call_id".split())
    options = OPTION_NAMES
    tested = frozenset({_FUNCTIONS, *BUILTIN_TOOLS, *(f"{name}." for name in BUILTIN_TOOLS)})
    reads_time = True
    of_release: bool = False
    """True for the conversion of release 0.1."""

    @property
    def version(self) -> str:
        return "harmony-0.1 1" if self.of_release else "harmony 1"

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        options = HarmonyOptions.read(encoder_input.arguments, encoder_input.now)
        conversion = _RELEASE if self.of_release else _DOCUMENTED
        if options.builtin_tools and not conversion.has_builtin_tools:
            raise TemplateRefusalError("release 0.1 has no builtin_tools. Use program='harmony'", format_name="Harmony")
        messages, tools, adds_prompt = encoder_input.messages, encoder_input.tools, encoder_input.adds_prompt
        return _Conversation(messages, tools, options, adds_prompt, conversion).write()

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
    conversion: Conversion

    def write(self) -> Iterator[Piece]:
        """Yield the text of all messages.

        Raises:
            MessageError, TemplateRefusalError: A message cannot be written.
        """
        if self.options.use_system_prompt:
            system = system_pieces(self.options, has_functions=bool(self.tools))
            yield from _write_message(-1, "system", system)
        leader = self._leader()
        yield from self._write_developer(leader, self.tools, is_leader=True)
        tool_names = _tool_names(self.messages)
        analysis_start = self._analysis_start()
        for index, message in enumerate(self.messages):
            role = message["role"]
            if index == leader:
                continue
            if role in _PROMPT_ROLES:
                yield from self._write_developer(index, ())
            elif role == "user":
                yield from _write_message(index, "user", content_pieces(message, index))
            elif role == "assistant":
                yield from self._write_turn(index, keeps_analysis=self._keeps_analysis(index, analysis_start))
            elif role in RESULT_ROLES:
                yield from self._write_result(index, tool_names[index])
            else:
                raise unknown_role(role, index=index, roles=_ROLES, name="Harmony")
        if self.adds_prompt:
            yield Piece(self.conversion.prompt)

    def _leader(self) -> int:
        """Return the index of the message with the first instructions, which the tools follow. -1 if there is none."""
        if self.conversion.moves_system:
            systems = (index for index, message in enumerate(self.messages) if message["role"] == "system")
            return next(systems, -1)
        return 0 if self.messages[0]["role"] in _PROMPT_ROLES else -1

    def _analysis_start(self) -> int:
        """Return the index of the first message with analysis that is written.

        Analysis is dropped once the turn has a final message. A render that ends with a turn is for training, so the
        messages before it are as they were when the turn was sampled.
        """
        if not self.options.auto_drop_analysis:
            return 0
        end = len(self.messages)
        if self.conversion.keeps_final_analysis:
            end -= self.messages[-1]["role"] == "assistant" and not self.adds_prompt
        finals = (index for index in range(end) if self._is_final(index))
        return max(finals, default=-1) + 1

    def _keeps_analysis(self, index: int, start: int) -> bool:
        """Return True if the analysis of a turn is written. `start` is the first message of which it can be."""
        drops_final = self.options.auto_drop_analysis and not self.conversion.keeps_final_analysis
        return index >= start and not (drops_final and not self.messages[index].get("tool_calls"))

    def _is_final(self, index: int) -> bool:
        """Return True if a message is a turn that drops the analysis before it."""
        message = self.messages[index]
        if message["role"] != "assistant" or message.get("tool_calls"):
            return False
        return self.conversion.keeps_final_analysis or _has_text(content_pieces(message, index))

    def _write_developer(self, index: int, tools: Sequence[JsonObject], *, is_leader: bool = False) -> Iterator[Piece]:
        """Yield a developer message: instructions of the caller's message `index`, -1 for none, and tools."""
        instructions = content_pieces(self.messages[index], index) if index >= 0 else []
        writes_empty = self.conversion.moves_system and index >= 0
        has_head = _has_text(instructions) or (writes_empty and not is_leader)
        body = [Piece("# Instructions\n\n", index), *instructions] if has_head else []
        if tools:
            body += [*([Piece("\n\n", index)] if body else ()), *tool_pieces(tools, self.conversion.no_parameters)]
        if body or writes_empty:
            yield from _write_message(index, "developer", body)

    def _write_turn(self, index: int, *, keeps_analysis: bool) -> Iterator[Piece]:
        """Yield the messages of an assistant's turn."""
        message = self.messages[index]
        reasoning, content = reasoning_pieces(message, index), content_pieces(message, index)
        calls = message.get("tool_calls") or ()
        has_analysis, has_text = keeps_analysis and _has_text(reasoning), _has_text(content)
        has_final = not calls and (has_text or not has_analysis or self.conversion.keeps_final_analysis)
        is_last = index == len(self.messages) - 1 and not (self.adds_prompt or calls)
        end = "<|return|>" if is_last else "<|end|>"
        if has_analysis:
            yield from _write_message(
                index, "assistant<|channel|>analysis", reasoning, end="<|end|>" if has_final else end
            )
        if has_final:
            yield from _write_message(index, "assistant<|channel|>final", content, end=end)
        elif has_text:
            yield from _write_message(index, f"assistant<|channel|>{self.conversion.beside_calls}", content)
        for number, call in enumerate(calls):
            yield from self._write_call(index, number, call)

    def _write_call(self, index: int, number: int, call: JsonObject) -> Iterator[Piece]:
        called, path = called_function(call, number)
        prefix, name, channel = self._address(called["name"])
        content_type = self.conversion.function_type if prefix else " code"
        arguments = called.get("arguments")
        body = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        yield Piece(f"<|start|>assistant to={prefix}", index)
        yield Piece(name, index, (*path, "name"))
        yield Piece(f"<|channel|>{channel}{content_type}<|message|>", index)
        yield Piece(body, index, (*path, "arguments"))
        yield Piece("<|call|>", index)

    def _write_result(self, index: int, tool_name: str | None) -> Iterator[Piece]:
        if self.conversion.unnamed_tool is not None:
            tool_name = self.messages[index].get("name") or self.conversion.unnamed_tool
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
        can_be_builtin = self.conversion.has_builtin_tools and name.partition(".")[0] in BUILTIN_TOOLS
        is_builtin = can_be_builtin and all(name != tool["name"] for tool in functions)
        return ("", name, "analysis") if is_builtin else (_FUNCTIONS, name.removeprefix(_FUNCTIONS), "commentary")


def _write_message(index: int, header: str, body: Sequence[Piece], *, end: str = "<|end|>") -> Iterator[Piece]:
    yield Piece(f"<|start|>{header}<|message|>", index)
    yield from body
    yield Piece(end, index)


def _has_text(pieces: Sequence[Piece]) -> bool:
    return any(piece.text for piece in pieces)


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
