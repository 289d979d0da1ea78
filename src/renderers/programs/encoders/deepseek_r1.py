"""`DeepSeekR1Program`: the format of DeepSeek R1, for repositories without a chat template.

    <｜begin▁of▁sentence｜>{system}<｜User｜>{content}<｜Assistant｜>{content}<｜end▁of▁sentence｜>
    <｜Assistant｜><think>\\n

The first system messages are joined by blank lines, and later ones are written as user messages. Developer messages
are system messages. The history has no reasoning: content is the text after the last `</think>`. The format has no
place for tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from renderers.core.jsontypes import JsonObject
from renderers.programs.content_parts import content_pieces
from renderers.programs.encoders.dsml import ASSISTANT, BOS, EOS, THINK, THINK_END, USER
from renderers.programs.encoders.piece_program import EncoderInput, PieceProgram, unknown_role
from renderers.programs.pieces import Piece, called_function

_CALLS, _CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL, _CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_RESULTS, _RESULTS_END = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"
_RESULT, _RESULT_END = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


class DeepSeekR1Program(PieceProgram):
    """The format of DeepSeek R1."""

    version = "deepseek-r1 1"
    markers = (_CALLS, _CALLS_END, _CALL, _CALL_END, _SEPARATOR, THINK)
    special_tokens = (BOS, EOS, USER, ASSISTANT)
    roles = _ROLES
    fields = frozenset("role content tool_calls function name arguments type text".split())
    tested = frozenset({THINK_END})

    def write(self, encoder_input: EncoderInput) -> Iterator[Piece]:
        yield Piece(BOS)
        yield from _write(encoder_input.messages)
        if encoder_input.adds_prompt:
            yield Piece(("" if encoder_input.messages[-1]["role"] == "tool" else ASSISTANT) + THINK + "\n")


def _write(messages: Sequence[JsonObject]) -> Iterator[Piece]:
    """Yield the text of all messages.

    Raises:
        MessageError: A message cannot be written.
        TemplateRefusalError: The format has no place for a message.
    """
    roles = ["", *(message["role"] for message in messages), ""]
    leads = True
    for index, message in enumerate(messages):
        previous, role, following = roles[index : index + 3]
        leads = leads and role in ("system", "developer")
        match role:
            case "system" | "developer" | "user":
                yield Piece(("\n\n" if index else "") if leads else USER, index)
                yield from content_pieces(message, index)
            case "assistant":
                yield Piece("" if previous == "tool" else ASSISTANT, index)
                yield from _answer_pieces(message, index)
                yield from _call_pieces(message.get("tool_calls") or (), index)
                yield Piece(EOS, index)
            case "tool":
                yield Piece(("" if previous == "tool" else _RESULTS) + _RESULT, index)
                yield from content_pieces(message, index)
                yield Piece(_RESULT_END + ("" if following == "tool" else _RESULTS_END), index)
            case _:
                raise unknown_role(role, index=index, roles=_ROLES, name="DeepSeek R1")


def _answer_pieces(message: JsonObject, index: int) -> list[Piece]:
    """Return the content of an assistant's message without the reasoning in it."""
    pieces = content_pieces(message, index)
    for number in reversed(range(len(pieces))):
        _, marker, answer = pieces[number].text.rpartition(THINK_END)
        if marker:
            return [pieces[number]._replace(text=answer), *pieces[number + 1 :]]
    return pieces


def _call_pieces(calls: Sequence[JsonObject], index: int) -> Iterator[Piece]:
    for number, call in enumerate(calls):
        function, path = called_function(call, number)
        arguments = function.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield Piece(("" if number else _CALLS) + f"{_CALL}function{_SEPARATOR}", index)
        yield Piece(str(function.get("name")), index, (*path, "name"))
        yield Piece("\n```json\n", index)
        yield Piece(text, index, (*path, "arguments"))
        yield Piece("\n```" + _CALL_END + (_CALLS_END if number + 1 == len(calls) else ""), index)
