"""DeepSeek: one token per role, calls between special tokens, and in later models in DSML markup."""

from __future__ import annotations

from functools import partial

from renderers.families.family import (
    WITHOUT_THINKING,
    Family,
    RetentionRule,
    TemplateSwitch,
    flag,
    keeps_all_if,
    unpassed,
    words,
)

_deepseek = partial(Family, stop_tokens=("<｜end▁of▁sentence｜>",), verified="tokens")

_DEEPSEEK_V3 = _deepseek(
    key="deepseek-v3",
    class_name="DeepSeekV3",
    format="""
    <｜begin▁of▁sentence｜>{system}, then <｜User｜>{content} and <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    system     all system messages, joined by a blank line; tools are not written
    reasoning  none: content is the text after the last </think>
    call       <｜tool▁calls▁begin｜>, <｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\\n```json\\n{arguments}\\n```
               <｜tool▁call▁end｜> for each with \\n between them, <｜tool▁calls▁end｜>
    result     <｜tool▁outputs▁begin｜>, <｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜> for each,
               <｜tool▁outputs▁end｜>; the answer follows without <｜Assistant｜>
    prompt     <｜Assistant｜>, in one known template with <think>\\n; nothing after results
    """,
    names=("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-V3-0324"),
    templates=("563b1ce7d61d50a9", "aadb4942004c186f"),
    # These are not reasoning models. The templates write no reasoning, so each turn with some would end a rollout.
    retention="all",
    syntax="deepseek_v3",
    normalisations=("drops_reasoning",),
)

_DEEPSEEK_R1 = _deepseek(
    key="deepseek-r1",
    class_name="DeepSeekR1",
    version=2,
    format="""
    As deepseek-v3, but the prompt opens reasoning: <｜Assistant｜><think>\\n
    reasoning  never in the history: content is the text after the last </think>
    call       as in deepseek-v3; the known templates, of distilled models, write calls only without content
    prompt     <｜Assistant｜><think>\\n; nothing after results
    """,
    names=words("""
        deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-R1-0528 deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
        deepseek-ai/DeepSeek-R1-Distill-Qwen-7B deepseek-ai/DeepSeek-R1-Distill-Qwen-14B
        deepseek-ai/DeepSeek-R1-Distill-Qwen-32B deepseek-ai/DeepSeek-R1-Distill-Llama-8B
        deepseek-ai/DeepSeek-R1-Distill-Llama-70B
    """),
    templates=("56a1447ad31926fd", "dd2675619a64a449"),
    syntax="deepseek_v3",
    program_without_template="deepseek-r1",
    normalisations=("drops_reasoning", "drops_calls"),
)

_THINKING = unpassed(flag("thinking", False), flag("enable_thinking", False))

_DEEPSEEK_V31 = _deepseek(
    key="deepseek-v3.1",
    class_name="DeepSeekV31",
    format="""
    <｜begin▁of▁sentence｜>{system}, then <｜User｜>{content} and <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    reasoning  never in the history: a turn after a user message begins with <think></think>
    call       <｜tool▁calls▁begin｜>, <｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜> for each,
               <｜tool▁calls▁end｜>
    result     <｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>; the answer follows without <｜Assistant｜>
    prompt     <｜Assistant｜><think></think>; with thinking <｜Assistant｜><think>; nothing after results
    """,
    names=("deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V3.1-Terminus"),
    templates=("d9f5f351b276cf9e",),
    switches=_THINKING,
    syntax="deepseek_v31",
    normalisations=("drops_reasoning",),
)

_DEEPSEEK_V32 = _deepseek(
    key="deepseek-v3.2",
    class_name="DeepSeekV32",
    version=2,
    format="""
    <｜begin▁of▁sentence｜>{system and tools}, then <｜User｜>{content} and
    <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    reasoning  <think>{reasoning}</think> with thinking, after the last user message; else only </think>
    call       \\n\\n<｜DSML｜function_calls>\\n, <｜DSML｜invoke name="{name}">\\n,
               <｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\\n for each argument, or
               string="false" and JSON, </｜DSML｜invoke>\\n, </｜DSML｜function_calls>
    result     \\n\\n<function_results>, \\n<result>{content}</result> for each, \\n</function_results>\\n\\n
    prompt     <｜Assistant｜></think>; with thinking <｜Assistant｜><think>; after results without the first
    """,
    names=("deepseek-ai/DeepSeek-V3.2",),
    templates=("8e5a13fcc4bdd4d9",),
    verified="template",
    switches=_THINKING,
    retains=(RetentionRule("thinking", False, "all"), WITHOUT_THINKING),
    syntax="deepseek_v32",
    program="deepseek-v3.2",
)

_DEEPSEEK_V4 = _deepseek(
    key="deepseek-v4",
    class_name="DeepSeekV4",
    version=2,
    format="""
    <｜begin▁of▁sentence｜>{effort}{system and tools}, then <｜User｜>{content} and
    <｜Assistant｜>{content}<｜end▁of▁sentence｜>; consecutive user and tool messages are one, with blank lines
    reasoning  <think>{reasoning}</think> with thinking, after the last user query, or in all turns with tools or
               without drop_thinking; else only </think>
    call       \\n\\n<｜DSML｜tool_calls>\\n, <｜DSML｜invoke name="{name}">\\n,
               <｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\\n for each argument, or
               string="false" and JSON, </｜DSML｜invoke>\\n, </｜DSML｜tool_calls>
    result     <tool_result>{content}</tool_result> in a user's message, in the order of the calls
    prompt     <｜Assistant｜></think>; with thinking <｜Assistant｜><think>
    """,
    names=("deepseek-ai/DeepSeek-V4-Flash-0731",),
    templates=("aec3d906bce80d43", "7bd4fbdf0c06cd73"),
    switches=(
        flag("enable_thinking", False),
        flag("drop_thinking", True),
        TemplateSwitch("reasoning_effort", ("low", "high", "max"), "low"),
    ),
    retains=(*keeps_all_if("drop_thinking", False), WITHOUT_THINKING),
    syntax="deepseek_v4",
    program="deepseek-v4",
)

_DEEPSEEK_V41 = _deepseek(
    key="deepseek-v4.1",
    class_name="DeepSeekV41",
    format="""
    <｜begin▁of▁sentence｜><｜System｜>{effort}{system and tools}, then as deepseek-v4
    system     <｜System｜>{content}, also between turns
    call       \\n\\n<｜DSML｜ calls>\\n, <｜DSML｜ invoke name="{name}">\\n,
               <｜DSML｜ parameter name="{key}" string="true">{value}</｜DSML｜ parameter>\\n for each argument, or
               string="false" and JSON, </｜DSML｜ invoke>\\n, </｜DSML｜ calls>
    """,
    names=("deepseek-ai/DeepSeek-V4.1-Flash",),
    verified="none",
    switches=(
        flag("enable_thinking", False),
        flag("drop_thinking", True),
        TemplateSwitch("reasoning_effort", ("low", "high", "xhigh", "max"), "high"),
    ),
    retains=(*keeps_all_if("drop_thinking", False), WITHOUT_THINKING),
    syntax="deepseek_v41",
    program="deepseek-v4.1",
)

RECORDS = (
    _DEEPSEEK_V3,
    _DEEPSEEK_R1,
    _DEEPSEEK_V31,
    _DEEPSEEK_V32,
    _DEEPSEEK_V4,
    _DEEPSEEK_V41,
)
