"""GLM: turns without an end of their own, reasoning in <think>, calls as pairs of tagged keys and values."""

from __future__ import annotations

from renderers.core.conventions import Conventions
from renderers.families.family import Family, Retains, Switch

__all__ = ["GLM"]

_STOPS = ("<|endoftext|>", "<|user|>", "<|observation|>")
_THINKING = Switch("enable_thinking", (True, False), True)
_WITHOUT_THINKING = Retains("enable_thinking", False, "all")
_CLEARING = (
    Retains("clear_thinking", False, "all"),
    _WITHOUT_THINKING,
    Retains("clear_thinking", True, "tool_cycle"),
)

GLM45 = Family(
    key="glm-4.5",
    format="""
    [gMASK]<sop>, then <|{role}|>\\n{content}; a turn ends where the next begins, at <|user|> or <|observation|>
    system     the tools are a <|system|> message of their own, before all others
    reasoning  \\n<think>{reasoning}</think>, in every turn, but empty up to the last user's message
    call       \\n<tool_call>{name}\\n, <arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n for each argument,
               </tool_call>; strings as they are, all else as JSON
    result     \\n<tool_response>\\n{content}\\n</tool_response>, one <|observation|> for all that follow each other
    prompt     <|assistant|>; without thinking also \\n<think></think>, and /nothink behind what users say
    """,
    names=(
        "zai-org/GLM-4.5-Air",
        "THUDM/GLM-4.5-Air",
        "PrimeIntellect/GLM-4.5-Air",
        "zai-org/GLM-4.5",
        "zai-org/GLM-4.5-FP8",
        "zai-org/GLM-4.5-Air-FP8",
    ),
    templates=("44f815868bf02fa4",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING,),
    retains=(_WITHOUT_THINKING,),
    syntax="glm",
    normalisations=("trims_content", "trims_reasoning"),
    conventions=Conventions(sampled_from="<think>", given=r"\A\n"),
)

GLM46 = Family(
    key="glm-4.6",
    format="""
    As glm-4.5: [gMASK]<sop>, then <|{role}|>\\n{content}, the tools first as a <|system|> message of their own.
    reasoning  \\n<think>{reasoning}</think>, in every turn, but empty up to the last user's message
    call       \\n<tool_call>{name}\\n, <arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n for each argument,
               </tool_call>; a call without arguments has none of these
    prompt     <|assistant|>; without thinking also \\n<think></think>, and /nothink behind what users say
    """,
    names=("zai-org/GLM-4.6", "zai-org/GLM-4.6-FP8"),
    templates=("8804f445c761b9f2",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING,),
    retains=(_WITHOUT_THINKING,),
    syntax="glm",
    normalisations=("trims_content", "trims_reasoning"),
)

GLM47 = Family(
    key="glm-4.7",
    format="""
    As glm-5, in the vocabulary of glm-4.5: [gMASK]<sop>, then <|{role}|>{content}, without line breaks.
    """,
    names=("zai-org/GLM-4.7", "zai-org/GLM-4.7-FP8"),
    stops=_STOPS,
    switches=(_THINKING, Switch("clear_thinking", (True, False), True)),
    retains=_CLEARING,
    syntax="glm",
)

GLM5 = Family(
    key="glm-5",
    format="""
    [gMASK]<sop>, then <|{role}|>{content}; a turn ends where the next begins, at <|user|> or <|observation|>
    system     the tools are a <|system|> message of their own, before all others
    reasoning  <think>{reasoning}</think>, after the last user's message or without clear_thinking; else </think> alone
    call       <tool_call>{name}, <arg_key>{key}</arg_key><arg_value>{value}</arg_value> for each argument,
               </tool_call>; strings as they are, all else as JSON
    result     <tool_response>{content}</tool_response>, one <|observation|> for all that follow each other
    prompt     <|assistant|><think>; without thinking <|assistant|></think>
    """,
    names=("zai-org/GLM-5", "zai-org/GLM-5-FP8", "zai-org/GLM-4.7-Flash"),
    templates=("d63ad536c3c81880",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, Switch("clear_thinking", (True, False), True)),
    retains=_CLEARING,
    syntax="glm",
    normalisations=("trims_content", "trims_reasoning"),
)

GLM51 = Family(
    key="glm-5.1",
    format="""
    As glm-5, but a tool is what is in its function, without defer_loading and strict, and reasoning is not trimmed.
    reasoning  <think>{reasoning}</think>, after the last user's message or without clear_thinking, even if there is
               none while the model thinks; else </think> alone
    result     <tool_response>{content}</tool_response>; tools that were found are written as <tools>\\n...</tools>
    prompt     <|assistant|><think>; without thinking <|assistant|></think>
    """,
    names=("zai-org/GLM-5.1",),
    templates=("b1abe19bf8f414a7",),
    verified="tokens",
    stops=_STOPS,
    switches=(_THINKING, Switch("clear_thinking", (True, False), True)),
    retains=_CLEARING,
    syntax="glm",
    normalisations=("trims_content",),
)

_KEEPING = Switch("clear_thinking", (True, False), False)
_EFFORT = Switch("reasoning_effort", ("low", "high", "max"), "max")
_KEPT = (Retains("clear_thinking", False, "all"), Retains("clear_thinking", True, "tool_cycle"))

GLM53 = Family(
    key="glm-5.3",
    format="""
    As glm-5.1, but how much the model thinks is said first: [gMASK]<sop><|system|>Reasoning Effort: {effort}
    reasoning  <think>{reasoning}</think> in every turn; with clear_thinking empty up to the last user's message
    result     <tool_response>{content}</tool_response>, in the order of the calls
    prompt     <|assistant|><think>
    """,
    names=("zai-org/GLM-5.3", "zai-org/GLM-5.3-BF16"),
    stops=_STOPS,
    switches=(_KEEPING, _EFFORT),
    retains=_KEPT,
    syntax="glm",
)

GLM53_FLASH = Family(
    key="glm-5.3-flash",
    format="""
    As glm-5.3, with images of systems, users and tools.
    image      <|begin_of_image|><|image|><|end_of_image|>
    """,
    stops=_STOPS,
    switches=(_KEEPING, _EFFORT),
    retains=_KEPT,
    syntax="glm",
    media=("image",),
)

GLM = (GLM45, GLM46, GLM47, GLM5, GLM51, GLM53, GLM53_FLASH)
