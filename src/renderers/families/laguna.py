"""Laguna of Poolside: turns in tags of their roles, reasoning in <think>, calls as pairs of keys and values."""

from __future__ import annotations

from functools import partial

from renderers.families.family import Family, flag

_THINKING_OFF = flag("enable_thinking", False)
_RAW = flag("render_assistant_messages_raw", False)

_laguna = partial(Family, stop_tokens=("</assistant>", "〈|EOS|〉"), syntax="glm", verified="template")

_LAGUNA_XS_2 = _laguna(
    key="laguna-xs.2",
    class_name="LagunaXS2",
    format="""
    〈|EOS|〉, then <{role}>\\n{content}\\n</{role}>\\n
    system     the system message or a persona, followed by the tools; omitted if it is empty
    assistant  <assistant>\\n{reasoning}{content}\\n{calls}</assistant>\\n
    reasoning  <think>\\n{reasoning}\\n</think>\\n; a turn without reasoning begins with </think>\\n
    call       <tool_call>{name}\\n<arg_key>{key}</arg_key>\\n<arg_value>{value}</arg_value>\\n</tool_call>\\n
    result     <tool_response>\\n{content}\\n</tool_response>\\n
    prompt     <assistant>\\n</think>; with thinking <assistant>\\n<think>
    """,
    names=("poolside/Laguna-XS.2",),
    templates=("cefcef90515772c0",),
    switches=(_THINKING_OFF, _RAW),
)

_LAGUNA_M_1 = _laguna(
    key="laguna-m.1",
    class_name="LagunaM1",
    format="as laguna-xs.2, but without a persona: no system message and no tools, no <system>",
    names=("poolside/Laguna-M.1",),
    templates=("5f1bf14725b6a0e6",),
    switches=(_THINKING_OFF, _RAW),
)

_LAGUNA_XS_21 = _laguna(
    key="laguna-xs-2.1",
    class_name="LagunaXS21",
    format="""
    〈|EOS|〉, then <{role}>{content}</{role}>\\n, the content verbatim
    system     the system message or a persona, followed by the tools; omitted if it is empty
    reasoning  with thinking <think>{reasoning}</think> in every turn, else </think>
    call       <tool_call>{name}<arg_key>{key}</arg_key><arg_value>{value}</arg_value></tool_call>
    result     <tool_response>{content}</tool_response>\\n
    prompt     <assistant></think>; with thinking <assistant><think>
    """,
    names=("poolside/Laguna-XS-2.1",),
    switches=(_THINKING_OFF,),
    verified="none",
)

_LAGUNA_S_21 = _laguna(
    key="laguna-s-2.1",
    class_name="LagunaS21",
    format="""
    as laguna-xs-2.1, but with thinking by default
    preserve_thinking writes <think>{reasoning}</think> in the turns of a history without thinking as well
    """,
    names=("poolside/Laguna-S-2.1",),
    templates=("444819b8ad461287",),
    switches=(flag("enable_thinking", True), flag("preserve_thinking", False)),
)

RECORDS = (
    _LAGUNA_XS_2,
    _LAGUNA_M_1,
    _LAGUNA_XS_21,
    _LAGUNA_S_21,
)
