"""`renderers demo`: the main job, on the model that comes with the package."""

from __future__ import annotations

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.cli.inspect import describe, show_tokens
from renderers.explain import explain_runs

__all__ = ["demo"]

_TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
_CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
_MESSAGES = [
    {"role": "user", "content": "What is the weather in Paris? ☀️"},
    {"role": "assistant", "reasoning_content": "I have to look.", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "clear, 21 °C"},
]


def demo() -> str:
    """Renders a conversation with the embedded model, and shows what every token is, and which are sampled."""
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
        )
    )
