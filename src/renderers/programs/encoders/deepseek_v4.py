"""`DeepSeekV4Program`: the formats of DeepSeek V4 and V4.1, token by token those of the vendor's encoders.

    <｜begin▁of▁sentence｜>{effort}{system}\\n\\n{tools}
    <｜User｜>{content}\\n\\n<tool_result>{content}</tool_result>
    <｜Assistant｜><think>{reasoning}</think>{content}\\n\\n{calls}<｜end▁of▁sentence｜>

Consecutive messages of users and tools are one turn. Its tool results are in the order of the calls. Without
thinking, `</think>` alone follows `<｜Assistant｜>`. Reasoning before the last user's turn is left out, unless there
are tools or `drop_thinking` is False.

A message can have a `task`, which ends its turn with the token of the task instead of the usual prompt. An assistant's
message with `wo_eos` has no end token. System and developer messages can have a `response_format`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs.content_parts import content_pieces, reasoning_pieces
from renderers.programs.encoders.dsml import (
    ASSISTANT,
    BOS,
    EOS,
    THINK,
    THINK_END,
    USER,
    Dialect,
    call_pieces,
    format_pieces,
    is_thinking,
    tool_pieces,
)
from renderers.programs.encoders.piece_program import EncoderInput, PieceProgram, unknown_role
from renderers.programs.pieces import Piece

_REMINDER = "<｜latest_reminder｜>"
_SYSTEM = "<｜System｜>"
_TASKS = {name: f"<｜{name}｜>" for name in ("action", "query", "authority", "domain", "title", "read_url")}
_QUERIES = ("user", "developer")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "latest_reminder"})
_EFFORTS: Mapping[Any, str] = {
    "low": "",
    "high": (
        "Reasoning Effort: Absolute maximum with no shortcuts permitted.\n"
        "You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root "
        "cause, rigorously stress-testing your logic against all potential paths, edge cases, and adversarial "
        "scenarios.\n"
        "Explicitly write out your entire deliberation process, documenting every intermediate step, considered "
        "alternative, and rejected hypothesis to ensure absolutely no assumption is left unchecked.\n\n"
    ),
    "max": (
        "Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.\n"
        "You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose "
        "the problem into its most fundamental components, trace every causal chain to its root, and resolve the "
        "underlying cause rather than any surface symptom.\n"
        "Do not stop reasoning until you have independently verified the solution from multiple angles and are certain "
        "that no assumption remains unchecked and no error remains undiscovered.\n\n"
    ),
}
_BUDGETS = {"low": 50, "high": 75, "xhigh": 75, "max": 100}
_EFFORTS_V41: Mapping[Any, str] = {
    effort: f"Reasoning Effort: {budget} (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
    for effort, budget in [*_BUDGETS.items(), *((budget, budget) for budget in range(1, 101))]
}
_PRESENTATION = """## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a \
"<｜DSML｜[section]>" block like the following:

<｜DSML｜[section]>
<｜DSML｜[space]invoke name="$TOOL_NAME">
<｜DSML｜[space]parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜[space]parameter>
...
</｜DSML｜[space]invoke>
<｜DSML｜[space]invoke name="$TOOL_NAME2">
...
</｜DSML｜[space]invoke>
</｜DSML｜[section]>

String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, \
objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside <think>...</think> \
BEFORE any tool calls or final response.

Otherwise, output directly after </think> with tool calls or final response.

### Available Tool Schemas

{schemas}

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""


def _dialect(section: str, space: str) -> Dialect:
    return Dialect(section, _PRESENTATION.replace("[section]", section).replace("[space]", space), space)


_V4, _V41 = _dialect("tool_calls", ""), _dialect(" calls", " ")


class _Options(NamedTuple):
    """The arguments of a render."""

    thinking: bool
    drops_thinking: bool
    effort: str
    """The text about the reasoning effort."""


