"""Mistral: instructions in [INST], answers up to </s>, calls after [TOOL_CALLS]."""

from __future__ import annotations

from functools import partial

from renderers.core.completion_variants import CompletionVariants
from renderers.families.family import Family, words

_mistral = partial(Family, stop_tokens=("</s>",), verified="tokens")

_MISTRAL_NEMO = _mistral(
    key="mistral-nemo",
    class_name="MistralNemo",
    version=2,
    format="""
    <s>, then [INST]{user}[/INST]{assistant}</s>
    system     before the last user message, followed by a blank line, and only if that message is the last
    tools      [AVAILABLE_TOOLS][{JSON}, ...][/AVAILABLE_TOOLS] before the last user message
    call       [TOOL_CALLS][{"name": ..., "arguments": ..., "id": "..."}, ...], all calls of a turn in one list
    result     [TOOL_RESULTS]{"content": ..., "call_id": "..."}[/TOOL_RESULTS]; ids have nine characters
    prompt     nothing: [/INST] ends it
    """,
    names=("mistralai/Mistral-Nemo-Instruct-2407",),
    templates=("e4676cb56dffea77",),
    verified="template",
    syntax="mistral_list",
)

_MISTRAL_SMALL = _mistral(
    key="mistral-small",
    class_name="MistralSmall",
    version=2,
    format="""
    <s>[SYSTEM_PROMPT]{system}[/SYSTEM_PROMPT], then [INST]{user}[/INST]{assistant}</s>; without a system message a
               long one with today's date
    tools      [AVAILABLE_TOOLS][{JSON}, ...][/AVAILABLE_TOOLS] before the last user message
    call       [TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{arguments} for each, in place of the content
    result     [TOOL_RESULTS]{id}[TOOL_CONTENT]{content}[/TOOL_RESULTS]; ids have nine characters
    image      [IMG]
    prompt     nothing: [/INST] ends it
    """,
    names=("mistralai/Mistral-Small-3.2-24B-Instruct-2506",),
    templates=("5b8f31f111986965",),
    syntax="mistral",
    media=("image",),
)

_MINISTRAL_3 = _mistral(
    key="ministral-3",
    class_name="Ministral3",
    version=2,
    format="""
    <s>[SYSTEM_PROMPT]{system}[/SYSTEM_PROMPT], then [INST]{user}[/INST]{assistant}</s>; without a system message one
               that asks for [THINK]
    tools      [AVAILABLE_TOOLS][{JSON}, ...][/AVAILABLE_TOOLS] after the system message
    reasoning  [THINK]{reasoning}[/THINK], from content parts of type thinking
    call       [TOOL_CALLS]{name}[ARGS]{arguments} for each, after the content
    result     [TOOL_RESULTS]{content}[/TOOL_RESULTS]
    image      [IMG]
    prompt     nothing: [/INST] ends it
    """,
    names=words("""
        mistralai/Ministral-3-3B-Reasoning-2512 mistralai/Ministral-3-8B-Reasoning-2512
        mistralai/Ministral-3-14B-Reasoning-2512
    """),
    templates=("39f03c383413f531",),
    syntax="mistral",
    variants=CompletionVariants(reasoning_anywhere=True),
    media=("image",),
)

_DEVSTRAL = _mistral(
    key="devstral",
    class_name="Devstral",
    version=2,
    format="""
    <s>[SYSTEM_PROMPT]{system}[/SYSTEM_PROMPT], then [INST]{user}[/INST]{assistant}</s>; without a system message
               that of Devstral
    tools      [AVAILABLE_TOOLS][{JSON}, ...][/AVAILABLE_TOOLS] after the system message
    call       [TOOL_CALLS]{name}[ARGS]{arguments} for each, after the content
    result     [TOOL_RESULTS]{content}[/TOOL_RESULTS]
    prompt     nothing: [/INST] ends it
    """,
    names=("mistralai/Devstral-Small-2507", "unsloth/Devstral-Small-2507"),
    templates=("039a4710e2aabaa7",),
    verified="template",
    syntax="mistral",
)

RECORDS = (
    _MISTRAL_NEMO,
    _MISTRAL_SMALL,
    _MINISTRAL_3,
    _DEVSTRAL,
)
