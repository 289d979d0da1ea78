"""`DeepSeekV32Program`: the format of DeepSeek V3.2, token by token that of the vendor's encoder.

    <｜begin▁of▁sentence｜>{system}\\n\\n{tools}
    <｜User｜>{content}<｜Assistant｜><think>{reasoning}</think>{content}\\n\\n{calls}<｜end▁of▁sentence｜>
    \\n\\n<function_results>\\n<result>{content}</result>\\n</function_results>\\n\\n<think>

Reasoning is written after the last user message only. Without thinking, and before that message, `</think>` takes the
place of `<think>`. An assistant's message with `prefix` is its content alone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

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

_QUERIES = ("user", "developer")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_DIALECT = Dialect(
    "function_calls",
    """## Tools
You have access to a set of tools you can use to answer the user's question.
You can invoke functions by writing a "<｜DSML｜function_calls>" block like the following as part of your reply to the \
user:
<｜DSML｜function_calls>
<｜DSML｜invoke name="$FUNCTION_NAME">
<｜DSML｜parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜parameter>
...
</｜DSML｜invoke>
<｜DSML｜invoke name="$FUNCTION_NAME2">
...
</｜DSML｜invoke>
</｜DSML｜function_calls>
String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should \
use JSON format. The "string" attribute should be set to "true" for string type parameters and "false" for other types \
(numbers, booleans, arrays, objects).
If the thinking_mode is enabled, then after function results you should strongly consider outputting a thinking block. \
Here is an example:
<｜DSML｜function_calls>
...
</｜DSML｜function_calls>
<function_results>
...
</function_results>
<think>...thinking about results</think>
Here are the functions available in JSONSchema format:
<functions>
{schemas}
</functions>
""",
)


class DeepSeekV32Program(PieceProgram):
    """The format of DeepSeek V3.2."""

    version = "deepseek-v3.2 1"
    markers = (*_DIALECT.markers, THINK, THINK_END)
    special_tokens = (BOS, EOS, USER, ASSISTANT)
    roles = _ROLES
    fields = frozenset(
        "role content reasoning_content tool_calls function name arguments response_format prefix type text "
        "thinking".split()
    )
    options = frozenset({"enable_thinking", "thinking"})
    exact_fields = frozenset({"prefix"})

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        messages = encoder_input.messages
        queries = (index for index in reversed(range(len(messages))) if messages[index]["role"] in _QUERIES)
        conversation = _Conversation(
            messages, encoder_input.tools, is_thinking(encoder_input.arguments), next(queries, -1)
        )
        return conversation.write(adds_prompt=encoder_input.adds_prompt)


class _Conversation(NamedTuple):
    """The input of a run."""

    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    thinking: bool
    last_query: int

    def write(self, *, adds_prompt: bool) -> Iterator[Piece]:
        """Yield the text of all messages.

        Raises:
            MessageError: A message cannot be written.
            TemplateRefusalError: The format has no place for a message.
        """
        yield Piece(BOS)
        systems = (index for index, message in enumerate(self.messages) if message["role"] == "system")
        target = next(systems, -1) if self.tools else len(self.messages)
        if target < 0:
            yield Piece("\n\n")
            yield from tool_pieces(self.tools, _DIALECT, -1)
        for index, message in enumerate(self.messages):
            is_last = index + 1 == len(self.messages)
            owner = -1 if is_last or self.messages[index + 1]["role"] != "assistant" else index + 1
            match message["role"]:
                case "system":
                    yield from content_pieces(message, index)
                    if index == target:
                        yield Piece("\n\n", index)
                        yield from tool_pieces(self.tools, _DIALECT, index)
                    yield from format_pieces(message, index)
                case "user" | "developer":
                    yield from _write_query(message, index)
                    if adds_prompt or not is_last:
                        yield Piece(ASSISTANT + self._think(index), owner)
                case "tool":
                    ends = yield from self._write_result(index)
                    if not ends and is_last and adds_prompt:
                        raise self._missing_results(index)
                    if ends and (adds_prompt or not is_last):
                        yield Piece("\n\n" + self._think(index), owner)
                case "assistant":
                    yield from self._write_assistant(message, index)
                case role:
                    raise unknown_role(role, index=index, roles=_ROLES, name="DeepSeek V3.2")

    def _think(self, index: int) -> str:
        return THINK if self.thinking and index >= self.last_query else THINK_END

    def _missing_results(self, index: int) -> TemplateRefusalError:
        """Return the error for a turn that ends with a result, although other calls have none."""
        first = next(place for place in range(index, -1, -1) if self.messages[place]["role"] != "tool")
        calls, count = self.messages[first]["tool_calls"], index - first
        names = ", ".join([repr(call.get("function", call).get("name")) for call in calls[count:]])
        fault = f"only {count} of {len(calls)} tool calls have a result, so no generation prompt follows. Add the "
        fault += f"results of the other calls ({names})"
        return TemplateRefusalError(fault, index, format_name="DeepSeek V3.2")

    def _write_result(self, index: int) -> Generator[Piece, None, bool]:
        """Yield a tool result. Return True if it is the last one of its turn."""
        first = index
        while first and self.messages[first - 1]["role"] == "tool":
            first -= 1
        calls = self.messages[first - 1].get("tool_calls") if first else None
        if not calls or len(calls) <= index - first:
            raise TemplateRefusalError("there is no tool call for this result", index, format_name="DeepSeek V3.2")
        yield Piece("\n\n<function_results>" if index == first else "", index)
        yield Piece("\n<result>", index)
        yield from content_pieces(self.messages[index], index)
        yield Piece("</result>", index)
        ends = len(calls) == index - first + 1
        yield Piece("\n</function_results>" if ends else "", index)
        return ends

    def _write_assistant(self, message: JsonObject, index: int) -> Iterator[Piece]:
        is_prefix = message.get("prefix") and not message.get("tool_calls")
        if self.thinking and index > self.last_query and not is_prefix:
            yield from reasoning_pieces(message, index)
            yield Piece(THINK_END, index)
        yield from content_pieces(message, index)
        yield from call_pieces(message, index, _DIALECT)
        yield Piece("" if is_prefix else EOS, index)


def _write_query(message: JsonObject, index: int) -> Iterator[Piece]:
    yield Piece(USER, index)
    content = content_pieces(message, index)
    if message["role"] == "developer":
        if not any(piece.text for piece in content):
            raise MessageError("must not be empty in a developer message", message=index, path=("content",))
        yield from format_pieces(message, index)
        yield Piece("\n\n# The user's message is: ", index)
    yield from content
