"""GLM: turns without an end token, reasoning in <think>, calls as pairs of tagged keys and values."""

from __future__ import annotations

from functools import partial
from typing import Literal

from renderers.core.options import SamplingConventions
from renderers.families.config import BaseRendererConfig, option
from renderers.families.family import WITHOUT_THINKING, Family, TemplateSwitch, flag, keeps_all_if, words

_NO_THINK = "False adds an empty reasoning block to the prompt, and `/nothink` to user messages."
_THINKING = flag("enable_thinking", True)
_CLEARING = (*keeps_all_if("clear_thinking", False), WITHOUT_THINKING)

_glm = partial(Family, stop_tokens=("<|endoftext|>", "<|user|>", "<|observation|>"), syntax="glm", verified="tokens")

_GLM45 = _glm(
    key="glm-4.5",
    format="""
    [gMASK]<sop>, then <|{role}|>\\n{content}; a turn ends at the next role token, <|user|> or <|observation|>
    system     the tools are a separate <|system|> message, before all others
    reasoning  \\n<think>{reasoning}</think>, in every turn, but empty up to the last user message
    call       \\n<tool_call>{name}\\n, <arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n for each argument,
               </tool_call>; strings verbatim, other values as JSON
    result     \\n<tool_response>\\n{content}\\n</tool_response>, one <|observation|> for consecutive results
    prompt     <|assistant|>; without thinking also \\n<think></think>, and /nothink after user messages
    """,
    names=words("""
        zai-org/GLM-4.5-Air THUDM/GLM-4.5-Air PrimeIntellect/GLM-4.5-Air zai-org/GLM-4.5 zai-org/GLM-4.5-FP8
        zai-org/GLM-4.5-Air-FP8
    """),
    templates=("44f815868bf02fa4",),
    switches=(_THINKING,),
    retains=(WITHOUT_THINKING,),
    normalisations=("trims_content", "trims_reasoning"),
    conventions=SamplingConventions(sampled_from="<think>", prompted=r"\A\n"),
)


class GLM45RendererConfig(BaseRendererConfig, family=_GLM45):
    """GLM-4.5."""

    name: Literal["glm-4.5"] = "glm-4.5"
    enable_thinking: bool = option(True, _NO_THINK)


_GLM46 = _glm(
    key="glm-4.6",
    format="""
    As glm-4.5: [gMASK]<sop>, then <|{role}|>\\n{content}, the tools first as a separate <|system|> message.
    reasoning  \\n<think>{reasoning}</think>, in every turn, but empty up to the last user message
    call       \\n<tool_call>{name}\\n, <arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n for each argument,
               </tool_call>; a call without arguments has no pairs
    prompt     <|assistant|>; without thinking also \\n<think></think>, and /nothink after user messages
    """,
    names=("zai-org/GLM-4.6", "zai-org/GLM-4.6-FP8"),
    templates=("8804f445c761b9f2",),
    switches=(_THINKING,),
    retains=(WITHOUT_THINKING,),
    normalisations=("trims_content", "trims_reasoning"),
)


class GLM46RendererConfig(BaseRendererConfig, family=_GLM46):
    """GLM-4.6."""

    name: Literal["glm-4.6"] = "glm-4.6"
    enable_thinking: bool | None = option(None, _NO_THINK)


_GLM47 = _glm(
    key="glm-4.7",
    format="As glm-5, in the vocabulary of glm-4.5: [gMASK]<sop>, then <|{role}|>{content}, without line breaks.",
    names=("zai-org/GLM-4.7", "zai-org/GLM-4.7-FP8"),
    switches=(_THINKING, flag("clear_thinking", True)),
    retains=_CLEARING,
    verified="none",
)


class GLM47RendererConfig(BaseRendererConfig, family=_GLM47):
    """GLM-4.7."""

    name: Literal["glm-4.7"] = "glm-4.7"
    enable_thinking: bool | None = option(None, "False closes the reasoning block in the prompt.")
    clear_thinking: bool | None = option(None, "False keeps the reasoning of all turns.")


