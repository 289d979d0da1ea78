"""Seed-OSS of ByteDance: every token is named, reasoning may have a budget."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["SEED"]

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

SEED = (SEED_OSS,)
