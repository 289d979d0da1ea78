"""Hy3 of Tencent: tokens that end in `:opensource`, reasoning always opened, calls as pairs of keys and values."""

from __future__ import annotations

from renderers.families.family import Family, Retains, Switch

__all__ = ["HY3"]

_HY3 = Family(
    key="hy3",
    format="""
    <｜hy_begin_of_sentence:opensource｜>, all system messages joined, the tools, the effort
    user       <｜hy_User:opensource｜>{content}
    assistant  <｜hy_Assistant:opensource｜>{reasoning}{content}{calls}<｜hy_eos:opensource｜>; the end is not written
               after the last message, unless it calls or is_training is set
    reasoning  <think:opensource>{reasoning}</think:opensource>, empty where it is not kept
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
    stops=("<｜hy_eos:opensource｜>",),
    switches=(
        Switch("reasoning_effort", ("no_think", "low", "high"), "no_think"),
        # Where it is not given, reasoning is kept if there are tools.
        Switch("preserved_thinking", (True, False)),
        Switch("is_training", (True, False), False),
        Switch("raw_last_assistant", (True, False), False),
        Switch("fallback_strategy", (None, "reasoning_toolcall_retry")),
    ),
    retains=(Retains("preserved_thinking", True, "all"), Retains("preserved_thinking", False, "tool_cycle")),
    syntax="hy3",
)

HY3 = (_HY3,)
