"""DeepSeek: two tokens for who speaks, calls between tokens of their own, and later in the markup DSML."""

from __future__ import annotations

from renderers.families.family import Family, Retains, Switch

__all__ = ["DEEPSEEK"]

_STOPS = ("<｜end▁of▁sentence｜>",)

DEEPSEEK_V3 = Family(
    key="deepseek-v3",
    format="""
    <｜begin▁of▁sentence｜>{system}, then <｜User｜>{content} and <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    system     all system messages, joined by a blank line; tools are not written
    reasoning  none: content is what follows the last </think>
    call       <｜tool▁calls▁begin｜>, <｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\\n```json\\n{arguments}\\n```
               <｜tool▁call▁end｜> for each with \\n between them, <｜tool▁calls▁end｜>
    result     <｜tool▁outputs▁begin｜>, <｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜> for each,
               <｜tool▁outputs▁end｜>; the answer follows without <｜Assistant｜>
    prompt     <｜Assistant｜>, in the template at hand with <think>\\n; nothing after results
    """,
    names=("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-V3-0324"),
    templates=("563b1ce7d61d50a9", "aadb4942004c186f"),
    verified="tokens",
    stops=_STOPS,
    syntax="deepseek_v3",
    normalisations=("drops_reasoning",),
)

DEEPSEEK_R1 = Family(
    key="deepseek-r1",
    format="""
    As deepseek-v3, but the prompt opens reasoning: <｜Assistant｜><think>\\n
    reasoning  never in the history: content is what follows the last </think>
    call       as in deepseek-v3; the templates at hand, of the distilled models, write calls only without content
    prompt     <｜Assistant｜><think>\\n; nothing after results
    """,
    names=(
        "deepseek-ai/DeepSeek-R1",
        "deepseek-ai/DeepSeek-R1-0528",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
        "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
    ),
    templates=("56a1447ad31926fd", "dd2675619a64a449"),
    verified="tokens",
    stops=_STOPS,
    syntax="deepseek_v3",
    normalisations=("drops_reasoning", "drops_calls"),
)

_THINKING = (Switch("thinking", (True, False), False), Switch("enable_thinking", (True, False), False))

DEEPSEEK_V31 = Family(
    key="deepseek-v3.1",
    format="""
    <｜begin▁of▁sentence｜>{system}, then <｜User｜>{content} and <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    reasoning  never in the history: a turn after a question begins with <think></think>
    call       <｜tool▁calls▁begin｜>, <｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜> for each,
               <｜tool▁calls▁end｜>
    result     <｜tool▁output▁begin｜>{content}<｜tool▁output▁end｜>; the answer follows without <｜Assistant｜>
    prompt     <｜Assistant｜><think></think>; with thinking <｜Assistant｜><think>; nothing after results
    """,
    names=("deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V3.1-Terminus"),
    templates=("d9f5f351b276cf9e",),
    verified="tokens",
    stops=_STOPS,
    switches=_THINKING,
    syntax="deepseek_v31",
    normalisations=("drops_reasoning",),
)

DEEPSEEK_V32 = Family(
    key="deepseek-v3.2",
    format="""
    <｜begin▁of▁sentence｜>{system and tools}, then <｜User｜>{content} and
    <｜Assistant｜>{content}<｜end▁of▁sentence｜>
    reasoning  <think>{reasoning}</think> with thinking, after the last user's message; else </think> alone
    call       \\n\\n<｜DSML｜function_calls>\\n, <｜DSML｜invoke name="{name}">\\n,
               <｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\\n for each argument, or
               string="false" and JSON, </｜DSML｜invoke>\\n, </｜DSML｜function_calls>
    result     \\n\\n<function_results>, \\n<result>{content}</result> for each, \\n</function_results>\\n\\n
    prompt     <｜Assistant｜><think></think>; with thinking <｜Assistant｜><think>; after results without the first
    """,
    names=("deepseek-ai/DeepSeek-V3.2",),
    templates=("8e5a13fcc4bdd4d9",),
    verified="template",
    stops=_STOPS,
    switches=_THINKING,
    retains=(Retains("thinking", False, "all"), Retains("enable_thinking", False, "all")),
    syntax="dsml",
)

DEEPSEEK_V4 = Family(
    key="deepseek-v4",
    format="""
    <｜begin▁of▁sentence｜>{effort}{system and tools}, then <｜User｜>{content} and
    <｜Assistant｜>{content}<｜end▁of▁sentence｜>; what users and tools say in turn is one message, with blank lines
    reasoning  <think>{reasoning}</think> with thinking, after the last question, or in all turns with tools or without
               drop_thinking; else </think> alone
    call       \\n\\n<｜DSML｜tool_calls>\\n, <｜DSML｜invoke name="{name}">\\n,
               <｜DSML｜parameter name="{key}" string="true">{value}</｜DSML｜parameter>\\n for each argument, or
               string="false" and JSON, </｜DSML｜invoke>\\n, </｜DSML｜tool_calls>
    result     <tool_result>{content}</tool_result> in a user's message, in the order of the calls
    prompt     <｜Assistant｜></think>; with thinking <｜Assistant｜><think>
    """,
    names=("deepseek-ai/DeepSeek-V4-Flash-0731",),
    templates=("aec3d906bce80d43", "7bd4fbdf0c06cd73"),
    verified="template",
    stops=_STOPS,
    switches=(
        Switch("enable_thinking", (True, False), False),
        Switch("drop_thinking", (True, False), True),
        Switch("reasoning_effort", ("low", "high", "max"), "low"),
    ),
    retains=(
        Retains("drop_thinking", False, "all"),
        Retains("enable_thinking", False, "all"),
        Retains("drop_thinking", True, "tool_cycle"),
    ),
    syntax="dsml",
    program="deepseek-v4",
)

DEEPSEEK = (DEEPSEEK_V3, DEEPSEEK_R1, DEEPSEEK_V31, DEEPSEEK_V32, DEEPSEEK_V4)