_GLM5 = _glm(
    key="glm-5",
    format="""
    [gMASK]<sop>, then <|{role}|>{content}; a turn ends at the next role token, <|user|> or <|observation|>
    system     the tools are a separate <|system|> message, before all others
    reasoning  <think>{reasoning}</think>, after the last user message or without clear_thinking; else only </think>
    call       <tool_call>{name}, <arg_key>{key}</arg_key><arg_value>{value}</arg_value> for each argument,
               </tool_call>; strings verbatim, other values as JSON
    result     <tool_response>{content}</tool_response>, one <|observation|> for consecutive results
    prompt     <|assistant|><think>; without thinking <|assistant|></think>
    """,
    names=("zai-org/GLM-5", "zai-org/GLM-5-FP8", "zai-org/GLM-4.7-Flash"),
    templates=("d63ad536c3c81880",),
    switches=(_THINKING, flag("clear_thinking", True)),
    retains=_CLEARING,
    normalisations=("trims_content", "trims_reasoning"),
)


class GLM5RendererConfig(BaseRendererConfig, family=_GLM5):
    """GLM-5, and GLM-4.7-Flash, which has the same template."""

    name: Literal["glm-5"] = "glm-5"
    enable_thinking: bool = option(True, "False closes the reasoning block in the prompt.")
    clear_thinking: bool = option(True, "False keeps the reasoning of all turns.")


_GLM51 = _glm(
    key="glm-5.1",
    format="""
    As glm-5, with tools as the value of function without defer_loading and strict; reasoning is not trimmed.
    reasoning  <think>{reasoning}</think>, after the last user message or without clear_thinking, even if empty
               with thinking; else only </think>
    result     <tool_response>{content}</tool_response>; discovered tools are written as <tools>\\n...</tools>
    prompt     <|assistant|><think>; without thinking <|assistant|></think>
    """,
    names=("zai-org/GLM-5.1",),
    templates=("b1abe19bf8f414a7",),
    switches=(_THINKING, flag("clear_thinking", True)),
    retains=_CLEARING,
    normalisations=("trims_content",),
)


class GLM51RendererConfig(BaseRendererConfig, family=_GLM51):
    """GLM-5.1."""

    name: Literal["glm-5.1"] = "glm-5.1"
    enable_thinking: bool = option(True, "False closes the reasoning block in the prompt.")
    clear_thinking: bool = option(True, "False keeps the reasoning of all turns.")


_KEEPING = flag("clear_thinking", False)
_EFFORT = TemplateSwitch("reasoning_effort", ("low", "high", "max"), "max")

_GLM53 = _glm(
    key="glm-5.3",
    format="""
    As glm-5.1, but the effort comes first: [gMASK]<sop><|system|>Reasoning Effort: {effort}
    reasoning  <think>{reasoning}</think> in every turn; with clear_thinking empty up to the last user message
    result     <tool_response>{content}</tool_response>, in the order of the calls
    prompt     <|assistant|><think>
    """,
    names=("zai-org/GLM-5.3", "zai-org/GLM-5.3-BF16"),
    switches=(_KEEPING, _EFFORT),
    retains=keeps_all_if("clear_thinking", False),
    verified="none",
)


class GLM53RendererConfig(BaseRendererConfig, family=_GLM53):
    """GLM-5.3."""

    name: Literal["glm-5.3"] = "glm-5.3"
    clear_thinking: bool = option(False, "True drops the reasoning of turns before the last user message.")
    reasoning_effort: Literal["low", "high", "max"] = option("max", "The requested amount of reasoning.")


_GLM53_FLASH = _glm(
    key="glm-5.3-flash",
    format="""
    As glm-5.3, with images in system, user and tool messages.
    image      <|begin_of_image|><|image|><|end_of_image|>
    """,
    switches=(_KEEPING, _EFFORT),
    retains=keeps_all_if("clear_thinking", False),
    media=("image",),
    verified="none",
)


class GLM53FlashRendererConfig(BaseRendererConfig, family=_GLM53_FLASH):
    """GLM-5.3-Flash."""

    name: Literal["glm-5.3-flash"] = "glm-5.3-flash"
    clear_thinking: bool = option(False, "True drops the reasoning of turns before the last user message.")
    reasoning_effort: Literal["low", "high", "max"] = option("max", "The requested amount of reasoning.")
