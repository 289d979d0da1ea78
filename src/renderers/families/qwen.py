"""Qwen: ChatML with reasoning in <think>, calls as JSON and later as XML parameters."""

from __future__ import annotations

from functools import partial

from renderers.core.options import SamplingConventions
from renderers.families.family import (
    TEXT_AFTER_CALLS,
    WITHOUT_THINKING,
    Family,
    TemplateSwitch,
    flag,
    keeps_all_if,
    unpassed,
    words,
)

_THINKING = flag("enable_thinking", True)
_IGNORED = flag("enable_thinking")
"""Unused by these templates. Accepted with a warning, because callers pass it to all Qwen3 models."""
_VISION_ID = flag("add_vision_id", False)
_PRESERVING = (*keeps_all_if("preserve_thinking", True), WITHOUT_THINKING)
_PREFILLED_THINK = SamplingConventions(sampled_from="<think>")

_qwen = partial(Family, stop_tokens=("<|im_end|>", "<|endoftext|>"), verified="tokens")

_QWEN25 = _qwen(
    key="qwen2.5",
    class_name="Qwen25",
    version=2,
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message or a default first, followed by the tools
    call       \\n<tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user message with <tool_response>\\n{content}\\n</tool_response>, one for consecutive results
    prompt     <|im_start|>assistant\\n
    """,
    names=words("""
        Qwen/Qwen2.5-0.5B-Instruct Qwen/Qwen2.5-1.5B-Instruct Qwen/Qwen2.5-3B-Instruct Qwen/Qwen2.5-7B-Instruct
        Qwen/Qwen2.5-14B-Instruct Qwen/Qwen2.5-32B-Instruct Qwen/Qwen2.5-72B-Instruct
        Qwen/Qwen2.5-Coder-0.5B-Instruct Qwen/Qwen2.5-Coder-1.5B-Instruct Qwen/Qwen2.5-Coder-3B-Instruct
        Qwen/Qwen2.5-Coder-7B-Instruct Qwen/Qwen2.5-Coder-14B-Instruct Qwen/Qwen2.5-Coder-32B-Instruct
    """),
    templates=("cd8e9439f0570856", "0cd86fb80f520885"),
    syntax="hermes",
    normalisations=("drops_reasoning",),
)

_QWEN3 = _qwen(
    key="qwen3",
    class_name="Qwen3",
    version=2,
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, followed by the tools
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, only after the last user query
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user message with <tool_response>\\n{content}\\n</tool_response>, one for consecutive results
    prompt     <|im_start|>assistant\\n; without thinking also <think>\\n\\n</think>\\n\\n
    """,
    names=words("""
        Qwen/Qwen3-0.6B Qwen/Qwen3-1.7B Qwen/Qwen3-4B Qwen/Qwen3-8B Qwen/Qwen3-14B Qwen/Qwen3-32B
        Qwen/Qwen3-30B-A3B Qwen/Qwen3-235B-A22B Qwen/Qwen3-0.6B-FP8 Qwen/Qwen3-1.7B-FP8 Qwen/Qwen3-4B-FP8
        Qwen/Qwen3-8B-FP8 Qwen/Qwen3-14B-FP8 Qwen/Qwen3-32B-FP8 Qwen/Qwen3-30B-A3B-FP8 Qwen/Qwen3-235B-A22B-FP8
    """),
    templates=("a55ee1b1660128b7", "87a2728cb8dc9fe4"),
    switches=(_THINKING,),
    retains=(WITHOUT_THINKING,),
    syntax="hermes",
    normalisations=("trims_lines_before_content", "trims_lines_around_reasoning"),
    conventions=_PREFILLED_THINK,
)

_QWEN3_2507 = _qwen(
    key="qwen3-2507",
    class_name="Qwen32507",
    config_keys=("qwen3",),
    format="As qwen3, without reasoning and its switch; the prompt is <|im_start|>assistant\\n",
    names=words("""
        Qwen/Qwen3-4B-Instruct-2507 Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen/Qwen3-235B-A22B-Instruct-2507
        Qwen/Qwen3-4B-Instruct-2507-FP8 Qwen/Qwen3-30B-A3B-Instruct-2507-FP8
        Qwen/Qwen3-235B-A22B-Instruct-2507-FP8
    """),
    templates=("64f85b198065d0fb", "48e17aa3caf5bf20"),
    switches=(_IGNORED,),
    syntax="hermes",
    normalisations=("drops_reasoning",),
)

_QWEN3_2507_THINKING = _qwen(
    key="qwen3-2507-thinking",
    class_name="Qwen32507Thinking",
    config_keys=("qwen3",),
    format="As qwen3, without the switch for reasoning; the prompt is <|im_start|>assistant\\n<think>\\n",
    names=words("""
        Qwen/Qwen3-4B-Thinking-2507 Qwen/Qwen3-30B-A3B-Thinking-2507 Qwen/Qwen3-235B-A22B-Thinking-2507
        Qwen/Qwen3-4B-Thinking-2507-FP8 Qwen/Qwen3-30B-A3B-Thinking-2507-FP8
        Qwen/Qwen3-235B-A22B-Thinking-2507-FP8
    """),
    switches=(_IGNORED,),
    syntax="hermes",
    conventions=_PREFILLED_THINK,
    verified="none",
)