@dataclass(frozen=True)
class DeepSeekV4Program(PieceProgram):
    """The format of DeepSeek V4, or of V4.1."""

    special_tokens = (BOS, EOS, USER, ASSISTANT)
    roles = _ROLES
    fields = frozenset(
        "role content reasoning_content tool_calls function name arguments id tool_call_id task wo_eos response_format "
        "type text thinking".split()
    )
    options = frozenset({"enable_thinking", "thinking", "drop_thinking", "reasoning_effort"})
    exact_fields = frozenset({"task", "wo_eos"})
    tested = frozenset(_TASKS)
    has_system_token: bool = False
    """True for V4.1: a token before system messages, which count as queries after the first message; other tags."""

    @property
    def dialect(self) -> Dialect:
        """The markup of tools and calls."""
        return _V41 if self.has_system_token else _V4

    @property
    def name(self) -> str:
        """The name of the format."""
        return "DeepSeek V4.1" if self.has_system_token else "DeepSeek V4"

    @property
    def version(self) -> str:
        return "deepseek-v4.1 1" if self.has_system_token else "deepseek-v4 1"

    @property
    def markers(self) -> tuple[str, ...]:
        return (*self.dialect.markers, THINK, THINK_END)

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        options = self._read_options(encoder_input.arguments, drops_thinking=not encoder_input.tools)
        turns = _merge_turns(encoder_input.messages, self.name)
        if options.thinking and options.drops_thinking:
            last = self._last_query(turns)
            turns = [turn for number, turn in enumerate(turns) if turn.role != "developer" or number >= last]
        conversation = _Conversation(
            self, turns, encoder_input.messages, encoder_input.tools, options, self._last_query(turns)
        )
        return conversation.write(adds_prompt=encoder_input.adds_prompt)

    def _read_options(self, arguments: Mapping[str, Any], *, drops_thinking: bool) -> _Options:
        effort, efforts = arguments.get("reasoning_effort"), _EFFORTS_V41 if self.has_system_token else _EFFORTS
        if effort is None:
            effort = "high" if self.has_system_token else "low"
        if not isinstance(effort, str | int) or isinstance(effort, bool) or effort not in efforts:
            names = ", ".join(repr(name) for name in efforts if isinstance(name, str))
            numbers = " or a number from 1 to 100" if self.has_system_token else ""
            raise TemplateRefusalError(
                f"reasoning_effort must be one of {names}{numbers}, not {effort!r}", format_name=self.name
            )
        drops = drops_thinking and arguments.get("drop_thinking") is not False
        return _Options(is_thinking(arguments), drops, efforts[effort])

    def is_query(self, role: str, number: int) -> bool:
        """Return True if a turn is a query: reasoning after the last one is kept."""
        return role in _QUERIES or (self.has_system_token and role == "system" and number > 0)

    def _last_query(self, turns: Sequence[_Turn]) -> int:
        return max((number for number, turn in enumerate(turns) if self.is_query(turn.role, number)), default=-1)


class _Turn(NamedTuple):
    """Consecutive messages that are written as one."""

    role: str
    indices: list[int]
    """The indices of its messages, in the order in which they are written."""
    task: str | None


def _merge_turns(messages: Sequence[JsonObject], name: str) -> list[_Turn]:
    """Return the turns. Messages of users and tools are joined, and tool results are in the order of the calls."""
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role, task = message["role"], message.get("task")
        if role not in _ROLES:
            raise unknown_role(role, index=index, roles=_ROLES, name=name)
        if task is not None and (not isinstance(task, str) or task not in _TASKS):
            names = ", ".join(_TASKS)
            raise MessageError(f"must be one of {names}, not {task!r}", message=index, path=("task",))
        joins = turns and turns[-1].role == "user" and (role == "tool" or (role == "user" and turns[-1].task is None))
        if joins:
            turns[-1].indices.append(index)
        else:
            turns.append(_Turn("user" if role == "tool" else role, [index], None if role == "tool" else task))
    order: dict[str, int] = {}
    for turn in turns:
        calls = messages[turn.indices[0]].get("tool_calls") if turn.role == "assistant" else None
        if calls:
            order = {_call_id(call): number for number, call in enumerate(calls) if _call_id(call)}
        elif turn.role == "user" and order:
            _sort_results(turn.indices, messages, order)
    return turns


def _call_id(call: JsonObject) -> str:
    return str(call.get("id") or (call.get("function") or {}).get("id") or "")


def _sort_results(indices: list[int], messages: Sequence[JsonObject], order: Mapping[str, int]) -> None:
    """Sort the tool results among the messages of a turn. Other messages keep their places."""
    places = [place for place, index in enumerate(indices) if messages[index]["role"] == "tool"]
    results = sorted(
        (indices[place] for place in places), key=lambda index: order.get(messages[index].get("tool_call_id") or "", 0)
    )
    for place, index in zip(places, results, strict=True):
        indices[place] = index


