"""Qwen: ChatML with reasoning in <think>, calls as JSON and later as XML parameters."""

from __future__ import annotations

from renderers.conventions import Conventions
from renderers.families.family import Family, Retains, Switch

__all__ = ["QWEN"]

_STOPS = ("<|im_end|>", "<|endoftext|>")
_THINKING = Switch("enable_thinking", (True, False), True)

QWEN3 = Family(
    key="qwen3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, with the tools behind it
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, written after the last real question only
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>, one for all that follow each other
    prompt     <|im_start|>assistant\\n; without thinking also <think>\\n\\n</think>\\n\\n
    """,
    names=(
        "Qwen/Qwen3-0.6B",
        "Qwen/Qwen3-1.7B",
        "Qwen/Qwen3-4B",
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-14B",
        "Qwen/Qwen3-32B",
        "Qwen/Qwen3-30B-A3B",
        "Qwen/Qwen3-235B-A22B",
    ),
    templates=("a55ee1b1660128b7",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING,),
    retains=(Retains("enable_thinking", False, "all"),),
    syntax="hermes",
    normalisations=("trims_lines_before_content", "trims_lines_around_reasoning"),
    conventions=Conventions(sampled_from="<think>"),
)

QWEN = (QWEN3,)
