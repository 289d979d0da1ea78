"""Muse Glimmer: messages with recipients, calls as XML to a tool's name."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["MUSE"]

MUSE_GLIMMER = Family(
    key="muse-glimmer",
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
    templates=("cfc67e5f349f3769",),
    verified="template",
    stops=("<|eot|>",),
    switches=(
        Switch("reasoning_strength", str, "high"),
        Switch("knowledge_cutoff", str, "2026-01-04"),
        # Without a date the template writes today's, so there is no default.
        Switch("current_date", str),
        Switch("tool_namespace_descriptions", dict),
    ),
    syntax="atem",
    media=("image", "video"),
)

MUSE = (MUSE_GLIMMER,)
