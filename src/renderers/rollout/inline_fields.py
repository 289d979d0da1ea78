"""Split assistant messages of a harness that keeps reasoning or calls in the content, as the model writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from renderers.core.jsontypes import JsonObject
from renderers.core.protocols import Renderer
from renderers.rollout.matching import is_same_message, reasoning_of, text_of
from renderers.rollout.trajectory import Turn


class InlineFields:
    """Splits messages, and keeps the fields of each text, because a harness sends all messages with each request."""

    def __init__(self) -> None:
        self._fields: dict[str, Mapping[str, Any]] = {}

    def split(
        self, messages: Sequence[JsonObject], turns: Sequence[Turn], renderer: Renderer, tools: Any
    ) -> list[JsonObject]:
        """Return a conversation with reasoning and calls of sampled turns as fields, where a harness has them as text.

        The content of an assistant message is parsed as a completion. If its fields are not those of a sampled turn,
        the message is not changed. A custom renderer without a tokenizer cannot parse text, so no message is changed.
        """
        parse = _parser_of(renderer, tools, turns[-1].prompt.token_ids) if turns else None
        if parse is None:
            return list(messages)
        by_content: dict[str, list[JsonObject]] = {}
        for turn in turns:
            by_content.setdefault(text_of(turn.message["content"]), []).append(turn.message)
        known, self._fields = self._fields, {}
        result: list[JsonObject] = []
        for message in messages:
            text = text_of(message.get("content")) if message["role"] == "assistant" else None
            if isinstance(text, str) and text not in by_content:
                fields = known.get(text)
                if fields is None and any(_may_contain(text, turn.message) for turn in turns):
                    fields = parse(text)
                if fields is not None:
                    self._fields[text] = fields
                    sampled = by_content.get(text_of(fields["content"]), ())
                    if any(_is_inline(recorded, message, fields) for recorded in sampled):
                        message = {**message, **fields, **_beside(message)}
            result.append(message)
        return result


def _parser_of(renderer: Any, tools: Any, prompt_ids: list[int]) -> Callable[[str], Mapping[str, Any]] | None:
    """Return a function that parses a text as a completion of a prompt; None if the renderer has no tokenizer."""
    encode = getattr(getattr(renderer, "tokenizer", None), "encode", None)
    if encode is None:
        return None

    def parse(text: str) -> Mapping[str, Any]:
        ids = encode(text, add_special_tokens=False)
        message: Mapping[str, Any] = renderer.parse_response(ids, tools=tools, prompt_ids=prompt_ids).to_message()
        return message

    return parse


def _may_contain(text: str, recorded: Mapping[str, Any]) -> bool:
    """Return True if a text may have the fields of a message. Parsing takes longer.

    The content is not searched for, because it can be in several places, such as before and after calls.
    """
    return len(text_of(recorded.get("content"))) <= len(text) and reasoning_of(recorded) in text


def _is_inline(recorded: Mapping[str, Any], message: JsonObject, fields: Mapping[str, Any]) -> bool:
    """Return True if the fields of a content, and those that the harness has beside it, are those of a message."""
    beside = _beside(message)
    return is_same_message(recorded, {**beside, **fields}) and is_same_message(recorded, {**fields, **beside})


def _beside(message: JsonObject) -> JsonObject:
    """Return the fields of a message besides its content. Its calls have ids that results refer to."""
    return {key: value for key, value in message.items() if value and key != "content"}
