"""Render conversations with the vendor's renderer of Inkling. Runs in its own environment, with `tml-renderers`.

Reads a JSON list of jobs from standard input: messages in the form of OpenAI's API, tools, and the reasoning effort as
a number. Writes for each a list of pairs: whether it is a special token, and its text. Consecutive texts are one.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

from tml_renderers import chat, tokenizers, v0  # type: ignore[import-not-found, unused-ignore]

Data = dict[str, Any]


def main() -> None:
    """Render the jobs of standard input."""
    tokenizer = tokenizers.O200kBaseChatTokenizer()
    renderer = v0.Renderer(tokenizer)
    json.dump([segments(tokenizer, render(renderer, job)) for job in json.load(sys.stdin)], sys.stdout)


def render(renderer: Any, job: Data) -> list[int]:
    """Return the ids of a job."""
    declared = [declaration(job["tools"])] if job["tools"] else []
    messages = chat.MessageList.from_oss_messages([with_parts(message) for message in job["messages"]]).messages
    spans, _ = renderer.render_for_completion_with_effort([*declared, *messages], job["effort"])
    return [token for span in spans for token in span.span.int_tokens]


def declaration(tools: list[Data]) -> Any:
    """Return the message that declares tools."""
    specs = []
    for tool in tools:
        function = tool["function"]
        parameters = function.get("parameters", {})
        specs.append(chat.ToolSpecJson(tool["type"], function["name"], function.get("description", ""), parameters))
    author = chat.Author(chat.AuthorKind.System, "tool_declare")
    return chat.Message(chat.ToolDeclareJson(specs), author)


def with_parts(message: Data) -> Data:
    """Return a message with its reasoning as a part of its content, and arguments of calls as JSON."""
    made = {key: value for key, value in message.items() if key != "reasoning_content"}
    if "tool_calls" in message:
        made["tool_calls"] = [with_json(call) for call in message["tool_calls"]]
    if message.get("reasoning_content"):
        content = message["content"] or []
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        made["content"] = [{"type": "thinking", "thinking": message["reasoning_content"]}, *parts]
    return made


def with_json(call: Data) -> Data:
    """Return a call with its arguments as JSON with sorted keys, because the renderer sorts only the outer ones."""
    arguments = call["function"]["arguments"]
    value = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {**call, "function": {**call["function"], "arguments": json.dumps(value, sort_keys=True)}}


def segments(tokenizer: Any, ids: list[int]) -> list[tuple[bool, str]]:
    """Return the special tokens, and the texts between them."""
    found: list[tuple[bool, str]] = []
    for is_special, group in itertools.groupby(ids, tokenizer.is_special_token):
        tokens = list(group)
        if is_special:
            found += [(True, tokenizer.decode_special(token)) for token in tokens]
        else:
            found.append((False, tokenizer.decode_strict(tokens)))
    return found


if __name__ == "__main__":
    main()
