"""Families of one record each."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["OTHERS"]

GRANITE_4 = Family(
    key="granite-4",
    format="""
    <|start_of_role|>{role}<|end_of_role|>{content}<|end_of_text|>\\n
    system     the system message, the tools and the documents; without any of them a default, from 4.1 on nothing
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user's message of \\n<tool_response>\\n{content}\\n</tool_response>, one for all that follow each other
    prompt     <|start_of_role|>assistant<|end_of_role|>
    no reasoning
    """,
    names=(
        "ibm-granite/granite-4.0-micro",
        "ibm-granite/granite-4.0-h-micro",
        "ibm-granite/granite-4.0-h-tiny",
        "ibm-granite/granite-4.0-h-small",
    ),
    templates=("9524df67b77a7b25", "fed2756d2d24e127"),
    verified="tokens",
    stops=("<|end_of_text|>",),
    switches=(Switch("available_tools", list),),
    syntax="hermes",
    normalisations=("drops_reasoning",),
)

LFM_2 = Family(
    key="lfm2",
    format="""
    <|startoftext|>, then <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then List of tools: [{JSON}, ...]; LFM2 writes <|tool_list_start|> and
               <|tool_list_end|> around the list
    reasoning  <think>{reasoning}</think>, in LFM2.5: from the field thinking or the content; dropped from earlier turns
    call       <|tool_call_start|>[{name}({key}={value}, ...), ...]<|tool_call_end|>; LFM2 writes none of a history
    result     the role tool; LFM2 writes <|tool_response_start|> and <|tool_response_end|> around it
    prompt     <|im_start|>assistant\\n
    """,
    names=(
        "LiquidAI/LFM2-350M",
        "LiquidAI/LFM2-700M",
        "LiquidAI/LFM2-1.2B",
        "LiquidAI/LFM2-2.6B",
        "LiquidAI/LFM2-8B-A1B",
        "LiquidAI/LFM2.5-1.2B-Instruct",
        "LiquidAI/LFM2.5-8B-A1B",
    ),
    templates=("2294f49b51a0b9a1", "cef187400d62a595", "fc29163f52185634", "f05bf4b967dc993b", "6d65c8804847ad74"),
    verified="template",
    stops=("<|im_end|>",),
    switches=(
        Switch("keep_past_thinking", (True, False), False),
        Switch("preserve_thinking", (True, False), False),
    ),
    syntax="lfm2",
)

OLMO_3 = Family(
    key="olmo-3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then the tools in <functions>...</functions>
    call       <function_calls>{name}({key}={value}, ...)</function_calls>, a line for each
    result     the role environment
    prompt     <|im_start|>assistant\\n
    """,
    names=("allenai/Olmo-3-7B-Instruct",),
    stops=("<|im_end|>", "<|endoftext|>"),
    syntax="olmo",
)

PHI_4 = Family(
    key="phi-4",
    format="""
    <|im_start|>{role}<|im_sep|>{content}<|im_end|>, with nothing between
    prompt     <|im_start|>assistant<|im_sep|>
    no reasoning, no tools
    """,
    names=("microsoft/phi-4",),
    stops=("<|im_end|>", "<|endoftext|>"),
)

SEED_OSS = Family(
    key="seed-oss",
    format="""
    <seed:bos>{role}\\n{content}<seed:eos>
    system     the system message, with the tools behind it as Python functions; then one for the budget of thinking
    reasoning  <seed:think>{reasoning}</seed:think>\\n
    call       <seed:tool_call>\\n<function={name}>\\n<parameter={key}>{value}</parameter>\\n</function>\\n
               </seed:tool_call>
    result     the role tool
    prompt     <seed:bos>assistant\\n; with a budget of 0 also reasoning that says so
    """,
    names=("ByteDance-Seed/Seed-OSS-36B-Instruct",),
    templates=("3f9e0dc4adeb8032",),
    verified="tokens",
    stops=("<seed:eos>",),
    switches=(Switch("thinking_budget", int, -1), Switch("use_json_tooldef", (True, False), False)),
    syntax="seed_xml",
    normalisations=("trims_content", "trims_reasoning"),
)

SMOLLM_3 = Family(
    key="smollm3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     always there: cutoff, date, mode of reasoning, the system message or a default, the tools; the words
               /think, /no_think and /system_override in it are orders
    reasoning  stays in the content; without thinking a turn begins with <think>\\n\\n</think>\\n
    result     a user's message; calls are not written
    prompt     <|im_start|>assistant\\n; without thinking also <think>\\n\\n</think>\\n
    """,
    names=("HuggingFaceTB/SmolLM3-3B",),
    templates=("3e0e275a527f2496", "19eacf64569032f0"),
    verified="tokens",
    stops=("<|im_end|>",),
    switches=(
        Switch("enable_thinking", (True, False), True),
        Switch("xml_tools", list),
        Switch("python_tools", list),
    ),
)

STEP_35 = Family(
    key="step-3.5",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    reasoning  <think>\\n{reasoning}\\n</think>\\n, written after the last question only
    call       <tool_call>\\n<function={name}>\\n<parameter={key}>\\n{value}\\n</parameter>\\n</function>\\n</tool_call>
    result     the role tool_response: <tool_response>{content}</tool_response>
    prompt     <|im_start|>assistant\\n<think>\\n
    """,
    names=("stepfun-ai/Step-3.5-Flash",),
    templates=("b18b99dff7261214",),
    verified="template",
    stops=("<|im_end|>",),
    syntax="qwen_xml",
)

OTHERS = (GRANITE_4, LFM_2, OLMO_3, PHI_4, SEED_OSS, SMOLLM_3, STEP_35)
