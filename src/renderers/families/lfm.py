"""LFM2 of Liquid AI: ChatML, calls as a list in the manner of Python."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["LFM"]

LFM_2 = Family(
    key="lfm2",
    format="""
    <|startoftext|>, then <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then List of tools: [{JSON}, ...]; LFM2 writes <|tool_list_start|> and
               <|tool_list_end|> around the list
    reasoning  <think>{reasoning}</think>, in LFM2.5: from the field thinking or the content; dropped from earlier turns
    call       <|tool_call_start|>[{name}({key}={value}, ...), ...]<|tool_call_end|>; LFM2 writes none of a history
    result     the role tool; LFM2 writes <|tool_response_start|> and <|tool_response_end|> around it
    prompt     <|im_start|>assistant\\n
    """,
    names=(
        "LiquidAI/LFM2-350M",
        "LiquidAI/LFM2-700M",
        "LiquidAI/LFM2-1.2B",
        "LiquidAI/LFM2-2.6B",
        "LiquidAI/LFM2-8B-A1B",
        "LiquidAI/LFM2.5-1.2B-Instruct",
        "LiquidAI/LFM2.5-8B-A1B",
    ),
    templates=("2294f49b51a0b9a1", "cef187400d62a595", "fc29163f52185634", "f05bf4b967dc993b", "6d65c8804847ad74"),
    verified="template",
    stops=("<|im_end|>",),
    switches=(
        Switch("keep_past_thinking", (True, False), False),
        Switch("preserve_thinking", (True, False), False),
    ),
    syntax="lfm2",
)

LFM = (LFM_2,)
