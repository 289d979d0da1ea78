"""Families of vendors with one record or two."""

from __future__ import annotations

from renderers.core.completion_variants import CompletionVariants
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

_COMMAND_STOPS = ("<|END_OF_TURN_TOKEN|>",)

_COMMAND_A = Family(
    key="command-a",
    class_name="CommandA",
    version=2,
    format="""
    <BOS_TOKEN>, then <|START_OF_TURN_TOKEN|><|{ROLE}_TOKEN|>{content}<|END_OF_TURN_TOKEN|>: SYSTEM, USER, CHATBOT
    system     always: a long preamble, the tools as JSON in it, the system message at its end
    content    <|START_RESPONSE|>{content}<|END_RESPONSE|>
    reasoning  <|START_THINKING|>{plan}<|END_THINKING|>, before calls only
    call       <|START_ACTION|>[\\n    {"tool_call_id": "0", "tool_name": ..., "parameters": ...}\\n]<|END_ACTION|>,
               with ids counted from 0 in the conversation; Command A's default template writes none
    result     a SYSTEM turn of <|START_TOOL_RESULT|>[{"tool_call_id": ..., "results": ...}]<|END_TOOL_RESULT|>
    prompt     <|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>, in every render; Command A adds <|START_RESPONSE|>
    """,
    names=words("""
        CohereLabs/c4ai-command-a-03-2025 CohereForAI/c4ai-command-a-03-2025 CohereLabs/c4ai-command-r7b-12-2024
        CohereForAI/c4ai-command-r7b-12-2024
    """),
    templates=("5a3fc70a3b0a5f2d", "cc60b553279347d8"),
    verified="tokens",
    stop_tokens=_COMMAND_STOPS,
    switches=unpassed(
        TemplateSwitch("safety_mode", ("CONTEXTUAL", "STRICT"), "CONTEXTUAL"),
        flag("enable_citations", False),
        flag("enable_thinking", False),
    ),
    syntax="command",
    # A generation prompt can end with the marker of content, which the model follows with reasoning.
    variants=CompletionVariants(reasoning=("<|START_THINKING|>", "<|END_THINKING|>"), reasoning_anywhere=True),
)

_COMMAND_R = Family(
    key="command-r",
    class_name="CommandR",
    version=2,
    format="""
    <BOS_TOKEN>, then <|START_OF_TURN_TOKEN|><|{ROLE}_TOKEN|>{content}<|END_OF_TURN_TOKEN|>: SYSTEM, USER, CHATBOT
    system     a preamble, the system message or a default in it, the tools as Python functions at its end
    call       {content}\\nAction:\\n```json\\n[\\n    {"tool_name": ..., "parameters": ...}\\n]```\\n
               without an end token
    result     a SYSTEM turn of <results>\\n{content}</results>
    prompt     a SYSTEM turn that requests actions, then <|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>
    """,
    names=words("""
        CohereLabs/c4ai-command-r-v01 CohereForAI/c4ai-command-r-v01 CohereLabs/c4ai-command-r-plus
        CohereForAI/c4ai-command-r-plus
    """),
    templates=("bf9e9ee8c0f2297c",),
    verified="template",
    stop_tokens=_COMMAND_STOPS,
    syntax="command_r",
)

_GRANITE_4 = Family(
    key="granite-4",
    class_name="Granite4",
    format="""
    <|start_of_role|>{role}<|end_of_role|>{content}<|end_of_text|>\\n
    system     the system message, the tools and the documents; without any of them a default, from 4.1 on nothing
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>
    result     a user message with \\n<tool_response>\\n{content}\\n</tool_response>, one for consecutive results
    prompt     <|start_of_role|>assistant<|end_of_role|>
    no reasoning
    """,
    names=words("""
        ibm-granite/granite-4.0-micro ibm-granite/granite-4.0-h-micro ibm-granite/granite-4.0-h-tiny
        ibm-granite/granite-4.0-h-small
    """),
    templates=("9524df67b77a7b25", "fed2756d2d24e127"),
    verified="tokens",
    stop_tokens=("<|end_of_text|>",),
    switches=(TemplateSwitch("available_tools", list),),
    syntax="hermes",
    variants=TEXT_AFTER_CALLS,
    normalisations=("drops_reasoning",),
)

