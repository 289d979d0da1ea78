"""MiniMax: turns between bracket tokens, all calls of a turn as XML in one block."""

from __future__ import annotations

from renderers.core.options import SamplingConventions
from renderers.families.family import TEXT_AFTER_CALLS, Family, TemplateSwitch, unpassed

_STOPS = ("[e~[",)

_MINIMAX_M2 = Family(
    key="minimax-m2",
    class_name="MiniMaxM2",
    version=2,
    format="""
    ]~!b[ once, then ]~b]{role}\\n{content}[e~[\\n; the assistant's role is ai
    system     always: the system message or an identity, followed by the tools, <tool>{JSON}</tool> each
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, only after the last user message
    call       \\n<minimax:tool_call>\\n<invoke name="...">\\n<parameter name="...">{value}</parameter>\\n</invoke>\\n
               </minimax:tool_call>, one block for all calls of a turn
    result     ]~b]tool, \\n<response>{content}</response> for each that follows, [e~[\\n
    prompt     ]~b]ai\\n<think>\\n
    """,
    names=("MiniMaxAI/MiniMax-M2", "MiniMaxAI/MiniMax-M2.5"),
    templates=("967ff7e387676f4b",),
    verified="tokens",
    stop_tokens=_STOPS,
    # Each release has its own default.
    switches=(TemplateSwitch("model_identity", str),),
    syntax="minimax",
    variants=TEXT_AFTER_CALLS,
    conventions=SamplingConventions(sampled_from="<think>", prompted=r"\A\n"),
)

_MINIMAX_M3 = Family(
    key="minimax-m3",
    class_name="MiniMaxM3",
    format="""
    ]~!b[ once, then ]~b]{role}\\n{content}[e~[\\n; the assistant's role is ai
    system     always: a message of the role root or an identity, then the thinking mode
    developer  always: the system or developer message or an identity, followed by the tools
    reasoning  <mm:think>{reasoning}</mm:think> in every turn; a turn without reasoning begins with </mm:think>
    call       ]<]minimax[>[<tool_call>\\n]<]minimax[>[<invoke name="...">, each argument as
               ]<]minimax[>[<{key}>{value}]<]minimax[>[</{key}> with items and keys nested the same way, and the ends
    result     ]~b]tool, \\n<response>{content}</response> for each that follows, [e~[\\n
    prompt     ]~b]ai\\n; with thinking enabled also <mm:think>, with thinking disabled </mm:think>
    """,
    names=("MiniMaxAI/MiniMax-M3",),
    templates=("11421244f6755349",),
    verified="template",
    stop_tokens=_STOPS,
    switches=unpassed(
        TemplateSwitch("thinking_mode", ("enabled", "disabled", "adaptive"), "adaptive"),
        TemplateSwitch("model_identity", str, "You are a helpful assistant."),
    ),
    syntax="minimax_m3",
    media=("image", "video"),
)

RECORDS = (
    _MINIMAX_M2,
    _MINIMAX_M3,
)
