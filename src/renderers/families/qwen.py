"""Qwen: ChatML with reasoning in <think>, calls as JSON and later as XML parameters."""

from __future__ import annotations

from renderers.core.conventions import Conventions
from renderers.families.family import Family, Retains, Switch

__all__ = ["QWEN"]

_STOPS = ("<|im_end|>", "<|endoftext|>")
_THINKING = Switch("enable_thinking", (True, False), True)
_IGNORED = Switch("enable_thinking", (True, False))
"""Not read by these templates; callers give it to all models of Qwen3, and it is taken with a warning."""
_VISION_ID = Switch("add_vision_id", (True, False), False)
_WITHOUT_THINKING = Retains("enable_thinking", False, "all")
_PRESERVING = (
    Retains("preserve_thinking", True, "all"),
    _WITHOUT_THINKING,
    Retains("preserve_thinking", False, "tool_cycle"),
)
_PREFILLED_THINK = Conventions(sampled_from="<think>")

QWEN25 = Family(
    key="qwen2.5",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, with the tools behind it; a default if none
    call       \\n<tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>, one for all that follow each other
    prompt     <|im_start|>assistant\\n
    """,
    names=(
        "Qwen/Qwen2.5-0.5B-Instruct",
        "Qwen/Qwen2.5-1.5B-Instruct",
        "Qwen/Qwen2.5-3B-Instruct",
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen/Qwen2.5-14B-Instruct",
        "Qwen/Qwen2.5-32B-Instruct",
        "Qwen/Qwen2.5-72B-Instruct",
        "Qwen/Qwen2.5-Coder-0.5B-Instruct",
        "Qwen/Qwen2.5-Coder-1.5B-Instruct",
        "Qwen/Qwen2.5-Coder-3B-Instruct",
        "Qwen/Qwen2.5-Coder-7B-Instruct",
        "Qwen/Qwen2.5-Coder-14B-Instruct",
        "Qwen/Qwen2.5-Coder-32B-Instruct",
    ),
    templates=("cd8e9439f0570856", "0cd86fb80f520885"),
    verified="tokens",
    stops=_STOPS,
    syntax="hermes",
    normalisations=("drops_reasoning",),
)

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
        "Qwen/Qwen3-0.6B-FP8",
        "Qwen/Qwen3-1.7B-FP8",
        "Qwen/Qwen3-4B-FP8",
        "Qwen/Qwen3-8B-FP8",
        "Qwen/Qwen3-14B-FP8",
        "Qwen/Qwen3-32B-FP8",
        "Qwen/Qwen3-30B-A3B-FP8",
        "Qwen/Qwen3-235B-A22B-FP8",
    ),
    templates=("a55ee1b1660128b7", "87a2728cb8dc9fe4"),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING,),
    retains=(_WITHOUT_THINKING,),
    syntax="hermes",
    normalisations=("trims_lines_before_content", "trims_lines_around_reasoning"),
    conventions=_PREFILLED_THINK,
)

QWEN3_2507 = Family(
    key="qwen3-2507",
    format="""
    As qwen3, without reasoning and without the switch for it; the prompt is <|im_start|>assistant\\n
    """,
    names=(
        "Qwen/Qwen3-4B-Instruct-2507",
        "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "Qwen/Qwen3-235B-A22B-Instruct-2507",
        "Qwen/Qwen3-4B-Instruct-2507-FP8",
        "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8",
        "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
    ),
    templates=("64f85b198065d0fb", "48e17aa3caf5bf20"),
    verified="tokens",
    stops=_STOPS,
    switches=(_IGNORED,),
    syntax="hermes",
    normalisations=("drops_reasoning",),
)

QWEN3_2507_THINKING = Family(
    key="qwen3-2507-thinking",
    format="""
    As qwen3, without the switch for reasoning; the prompt is <|im_start|>assistant\\n<think>\\n
    """,
    names=(
        "Qwen/Qwen3-4B-Thinking-2507",
        "Qwen/Qwen3-30B-A3B-Thinking-2507",
        "Qwen/Qwen3-235B-A22B-Thinking-2507",
        "Qwen/Qwen3-4B-Thinking-2507-FP8",
        "Qwen/Qwen3-30B-A3B-Thinking-2507-FP8",
        "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8",
    ),
    stops=_STOPS,
    switches=(_IGNORED,),
    syntax="hermes",
    conventions=_PREFILLED_THINK,
)

QWEN3_CODER = Family(
    key="qwen3-coder",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, with the tools as XML behind it
    call       \\n<tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>; lists and objects as JSON, all else as Python writes it
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>\\n, one for all that follow each other
    prompt     <|im_start|>assistant\\n
    """,
    names=(
        "Qwen/Qwen3-Coder-30B-A3B-Instruct",
        "Qwen/Qwen3-Coder-480B-A35B-Instruct",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8",
        "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8",
    ),
    templates=("d287fb2edf144207",),
    verified="tokens",
    stops=_STOPS,
    syntax="qwen_xml",
    normalisations=("drops_reasoning", "trims_content_before_calls"),
)