_HY3 = Family(
    key="hy3",
    class_name="Hy3",
    format="""
    <｜hy_begin_of_sentence:opensource｜>, all system messages joined, the tools, the effort
    user       <｜hy_User:opensource｜>{content}
    assistant  <｜hy_Assistant:opensource｜>{reasoning}{content}{calls}<｜hy_eos:opensource｜>; the end is omitted
               after the last message, unless it has calls or is_training is set
    reasoning  <think:opensource>{reasoning}</think:opensource>, empty if it is not kept
    call       <tool_call:opensource>{name}<tool_sep:opensource>\\n, for each argument
               <arg_key:opensource>{key}</arg_key:opensource>\\n<arg_value:opensource>{value}</arg_value:opensource>\\n,
               </tool_call:opensource>\\n; all of a turn in <tool_calls:opensource>\\n...</tool_calls:opensource>
    result     <tool_response:opensource>\\n{content}\\n</tool_response:opensource>\\n, all of a turn in
               <tool_responses:opensource>\\n...</tool_responses:opensource>
    prompt     <｜hy_Assistant:opensource｜><think:opensource>; without thinking also </think:opensource>
    """,
    names=("tencent/Hy3", "tencent/Hy3-FP8"),
    templates=("84437b9746423f04",),
    verified="template",
    stop_tokens=("<｜hy_eos:opensource｜>",),
    switches=(
        TemplateSwitch("reasoning_effort", ("no_think", "low", "high"), "no_think"),
        # By default, reasoning is kept if there are tools.
        flag("preserved_thinking"),
        flag("is_training", False),
        flag("raw_last_assistant", False),
        TemplateSwitch("fallback_strategy", (None, "reasoning_toolcall_retry")),
    ),
    retains=keeps_all_if("preserved_thinking", True),
    syntax="hy3",
)

_INKLING = Family(
    key="inkling",
    class_name="Inkling",
    format="""
    <|message_{role}|><|content_{kind}|>{content}<|end_message|> for each part; the assistant's role is model
    system     the tools as compact JSON, the system messages, then Thinking effort level: {number}
    assistant  its segments, then <|content_model_end_sampling|>
    reasoning  <|message_model|><|content_thinking|>{reasoning}<|end_message|>
    call       <|message_model|>{name}<|content_invoke_tool_json|>{"name":...,"args":...}<|end_message|>
    result     <|message_tool|>{name}<|content_text|>{content}<|end_message|>
    prompt     <|message_model|>
    """,
    names=("thinkingmachines/Inkling", "thinkingmachines/Inkling-Small"),
    # No vocabulary was available. The text and the places of special tokens are those of vLLM's encoder.
    stop_tokens=("<|content_model_end_sampling|>", "<|endoftext|>"),
    # From 0 to 0.99. The words none, minimal, low, medium, high, xhigh and max stand for numbers.
    switches=(TemplateSwitch("reasoning_effort", float, 0.9),),
    syntax="inkling",
    program="inkling",
    content_tokens="text",
    media=("image", "audio"),
    listed_media=("image", "audio"),
)

_LFM_2 = Family(
    key="lfm2",
    class_name="LFM2",
    version=2,
    format="""
    <|startoftext|>, then <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then List of tools: [{JSON}, ...]; LFM2 writes <|tool_list_start|> and
               <|tool_list_end|> around the list
    reasoning  <think>{reasoning}</think>, in LFM2.5: from the field thinking or the content; dropped from earlier turns
    call       <|tool_call_start|>[{name}({key}={value}, ...), ...]<|tool_call_end|>; LFM2 writes no past calls
    result     the role tool; LFM2 writes <|tool_response_start|> and <|tool_response_end|> around it
    prompt     <|im_start|>assistant\\n
    """,
    names=words("""
        LiquidAI/LFM2-350M LiquidAI/LFM2-700M LiquidAI/LFM2-1.2B LiquidAI/LFM2-2.6B LiquidAI/LFM2-8B-A1B
        LiquidAI/LFM2.5-1.2B-Instruct LiquidAI/LFM2.5-8B-A1B
    """),
    templates=("2294f49b51a0b9a1", "cef187400d62a595", "fc29163f52185634", "f05bf4b967dc993b", "6d65c8804847ad74"),
    verified="template",
    stop_tokens=("<|im_end|>",),
    switches=unpassed(flag("keep_past_thinking", False), flag("preserve_thinking", False)),
    syntax="lfm2",
)

_MINICPM_5 = Family(
    key="minicpm5",
    class_name="MiniCPM5",
    format="""
    <s>, then <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then the tools as JSON in <tools>...</tools>, or in place of <tool_def_sep>
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, only after the last user query
    call       <function name="{name}"><param name="{key}">{value}</param></function>, a line for each; markup and
               line breaks in <![CDATA[...]]>
    result     in a user message: \\n<tool_response>\\n{content}\\n</tool_response>
    prompt     <|im_start|>assistant\\n; with thinking also <think>\\n, without <think>\\n\\n</think>\\n\\n
    """,
    names=("openbmb/MiniCPM5-1B",),
    templates=("7451a05cf1e28a79",),
    verified="template",
    stop_tokens=("<|im_end|>",),
    switches=(flag("enable_thinking"),),
    retains=(WITHOUT_THINKING,),
    syntax="minicpm",
)

