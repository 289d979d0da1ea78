"""`renderers demo`: the main job, on the model that comes with the package."""

from __future__ import annotations

from renderers import EMBEDDED, Trace, create_renderer, load_tokenizer
from renderers.cli.inspect import describe, show_tokens

__all__ = ["demo"]

_TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
_CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
_MESSAGES = [
    {"role": "user", "content": "What is the weather in Paris? ☀️"},
    {"role": "assistant", "reasoning_content": "I have to look.", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "clear, 21 °C"},
]


def demo() -> str:
    """Renders a conversation with the embedded model, and shows whose every token and character is."""
    tokenizer = load_tokenizer(EMBEDDED)
    renderer = create_renderer(tokenizer)
    trace = renderer.trace(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    ids = renderer.render_ids(_MESSAGES, tools=[_TOOL], add_generation_prompt=True)
    last = renderer.render_ids(_MESSAGES[-1:], add_generation_prompt=True)
    same = tokenizer.decode(ids) == trace.text
    return "\n\n".join(
        (
            "The model that comes with the package:",
            describe(tokenizer),
            f"A conversation of {len(_MESSAGES)} messages and a tool is {len(ids)} tokens. By message and field:",
            _owners(trace),
            "The tokens of the last message, and the prompt for the next one:",
            show_tokens(tokenizer, last),
            f"Decoded again, the ids give the template's text: {'yes' if same else 'NO'}",
        )
    )


def _owners(trace: Trace) -> str:
    rows = [
        (
            f"message {span.message}" if span.message >= 0 else "nobody",
            ".".join(map(str, span.path)),
            repr(trace.text[span.start : span.end]),
        )
        for span in trace.spans
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{who:<{widths[0]}}  {field:<{widths[1]}}  {text}" for who, field, text in rows)
