"""Laguna of Poolside: turns in tags of their roles, reasoning in <think>, calls as pairs of keys and values."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["LAGUNA"]

_STOPS = ("</assistant>", "〈|EOS|〉")
_THINKING_OFF = Switch("enable_thinking", (True, False), False)
_RAW = Switch("render_assistant_messages_raw", (True, False), False)

LAGUNA_XS_2 = Family(
    key="laguna-xs.2",
    format="""
    〈|EOS|〉, then <{role}>\\n{content}\\n</{role}>\\n
    system     the system message or a persona, with the tools behind it; an empty one leaves it out
    assistant  <assistant>\\n{reasoning}{content}\\n{calls}</assistant>\\n
    reasoning  <think>\\n{reasoning}\\n</think>\\n; a turn without any begins with </think>\\n
    call       <tool_call>{name}\\n<arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n</tool_call>\\n
    result     <tool_response>\\n{content}\\n</tool_response>\\n
    prompt     <assistant>\\n</think>; with thinking <assistant>\\n<think>
    """,
    names=("poolside/Laguna-XS.2",),
    templates=("cefcef90515772c0",),
    verified="template",
    stops=_STOPS,
    switches=(_THINKING_OFF, _RAW),
    syntax="glm",
)

LAGUNA_M_1 = Family(
    key="laguna-m.1",
    format="""
    as laguna-xs.2, but without a persona: no system message and no tools, no <system>
    """,
    names=("poolside/Laguna-M.1",),
    templates=("5f1bf14725b6a0e6",),
    verified="template",
    stops=_STOPS,
    switches=(_THINKING_OFF, _RAW),
    syntax="glm",
)

LAGUNA_XS_21 = Family(
    key="laguna-xs-2.1",
    format="""
    〈|EOS|〉, then <{role}>{content}</{role}>\\n, the content as it is
    system     the system message or a persona, with the tools behind it; an empty one leaves it out
    reasoning  with thinking <think>{reasoning}</think> in every turn, else </think>
    call       <tool_call>{name}<arg_key>{key}</arg_key><arg_value>{value}</arg_value></tool_call>
    result     <tool_response>{content}</tool_response>\\n
    prompt     <assistant></think>; with thinking <assistant><think>
    """,
    names=("poolside/Laguna-XS-2.1",),
    stops=_STOPS,
    switches=(_THINKING_OFF,),
    syntax="glm",
)

LAGUNA_S_21 = Family(
    key="laguna-s-2.1",
    format="""
    as laguna-xs-2.1, but it thinks where nothing else is said
    preserve_thinking writes <think>{reasoning}</think> in the turns of a history without thinking as well
    """,
    names=("poolside/Laguna-S-2.1",),
    templates=("444819b8ad461287",),
    verified="template",
    stops=_STOPS,
    switches=(Switch("enable_thinking", (True, False), True), Switch("preserve_thinking", (True, False), False)),
    syntax="glm",
)

LAGUNA = (LAGUNA_XS_2, LAGUNA_M_1, LAGUNA_XS_21, LAGUNA_S_21)
