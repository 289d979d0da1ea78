"""Granite 4: roles between tokens, calls as JSON."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["GRANITE"]

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

GRANITE = (GRANITE_4,)
