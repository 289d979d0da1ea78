"""Split assistant messages of a harness that keeps reasoning or calls in the content, as the model writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.completions import ParsedResponse, Region
from renderers.core.jsontypes import JsonObject
from renderers.core.protocols import Renderer
from renderers.errors import UnencodableTextError
from renderers.rollout.matching import is_same_message, reasoning_of, text_of
from renderers.rollout.trajectory import Turn


class InlineFields:
    """Splits messages, and keeps the fields of each text, because a harness sends all messages with each request."""

    def __init__(self) -> None:
        # By text and number of the turn, because the prompt of a turn can open reasoning.
        self._fields: dict[tuple[str, int], Mapping[str, Any] | None] = {}

    def split(
        self, messages: Sequence[JsonObject], turns: Sequence[Turn], renderer: Renderer, tools: Any
    ) -> list[JsonObject]:
        """Return a conversation with reasoning and calls of sampled turns as fields, where a harness has them as text.

        The content of an assistant message is parsed as a completion of the prompt of a sampled turn. If its fields are
        not those of the turn, or if it has other text that belongs to no field, the message is not changed. A custom
        renderer without a tokenizer cannot parse text, so no message is changed.
        """
        if getattr(getattr(renderer, "tokenizer", None), "encode", None) is None:
            return list(messages)
        searched = [_SearchedTurn.of(turn) for turn in turns]
        contents = {turn.content for turn in searched}
        known, self._fields = self._fields, {}
        result: list[JsonObject] = []
        following = 0

        def parse(turn: Turn, text: str) -> Mapping[str, Any] | None:
            key = text, turn.number
            self._fields[key] = known[key] if key in known else _parse_as(turn, text, renderer, tools)
            return self._fields[key]

        def find(message: JsonObject, text: str) -> tuple[int, Mapping[str, Any]] | None:
            """Return the turn that a message was sampled as, and the fields of its text."""
            # A conversation has the turns in their order, so the next one is the most likely.
            for index in (*range(following, len(turns)), *range(following)):
                fields = parse(turns[index], text) if searched[index].may_be(text) else None
                if fields is not None and _is_inline(turns[index].message, message, fields):
                    return index, fields
            return None

        for message in messages:
            text = text_of(message.get("content")) if message["role"] == "assistant" else None
            sampled = find(message, text) if isinstance(text, str) and text not in contents else None
            if sampled is not None:
                message = {**message, **sampled[1], **_beside(message)}
                following = sampled[0] + 1
            result.append(message)
        return result


class _SearchedTurn(NamedTuple):
    """The text of a sampled turn that a content is searched for, because parsing takes longer."""

    content: Any
    reasoning: Any
    is_in_one_piece: bool
    """True if the content is a part of the sampled text. It can be in several places, as before and after calls."""

    @classmethod
    def of(cls, turn: Turn) -> _SearchedTurn:
        content, parsed = text_of(turn.message["content"]), turn.parsed
        # The text of broken calls is at the end of the content. The parser of a custom renderer may give no parts.
        pieces = [part for part in parsed.parts if part.region == Region.CONTENT]
        return cls(content, reasoning_of(turn.message), len(pieces) == 1 and text_of(parsed.content) == content)

    def may_be(self, text: str) -> bool:
        """Return False if a text does not have the fields of the turn."""
        if len(self.content) > len(text) or self.reasoning not in text:
            return False
        return not self.is_in_one_piece or self.content in text


def _parse_as(turn: Turn, text: str, renderer: Any, tools: Any) -> Mapping[str, Any] | None:
    """Return the fields of a text after the prompt of a turn; None if they contradict those of the turn."""
    try:
        ids = renderer.tokenizer.encode(text, add_special_tokens=False)
    except UnencodableTextError:
        # If the message is rendered, the error names it.
        return None
    parsed: ParsedResponse = renderer.parse_response(ids, tools=tools, prompt_ids=turn.prompt.token_ids)
    if _skipped_texts(parsed) != _skipped_texts(turn.parsed):
        return None
    fields: Mapping[str, Any] = parsed.to_message()
    return fields if is_same_message(turn.message, {**turn.message, **fields}) else None


def _skipped_texts(parsed: ParsedResponse) -> list[str]:
    """Return the texts that belong to no field. A message does not have them."""
    return [text for skipped in parsed.skipped if (text := skipped.text.strip())]


def _is_inline(recorded: Mapping[str, Any], message: JsonObject, fields: Mapping[str, Any]) -> bool:
    """Return True if the fields of a content, and those that the harness has beside it, are those of a message."""
    beside = _beside(message)
    return is_same_message(recorded, {**beside, **fields}) and is_same_message(recorded, {**fields, **beside})


def _beside(message: JsonObject) -> JsonObject:
    """Return the fields of a message besides its content. Its calls have ids that results refer to."""
    return {key: value for key, value in message.items() if value and key != "content"}