class _Conversation(NamedTuple):
    """The input of a run."""

    program: DeepSeekV4Program
    turns: Sequence[_Turn]
    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    options: _Options
    last_query: int

    def write(self, *, adds_prompt: bool) -> Iterator[Piece]:
        """Yield the text of all turns.

        Raises:
            MessageError: A message cannot be written.
        """
        program, options = self.program, self.options
        effort = options.effort if options.thinking else ""
        yield Piece(BOS)
        target = self._find_tool_target()
        leads = self.turns[0].role == "system"
        if program.has_system_token and (effort or target < 0 or leads):
            yield Piece(_SYSTEM, self.turns[0].indices[0] if leads and not effort else -1)
        yield Piece(effort)
        if target < 0:
            yield Piece("\n\n")
            yield from tool_pieces(self.tools, program.dialect, -1)
            if self.turns[0].role == "assistant" and not program.has_system_token:
                # The tools are a system message of their own, and a turn after a system message is opened.
                yield Piece(self._open_turn(thinking=True), self.turns[0].indices[0])
        for number, turn in enumerate(self.turns):
            yield from self._write_turn(number, turn, presents_tools=number == target)
            is_last = number + 1 == len(self.turns)
            if is_last and (adds_prompt or turn.task is not None):
                yield from self._write_transition(number, -1)
            elif not is_last and self.turns[number + 1].role in ("assistant", "latest_reminder"):
                following = (later.indices[0] for later in self.turns[number + 1 :] if later.role == "assistant")
                yield from self._write_transition(number, next(following, -1))

    def _find_tool_target(self) -> int:
        """Return the turn after which tools are presented: -1 for the beginning; without tools, one after all turns."""
        if not self.tools:
            return len(self.turns)
        roles = [turn.role for turn in self.turns]
        return next((roles.index(role) for role in ("developer", "system") if role in roles), -1)

    def _write_turn(self, number: int, turn: _Turn, *, presents_tools: bool) -> Iterator[Piece]:
        index = turn.indices[0]
        message = self.messages[index]
        match turn.role:
            case "user":
                yield Piece(USER, index)
                yield from self._write_blocks(turn.indices)
            case "assistant":
                yield from self._write_assistant(number, index)
            case "latest_reminder":
                yield Piece(_REMINDER, index)
                yield from _text_pieces(message, index)
            case role:
                content = list(_text_pieces(message, index))
                if role == "developer" and not any(piece.text for piece in content):
                    raise MessageError("must not be empty in a developer message", message=index, path=("content",))
                if role == "developer":
                    yield Piece(USER, index)
                elif self.program.has_system_token and number:
                    yield Piece(_SYSTEM, index)
                yield from content
                if presents_tools:
                    yield Piece("\n\n", index)
                    yield from tool_pieces(self.tools, self.program.dialect, index)
                yield from format_pieces(message, index)

    def _write_blocks(self, indices: Sequence[int]) -> Iterator[Piece]:
        for number, index in enumerate(indices):
            message = self.messages[index]
            if number:
                yield Piece("\n\n", index)
            if message["role"] == "tool":
                yield Piece("<tool_result>", index)
                yield from _text_pieces(message, index)
                yield Piece("</tool_result>", index)
            else:
                yield from _text_pieces(message, index)

    def _write_assistant(self, number: int, index: int) -> Iterator[Piece]:
        message, options = self.messages[index], self.options
        after_task = number > 0 and self.turns[number - 1].task is not None
        keeps = not options.drops_thinking or number > self.last_query
        if options.thinking and keeps and not after_task:
            yield from reasoning_pieces(message, index)
            yield Piece(THINK_END, index)
        yield from _text_pieces(message, index)
        yield from call_pieces(message, index, self.program.dialect)
        if not message.get("wo_eos"):
            yield Piece(EOS, index)

    def _write_transition(self, number: int, owner: int) -> Iterator[Piece]:
        """Yield the text between a turn and the assistant's."""
        turn, options = self.turns[number], self.options
        if turn.task is not None:
            if turn.task == "action":
                yield Piece(self._open_turn(thinking=True), owner)
            yield Piece(_TASKS[turn.task], owner)
            return
        following = self.turns[number + 1].role if number + 1 < len(self.turns) else "assistant"
        opens = self.program.is_query(turn.role, number)
        if turn.role == "system" and not self.program.has_system_token:
            opens = following == "assistant"
        if opens:
            keeps = not options.drops_thinking or number >= self.last_query
            yield Piece(self._open_turn(thinking=keeps), owner)

    def _open_turn(self, *, thinking: bool) -> str:
        return ASSISTANT + (THINK if thinking and self.options.thinking else THINK_END)


def _text_pieces(message: JsonObject, index: int) -> Iterator[Piece]:
    """Yield the content of a message. Parts are joined by blank lines."""
    for number, piece in enumerate(content_pieces(message, index)):
        yield Piece("\n\n" if number else "", index)
        yield piece