QWEN3_VL = Family(
    key="qwen3-vl",
    format="""
    As qwen3 without reasoning: <|im_start|>{role}\\n{content}<|im_end|>\\n
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>, one for all that follow each other
    image      <|vision_start|><|image_pad|><|vision_end|>, of users and tools; a video has <|video_pad|>
    prompt     <|im_start|>assistant\\n
    """,
    names=(
        "Qwen/Qwen3-VL-2B-Instruct",
        "Qwen/Qwen3-VL-4B-Instruct",
        "Qwen/Qwen3-VL-8B-Instruct",
        "Qwen/Qwen3-VL-32B-Instruct",
        "Qwen/Qwen3-VL-30B-A3B-Instruct",
        "Qwen/Qwen3-VL-235B-A22B-Instruct",
        "Qwen/Qwen3-VL-2B-Instruct-FP8",
        "Qwen/Qwen3-VL-4B-Instruct-FP8",
        "Qwen/Qwen3-VL-8B-Instruct-FP8",
        "Qwen/Qwen3-VL-32B-Instruct-FP8",
        "Qwen/Qwen3-VL-30B-A3B-Instruct-FP8",
        "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8",
    ),
    templates=("3636d0f0bd6bef02", "66bd81986bf7f8ab"),
    verified="tokens",
    stops=_STOPS,
    switches=(_VISION_ID,),
    syntax="hermes",
    normalisations=("drops_reasoning",),
    media=("image", "video"),
)

QWEN35 = Family(
    key="qwen3.5",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the tools first, with the system message behind them
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, written after the last real question only, even if there is none
    call       <tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>; lists and objects as JSON, all else as Python writes it
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>, one for all that follow each other
    image      <|vision_start|><|image_pad|><|vision_end|>, of users and tools; a video has <|video_pad|>
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking (0.8B and 2B by default) <think>\\n\\n</think>\\n\\n
    """,
    names=(
        "Qwen/Qwen3.5-0.8B",
        "Qwen/Qwen3.5-2B",
        "Qwen/Qwen3.5-4B",
        "Qwen/Qwen3.5-9B",
        "Qwen/Qwen3.5-35B-A3B",
        "Qwen/Qwen3.5-122B-A10B",
        "Qwen/Qwen3.5-397B-A17B",
    ),
    templates=("a4aee8afcf2e0711", "273d8e0e683b8850"),
    verified="tokens",
    stops=_STOPS,
    switches=(Switch("enable_thinking", (True, False)), _VISION_ID),
    retains=(_WITHOUT_THINKING,),
    syntax="qwen_xml",
    normalisations=("trims_content", "trims_reasoning"),
    conventions=_PREFILLED_THINK,
    media=("image", "video"),
)

QWEN36 = Family(
    key="qwen3.6",
    format="""
    As qwen3.5, but arguments that are no strings are all JSON, and reasoning may be kept in all turns.
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, written after the last real question, or with preserve_thinking
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think>\\n\\n</think>\\n\\n
    """,
    names=("Qwen/Qwen3.6-35B-A3B",),
    templates=("e84f32a23fdda276",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, _VISION_ID, Switch("preserve_thinking", (True, False), False)),
    retains=_PRESERVING,
    syntax="qwen_xml",
    normalisations=("trims_content", "trims_reasoning"),
    conventions=_PREFILLED_THINK,
    media=("image", "video"),
)

QWEN38 = Family(
    key="qwen3.8",
    format="""
    As qwen3.6, but reasoning is kept in all turns by default, and how much of it is said.
    effort     a sentence before the tools and the system message, for xhigh and low; none without thinking
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n; without preserve_thinking after the last real question only
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think>\\n\\n</think>\\n\\n
    """,
    names=("Qwen/Qwen3.8-27B", "Qwen/Qwen3.8-Flash-Next"),
    templates=("c3cf9e34abf4f9e3",),
    verified="tokens",
    stops=_STOPS,
    switches=(
        _THINKING,
        _VISION_ID,
        Switch("preserve_thinking", (True, False), True),
        Switch("reasoning_effort", ("xhigh", "medium", "low"), "xhigh"),
    ),
    retains=_PRESERVING,
    syntax="qwen_xml",
    normalisations=("trims_content", "trims_reasoning"),
    conventions=_PREFILLED_THINK,
    media=("image", "video"),
)

PRIME_QWEN3 = Family(
    key="prime-qwen3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, with the tools as XML behind it
    reasoning  <think>{reasoning}</think>\\n, written in all turns, but not in those with calls
    call       <tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>, after a blank line
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>\\n, one for all that follow each other
    prompt     <|im_start|>assistant\\n
    """,
    names=("PrimeIntellect/Qwen3-0.6B", "PrimeIntellect/Qwen3-1.7B"),
    stops=_STOPS,
    syntax="qwen_xml",
)

QWEN = (
    QWEN25,
    QWEN3,
    QWEN3_2507,
    QWEN3_2507_THINKING,
    QWEN3_CODER,
    QWEN3_VL,
    QWEN35,
    QWEN36,
    QWEN38,
    PRIME_QWEN3,
)
