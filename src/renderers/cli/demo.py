"""`renderers demo`: render and parse a conversation with the embedded model."""

from __future__ import annotations

from collections.abc import Iterator

from renderers import (
    EMBEDDED,
    ChatRenderer,
    ContentDelta,
    ReasoningDelta,
    create_renderer,
    load_tokenizer,
)
from renderers.cli.inspect import describe, show_tokens
from renderers.core.completions import ToolCallEnd
from renderers.core.explain import explain_runs

__all__ = ["demo"]

_TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
_CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
_MESSAGES = [
    {"role": "user", "content": "What is the weather in Paris? ☀️"},
    {"role": "assistant", "reasoning_content": "I have to look.", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "clear, 21 °C"},
]
_SAMPLED = (
    "<|think|>Clear, and 21 °C: I compare.<|/think|>It is clear. ☀️ And in Rome?"
    '<|call|>{"name": "get_weather", "arguments": {"city": "Rome"}}<|/call|><|end|>'
)
_CHUNK = 7


def demo() -> str:
    """Render a conversation with attribution, then parse a completion in chunks. Returns the output."""
    tokenizer = load_tokenizer(EMBEDDED)
    renderer = create_renderer(tokenizer)
    trace = renderer.trace(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    rendered = renderer.render(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    ids = rendered.token_ids
    last = renderer.render_ids(_MESSAGES[-1:], add_generation_prompt=True)
    same = tokenizer.decode(ids) == trace.text
    return "\n\n".join(
        (
            "The model that comes with the package:",
            describe(tokenizer),
            f"A conversation of {len(_MESSAGES)} messages and a tool is {len(ids)} tokens. What each is (* sampled):",
            explain_runs(ids, rendered.runs, rendered.message_roles, tokenizer.decode),
            "The tokens of the last message, and the prompt for the next one:",
            show_tokens(tokenizer, last),
            f"Decoded again, the ids give the template's text: {'yes' if same else 'NO'}",
            f"A completion for that prompt, read {_CHUNK} tokens at a time:",
            "\n".join(_streamed(renderer, ids)),
        )
    )


def _streamed(renderer: ChatRenderer, prompt: list[int]) -> Iterator[str]:
    """Yield the events of a streamed completion, and whether `parse_response` gives the same result."""
    completion = renderer.tokenizer.encode(_SAMPLED)
    parser = renderer.stream(tools=[_TOOL], prompt_ids=prompt)
    for at in range(0, len(completion), _CHUNK):
        for event in parser.feed(completion[at : at + _CHUNK]):
            match event:
                case ReasoningDelta():
                    yield f"  {event.start:3} to {event.end:3}  reasoning  {event.text!r}"
                case ContentDelta():
                    yield f"  {event.start:3} to {event.end:3}  content    {event.text!r}"
                case ToolCallEnd():
                    span = event.call.token_span or (event.start, event.end)
                    yield f"  {span[0]:3} to {span[1]:3}  call       {event.call.name} {event.call.arguments}"
                case _:
                    pass
    same = parser.close() == renderer.parse_response(completion, tools=[_TOOL], prompt_ids=prompt)
    yield f"\nRead at once it is the same: {'yes' if same else 'NO'}"
