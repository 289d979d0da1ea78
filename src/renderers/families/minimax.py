"""MiniMax: turns between odd brackets, calls as XML in one block for all of a turn."""

from __future__ import annotations

from renderers.core.conventions import Conventions
from renderers.families.family import Family, Switch

__all__ = ["MINIMAX"]

_STOPS = ("[e~[",)

MINIMAX_M2 = Family(
    key="minimax-m2",
    format="""
    ]~!b[ once, then ]~b]{role}\\n{content}[e~[\\n; the assistant's role is ai
    system     always there: the system message or an identity, with the tools behind it, <tool>{JSON}</tool> each
    reasoning  <think>\\n{reasoning}\\n</think>\\n\\n, written after the last user's message only
    call       \\n<minimax:tool_call>\\n<invoke name="...">\\n<parameter name="...">{value}</parameter>\\n</invoke>\\n
               </minimax:tool_call>, one block for all calls of a turn
    result     ]~b]tool, \\n<response>{content}</response> for each that follows, [e~[\\n
    prompt     ]~b]ai\\n<think>\\n
    """,
    names=("MiniMaxAI/MiniMax-M2", "MiniMaxAI/MiniMax-M2.5"),
    templates=("967ff7e387676f4b",),
    verified="tokens",
    stops=_STOPS,
    # Each release names itself in its template, so there is no default for all of them.
    switches=(Switch("model_identity", str),),
    syntax="minimax",
    conventions=Conventions(sampled_from="<think>"),
)

MINIMAX_M3 = Family(
    key="minimax-m3",
    format="""
    ]~!b[ once, then ]~b]{role}\\n{content}[e~[\\n; the assistant's role is ai
    system     always there: a message of the role root or an identity, then how to think
    developer  always there: the system or developer message or an identity, with the tools behind it
    reasoning  <mm:think>{reasoning}</mm:think> in every turn; a turn without any begins with </mm:think>
    call       ]<]minimax[>[<tool_call>\\n]<]minimax[>[<invoke name="...">, each argument as
               ]<]minimax[>[<{key}>{value}]<]minimax[>[</{key}> with items and keys nested the same way, and the ends
    result     ]~b]tool, \\n<response>{content}</response> for each that follows, [e~[\\n
    prompt     ]~b]ai\\n; with thinking enabled also <mm:think>, with thinking disabled </mm:think>
    """,
    names=("MiniMaxAI/MiniMax-M3",),
    templates=("11421244f6755349",),
    verified="template",
    stops=_STOPS,
    switches=(
        Switch("thinking_mode", ("enabled", "disabled", "adaptive"), "adaptive"),
        Switch("model_identity", str, "You are a helpful assistant."),
    ),
    syntax="minimax_m3",
    media=("image", "video"),
)

MINIMAX = (MINIMAX_M2, MINIMAX_M3)
