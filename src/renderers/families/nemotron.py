"""Nemotron 3: ChatML with reasoning in <think>, tools and calls as XML."""

from __future__ import annotations

from functools import partial

from renderers.core.options import SamplingConventions
from renderers.families.family import TEXT_AFTER_CALLS, WITHOUT_THINKING, Family, flag, keeps_all_if

_THINKING = flag("enable_thinking", True)
_TRUNCATE = flag("truncate_history_thinking", True)

_nemotron = partial(
    Family,
    verified="tokens",
    stop_tokens=("<|im_end|>",),
    retains=(*keeps_all_if("truncate_history_thinking", False), WITHOUT_THINKING),
    syntax="qwen_xml",
    variants=TEXT_AFTER_CALLS,
    normalisations=("drops_blank_reasoning", "trims_end_of_content"),
    conventions=SamplingConventions(sampled_from="<think>"),
)

_NEMOTRON_3 = _nemotron(
    key="nemotron-3",
    class_name="Nemotron3",
    version=2,
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     always, possibly empty; followed by the tools, <function>\\n<name>...</name> and so on in <tools>
    reasoning  <think>\\n{reasoning}\\n</think>\\n; <think></think> if there is none or a user message follows
    call       <tool_call>\\n<function={name}>\\n<parameter={key}>\\n{value}\\n</parameter>\\n</function>\\n
               </tool_call>\\n
    result     a user message with <tool_response>\\n{content}\\n</tool_response>\\n, one for consecutive results
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think></think>
    low_effort adds {reasoning effort: low} to the last user message (Super only)
    """,
    names=("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"),
    templates=("ab7813c3abdd9cb6", "575fb74f54ed264d", "f52a4a70292b98db", "d385958544457409"),
    switches=(_THINKING, _TRUNCATE, flag("low_effort", False)),
)

_NEMOTRON_3_ULTRA = _nemotron(
    key="nemotron-3-ultra",
    class_name="Nemotron3Ultra",
    version=2,
    format="""
    as nemotron-3, but
    reasoning  <think>\\n{reasoning}</think>, with no line breaks at its end
    medium_effort adds {reasoning effort: efficient} to the last user message
    """,
    names=("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8"),
    templates=("82753bef5cedc493", "d61cca230ac4f813"),
    switches=(_THINKING, _TRUNCATE, flag("medium_effort", False)),
)

_NEMOTRON_35 = _nemotron(
    key="nemotron-3.5",
    class_name="Nemotron35",
    version=2,
    format="""
    as nemotron-3-ultra, without the effort switch
    image      <image>, in vision models
    """,
    names=("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3.5-Super-EA-09112026"),
    templates=("58933db77d3099b4",),
    switches=(_THINKING, _TRUNCATE),
    media=("image",),
    text_only=("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",),
)

RECORDS = (
    _NEMOTRON_3,
    _NEMOTRON_3_ULTRA,
    _NEMOTRON_35,
)
