"""`renderers demo`: render and parse a conversation with the embedded model."""

from __future__ import annotations

from collections.abc import Iterator

from renderers import (
    EXAMPLE_MODEL,
    ChatRenderer,
    ContentDelta,
    Message,
    ReasoningDelta,
    ToolCall,
    create_renderer,
    load_tokenizer,
)
from renderers.cli.inspect import describe, show_tokens
from renderers.core.completions import ToolCallEnd

_TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
_CALL: ToolCall = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
_MESSAGES: list[Message] = [
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
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    renderer = create_renderer(tokenizer)
    trace = renderer.trace(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    rendered = renderer.render(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    ids = rendered.token_ids
    last = renderer.render_ids(_MESSAGES[-1:], add_generation_prompt=True)
    same = tokenizer.decode(ids) == trace.text
    return "\n\n".join(
        (
            "The example model of the package:",
            describe(tokenizer),
            f"A conversation of {len(_MESSAGES)} messages and a tool has {len(ids)} tokens (* sampled):",
            "\n".join(rendered.explanation(tokenizer.decode)),
            "The tokens of the last message, and the prompt for the next one:",
            show_tokens(tokenizer, last),
            f"The ids decode to the template's text: {'yes' if same else 'NO'}",
            f"A completion of that prompt, parsed in chunks of {_CHUNK} tokens:",
            "\n".join(_streamed(renderer, ids)),
        )
    )


def _streamed(renderer: ChatRenderer, prompt: list[int]) -> Iterator[str]:
    """Yield the events of a streamed completion, and whether `parse_response` gives the same result."""
    completion = renderer.tokenizer.encode(_SAMPLED, add_special_tokens=False)
    parser = renderer.stream(tools=[_TOOL], prompt_ids=prompt)
    for start in range(0, len(completion), _CHUNK):
        for event in parser.feed(completion[start : start + _CHUNK]):
            match event:
                case ReasoningDelta(text=text):
                    yield f"  {event.start:3} to {event.end:3}  reasoning  {text!r}"
                case ContentDelta(text=text):
                    yield f"  {event.start:3} to {event.end:3}  content    {text!r}"
                case ToolCallEnd(call=call):
                    first, end = call.token_span or (event.start, event.end)
                    yield f"  {first:3} to {end:3}  call       {call.name} {call.arguments}"
    same = parser.close() == renderer.parse_response(completion, tools=[_TOOL], prompt_ids=prompt)
    yield f"\nParsed in one piece, it is the same: {'yes' if same else 'NO'}"
