"""Nemotron 3: ChatML with reasoning in <think>, tools and calls as XML."""

from __future__ import annotations

from renderers.core.conventions import Conventions
from renderers.families.family import Family, Retains, Switch

__all__ = ["NEMOTRON"]

_STOPS = ("<|im_end|>",)
_THINKING = Switch("enable_thinking", (True, False), True)
_TRUNCATE = Switch("truncate_history_thinking", (True, False), True)
_RETAINS = (
    Retains("truncate_history_thinking", True, "tool_cycle"),
    Retains("truncate_history_thinking", False, "all"),
    Retains("enable_thinking", False, "all"),
)
_NORMALISATIONS = ("drops_blank_reasoning", "trims_end_of_content")
_CONVENTIONS = Conventions(sampled_from="<think>")

NEMOTRON_3 = Family(
    key="nemotron-3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     always there, empty if need be; the tools behind it, <function>\\n<name>...</name> and so on in <tools>
    reasoning  <think>\\n{reasoning}\\n</think>\\n; <think></think> where there is none or a user's message follows
    call       <tool_call>\\n<function={name}>\\n<parameter={key}>\\n{value}\\n</parameter>\\n</function>\\n
               </tool_call>\\n
    result     a user's message of <tool_response>\\n{content}\\n</tool_response>\\n, one for all that follow each other
    prompt     <|im_start|>assistant\\n<think>\\n; without thinking <think></think>
    low_effort adds {reasoning effort: low} to the last user's message (Super only)
    """,
    names=("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"),
    templates=("ab7813c3abdd9cb6", "575fb74f54ed264d", "f52a4a70292b98db", "d385958544457409"),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, _TRUNCATE, Switch("low_effort", (True, False), False)),
    retains=_RETAINS,
    syntax="qwen_xml",
    normalisations=_NORMALISATIONS,
    conventions=_CONVENTIONS,
)

NEMOTRON_3_ULTRA = Family(
    key="nemotron-3-ultra",
    format="""
    as nemotron-3, but
    reasoning  <think>\\n{reasoning}</think>, with no line breaks at its end
    medium_effort adds {reasoning effort: efficient} to the last user's message
    """,
    names=("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8"),
    templates=("82753bef5cedc493", "d61cca230ac4f813"),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, _TRUNCATE, Switch("medium_effort", (True, False), False)),
    retains=_RETAINS,
    syntax="qwen_xml",
    normalisations=_NORMALISATIONS,
    conventions=_CONVENTIONS,
)

NEMOTRON_35 = Family(
    key="nemotron-3.5",
    format="""
    as nemotron-3-ultra, without its switch for the effort
    image      <image>, in the models that see
    """,
    names=("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16", "nvidia/NVIDIA-Nemotron-3.5-Super-EA-09112026"),
    templates=("58933db77d3099b4",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, _TRUNCATE),
    retains=_RETAINS,
    syntax="qwen_xml",
    normalisations=_NORMALISATIONS,
    conventions=_CONVENTIONS,
    media=("image",),
    text_alone=("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16",),
)

NEMOTRON = (NEMOTRON_3, NEMOTRON_3_ULTRA, NEMOTRON_35)