_QWEN3_CODER = _qwen(
    key="qwen3-coder",
    class_name="Qwen3Coder",
    version=2,
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, followed by the tools as XML
    call       \\n<tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>; lists and objects as JSON, other values as Python's str
    result     a user message with <tool_response>\\n{content}\\n</tool_response>\\n, one for consecutive results
    prompt     <|im_start|>assistant\\n
    """,
    names=words("""
        Qwen/Qwen3-Coder-30B-A3B-Instruct Qwen/Qwen3-Coder-480B-A35B-Instruct
        Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8
    """),
    templates=("d287fb2edf144207",),
    syntax="qwen_xml",
    variants=TEXT_AFTER_CALLS,
    normalisations=("drops_reasoning", "trims_content_before_calls"),
)

_QWEN3_VL = _qwen(
    key="qwen3-vl",
    class_name="Qwen3VL",
    format="""
    As qwen3 without reasoning: <|im_start|>{role}\\n{content}<|im_end|>\\n
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user message with <tool_response>\\n{content}\\n</tool_response>, one for consecutive results
    image      <|vision_start|><|image_pad|><|vision_end|>, in user and tool messages; <|video_pad|> for a video
    prompt     <|im_start|>assistant\\n
    """,
    names=words("""
        Qwen/Qwen3-VL-2B-Instruct Qwen/Qwen3-VL-4B-Instruct Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3-VL-32B-Instruct
        Qwen/Qwen3-VL-30B-A3B-Instruct Qwen/Qwen3-VL-235B-A22B-Instruct Qwen/Qwen3-VL-2B-Instruct-FP8
        Qwen/Qwen3-VL-4B-Instruct-FP8 Qwen/Qwen3-VL-8B-Instruct-FP8 Qwen/Qwen3-VL-32B-Instruct-FP8
        Qwen/Qwen3-VL-30B-A3B-Instruct-FP8 Qwen/Qwen3-VL-235B-A22B-Instruct-FP8
    """),
    templates=("3636d0f0bd6bef02", "66bd81986bf7f8ab"),
    switches=(_VISION_ID,),
    syntax="hermes",
    normalisations=("drops_reasoning",),
    media=("image", "video"),
)

_qwen35 = partial(
    _qwen,
    syntax="qwen_xml",
    variants=TEXT_AFTER_CALLS,
    normalisations=("trims_content", "trims_reasoning"),
    conventions=_PREFILLED_THINK,
    media=("image", "video"),
)

_QWEN35 = _qwen35(
    key="qwen3.5",
    class_name="Qwen35",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the tools first, followed by the system message
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, only after the last user query, even if empty
    call       <tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>; lists and objects as JSON, other values as Python's str
    result     a user message with <tool_response>\\n{content}\\n</tool_response>, one for consecutive results
    image      <|vision_start|><|image_pad|><|vision_end|>, in user and tool messages; <|video_pad|> for a video
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking (0.8B and 2B by default) <think>\\n\\n</think>\\n\\n
    """,
    names=words("""
        Qwen/Qwen3.5-0.8B Qwen/Qwen3.5-2B Qwen/Qwen3.5-4B Qwen/Qwen3.5-9B Qwen/Qwen3.5-35B-A3B
        Qwen/Qwen3.5-122B-A10B Qwen/Qwen3.5-397B-A17B
    """),
    templates=("a4aee8afcf2e0711", "273d8e0e683b8850"),
    switches=(flag("enable_thinking"), _VISION_ID),
    retains=(WITHOUT_THINKING,),
)

_QWEN36 = _qwen35(
    key="qwen3.6",
    class_name="Qwen36",
    format="""
    As qwen3.5, but all arguments except strings are JSON, and reasoning can be kept in all turns.
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, after the last user query, or with preserve_thinking
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think>\\n\\n</think>\\n\\n
    """,
    names=("Qwen/Qwen3.6-35B-A3B",),
    templates=("e84f32a23fdda276",),
    switches=(*unpassed(_THINKING), _VISION_ID, flag("preserve_thinking", False)),
    retains=_PRESERVING,
)

_QWEN38 = _qwen35(
    key="qwen3.8",
    class_name="Qwen38",
    format="""
    As qwen3.6, but reasoning is kept in all turns by default, and has an effort.
    effort     a sentence before the tools and the system message, for xhigh and low; none without thinking
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n; without preserve_thinking only after the last user query
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think>\\n\\n</think>\\n\\n
    """,
    names=("Qwen/Qwen3.8-27B", "Qwen/Qwen3.8-Flash-Next"),
    templates=("c3cf9e34abf4f9e3",),
    switches=(
        *unpassed(_THINKING),
        _VISION_ID,
        flag("preserve_thinking", True),
        TemplateSwitch("reasoning_effort", ("xhigh", "medium", "low"), "xhigh"),
    ),
    retains=_PRESERVING,
)

_PRIME_QWEN3 = _qwen(
    key="prime-qwen3",
    class_name="PrimeQwen3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n, the system message first, followed by the tools as XML
    reasoning  <think>{reasoning}</think>\\n, in all turns without calls
    call       <tool_call>\\n<function={name}>\\n, <parameter={key}>\\n{value}\\n</parameter>\\n for each argument,
               </function>\\n</tool_call>, after a blank line
    result     a user message with <tool_response>\\n{content}\\n</tool_response>\\n, one for consecutive results
    prompt     <|im_start|>assistant\\n
    """,
    names=("PrimeIntellect/Qwen3-0.6B", "PrimeIntellect/Qwen3-1.7B"),
    syntax="qwen_xml",
    variants=TEXT_AFTER_CALLS,
    verified="none",
)

RECORDS = (
    _QWEN25,
    _QWEN3,
    _QWEN3_2507,
    _QWEN3_2507_THINKING,
    _QWEN3_CODER,
    _QWEN3_VL,
    _QWEN35,
    _QWEN36,
    _QWEN38,
    _PRIME_QWEN3,
)
