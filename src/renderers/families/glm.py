"""GLM: turns without an end token, reasoning in <think>, calls as pairs of tagged keys and values."""

from __future__ import annotations

from functools import partial

from renderers.core.options import SamplingConventions
from renderers.families.family import WITHOUT_THINKING, Family, TemplateSwitch, flag, keeps_all_if, unpassed, words

_THINKING = flag("enable_thinking", True)
_CLEARING = (*keeps_all_if("clear_thinking", False), WITHOUT_THINKING)

_glm = partial(Family, stop_tokens=("<|endoftext|>", "<|user|>", "<|observation|>"), syntax="glm", verified="tokens")

_GLM45 = _glm(
    key="glm-4.5",
    class_name="GLM45",
    version=2,
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

_GLM46 = _glm(
    key="glm-4.6",
    class_name="GLM46",
    version=2,
    format="""
    As glm-4.5: [gMASK]<sop>, then <|{role}|>\\n{content}, the tools first as a separate <|system|> message.
    reasoning  \\n<think>{reasoning}</think>, in every turn, but empty up to the last user message
    call       \\n<tool_call>{name}\\n, <arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n for each argument,
               </tool_call>; a call without arguments has no pairs
    prompt     <|assistant|>; without thinking also \\n<think></think>, and /nothink after user messages
    """,
    names=("zai-org/GLM-4.6", "zai-org/GLM-4.6-FP8"),
    templates=("8804f445c761b9f2",),
    switches=unpassed(_THINKING),
    retains=(WITHOUT_THINKING,),
    normalisations=("trims_content", "trims_reasoning"),
)

_GLM47 = _glm(
    key="glm-4.7",
    class_name="GLM47",
    format="As glm-5, in the vocabulary of glm-4.5: [gMASK]<sop>, then <|{role}|>{content}, without line breaks.",
    names=("zai-org/GLM-4.7", "zai-org/GLM-4.7-FP8"),
    switches=unpassed(_THINKING, flag("clear_thinking", True)),
    retains=_CLEARING,
    verified="none",
)

_GLM5 = _glm(
    key="glm-5",
    class_name="GLM5",
    version=2,
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

_GLM51 = _glm(
    key="glm-5.1",
    class_name="GLM51",
    version=2,
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

_GLM52 = _glm(
    key="glm-5.2",
    class_name="GLM52",
    format="As glm-5.1, with a requested amount of reasoning.",
    names=("zai-org/GLM-5.2", "zai-org/GLM-5.2-FP8"),
    switches=unpassed(_THINKING, flag("clear_thinking"), TemplateSwitch("reasoning_effort", ("high", "max"))),
    retains=_CLEARING,
    verified="none",
)

_KEEPING = flag("clear_thinking", False)
_EFFORT = TemplateSwitch("reasoning_effort", ("low", "high", "max"), "max")

_GLM53 = _glm(
    key="glm-5.3",
    class_name="GLM53",
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

_GLM53_FLASH = _glm(
    key="glm-5.3-flash",
    class_name="GLM53Flash",
    format="""
    As glm-5.3, with images in system, user and tool messages.
    image      <|begin_of_image|><|image|><|end_of_image|>
    """,
    names=("zai-org/GLM-5.3-Flash", "zai-org/GLM-5.3-Flash-BF16"),
    switches=(_KEEPING, _EFFORT),
    retains=keeps_all_if("clear_thinking", False),
    media=("image",),
    verified="none",
)

RECORDS = (
    _GLM45,
    _GLM46,
    _GLM47,
    _GLM5,
    _GLM51,
    _GLM52,
    _GLM53,
    _GLM53_FLASH,
)
