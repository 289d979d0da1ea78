"""Inkling of Thinking Machines: every part of a message is a segment of its own, between control tokens."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["INKLING"]

_INKLING = Family(
    key="inkling",
    format="""
    <|message_{role}|><|content_{kind}|>{content}<|end_message|> for each part; the assistant's role is model
    system     the tools as compact JSON, the system messages, then Thinking effort level: {number}
    assistant  its segments, then <|content_model_end_sampling|>
    reasoning  <|message_model|><|content_thinking|>{reasoning}<|end_message|>
    call       <|message_model|>{name}<|content_invoke_tool_json|>{"name":...,"args":...}<|end_message|>
    result     <|message_tool|>{name}<|content_text|>{content}<|end_message|>
    prompt     <|message_model|>
    """,
    names=("thinkingmachines/Inkling", "thinkingmachines/Inkling-Small"),
    stops=("<|content_model_end_sampling|>", "<|endoftext|>"),
    # From 0 to 0.99; the words none, low, medium, high and max stand for numbers.
    switches=(Switch("reasoning_effort", float, 0.9),),
    syntax="inkling",
    program="inkling",
    media=("image", "audio"),
)

INKLING = (_INKLING,)
