"""Completions of the embedded model, and short views of parsed responses."""

from __future__ import annotations

from typing import Any

from renderers import EMBEDDED, ChatRenderer, ParsedResponse, ToolCallParseStatus, create_renderer, load_tokenizer

OK = ToolCallParseStatus.OK


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get",
            "description": "Gets.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]


CALL = '<|call|>{"name": "get", "arguments": {"city": "Rome"}}<|/call|>'


def embedded() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def read(text: str, *, prompt: str | None = None, renderer: ChatRenderer | None = None) -> ParsedResponse:
    renderer = renderer or embedded()
    encode = renderer.tokenizer.encode
    ids = encode(text, add_special_tokens=False)
    given = None if prompt is None else encode(prompt, add_special_tokens=False)
    return renderer.parse_response(ids, tools=TOOLS, prompt_ids=given)


def said(parsed: ParsedResponse) -> tuple[str, str | None, list[Any]]:
    return parsed.content, parsed.reasoning_content, [(call.name, call.arguments) for call in parsed.tool_calls]


ROME = ("get", {"city": "Rome"})


HARMONY = '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"city": "Rome"}<|call|>'