_MUSE_GLIMMER = Family(
    key="muse-glimmer",
    class_name="MuseGlimmer",
    format="""
    <|begin_of_text|>, then <|start|>{role}<|message|>{content}<|eot|>
    system     the system message or cutoff and date, then the effort, the tools as JSON and the valid recipients
    reasoning  <|start|>assistant to=self<|message|>{reasoning}<|eom|>
    content    <|start|>assistant to=user<|message|>{content}<|eot|>
    call       <|start|>assistant to={name}<|message|><atem:function_calls>\\n<atem:invoke name="...">\\n
               <atem:parameter name="...">{value}</atem:parameter>\\n</atem:invoke>\\n</atem:function_calls>
               and <|eom|>, after the last <|eot|>
    result     <|start|>tool {name}<|message|><tool_output name="...">\\n{content}\\n</tool_output><|eot|>
    prompt     <|start|>assistant
    """,
    names=("meta-models/Muse-Glimmer-30B",),
    templates=("cfc67e5f349f3769",),
    verified="template",
    stop_tokens=("<|eot|>",),
    switches=unpassed(
        TemplateSwitch("reasoning_strength", str, "high"),
        TemplateSwitch("knowledge_cutoff", str, "2026-01-04"),
        # The default is the current date, so it is not listed.
        TemplateSwitch("current_date", str),
        TemplateSwitch("tool_namespace_descriptions", dict),
    ),
    syntax="atem",
    media=("image", "video"),
)

_OLMO_3 = Family(
    key="olmo-3",
    class_name="Olmo3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then the tools in <functions>...</functions>
    call       <function_calls>{name}({key}={value}, ...)</function_calls>, a line for each
    result     the role environment
    prompt     <|im_start|>assistant\\n
    """,
    names=("allenai/Olmo-3-7B-Instruct",),
    stop_tokens=("<|im_end|>", "<|endoftext|>"),
    syntax="olmo",
)

_PHI_4 = Family(
    key="phi-4",
    class_name="Phi4",
    format="""
    <|im_start|>{role}<|im_sep|>{content}<|im_end|>, with nothing between
    prompt     <|im_start|>assistant<|im_sep|>
    no reasoning, no tools
    """,
    names=("microsoft/phi-4",),
    stop_tokens=("<|im_end|>", "<|endoftext|>"),
)

_SEED_OSS = Family(
    key="seed-oss",
    class_name="SeedOss",
    format="""
    <seed:bos>{role}\\n{content}<seed:eos>
    system     the system message, followed by the tools as Python functions; then one with the thinking budget
    reasoning  <seed:think>{reasoning}</seed:think>\\n
    call       <seed:tool_call>\\n<function={name}>\\n<parameter={key}>{value}</parameter>\\n</function>\\n
               </seed:tool_call>
    result     the role tool
    prompt     <seed:bos>assistant\\n; with a budget of 0 also reasoning with that budget
    """,
    names=("ByteDance-Seed/Seed-OSS-36B-Instruct",),
    templates=("3f9e0dc4adeb8032",),
    verified="tokens",
    stop_tokens=("<seed:eos>",),
    switches=unpassed(TemplateSwitch("thinking_budget", int, -1), flag("use_json_tooldef", False)),
    syntax="seed_xml",
    variants=TEXT_AFTER_CALLS,
    normalisations=("trims_content", "trims_reasoning"),
)

_SMOLLM_3 = Family(
    key="smollm3",
    class_name="SmolLM3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     always: cutoff, date, mode of reasoning, the system message or a default, the tools; it may
               contain the commands /think, /no_think and /system_override
    reasoning  stays in the content; without thinking a turn begins with <think>\\n\\n</think>\\n
    call       <tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>, by the model only
    result     a user message; past calls are not written
    prompt     <|im_start|>assistant\\n; without thinking also <think>\\n\\n</think>\\n
    """,
    names=("HuggingFaceTB/SmolLM3-3B",),
    templates=("3e0e275a527f2496", "19eacf64569032f0"),
    verified="tokens",
    stop_tokens=("<|im_end|>",),
    switches=unpassed(
        flag("enable_thinking", True),
        TemplateSwitch("xml_tools", list),
        TemplateSwitch("python_tools", list),
    ),
    syntax="hermes",
)

_STEP_35 = Family(
    key="step-3.5",
    class_name="Step35",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    reasoning  <think>\\n{reasoning}\\n</think>\\n, only after the last user query
    call       <tool_call>\\n<function={name}>\\n<parameter={key}>\\n{value}\\n</parameter>\\n</function>\\n</tool_call>
    result     the role tool_response: <tool_response>{content}</tool_response>
    prompt     <|im_start|>assistant\\n<think>\\n
    """,
    names=("stepfun-ai/Step-3.5-Flash",),
    templates=("b18b99dff7261214",),
    verified="template",
    stop_tokens=("<|im_end|>",),
    syntax="qwen_xml",
    variants=TEXT_AFTER_CALLS,
)

RECORDS = (
    _COMMAND_A,
    _COMMAND_R,
    _GRANITE_4,
    _HY3,
    _INKLING,
    _LFM_2,
    _MINICPM_5,
    _MUSE_GLIMMER,
    _OLMO_3,
    _PHI_4,
    _SEED_OSS,
    _SMOLLM_3,
    _STEP_35,
)
