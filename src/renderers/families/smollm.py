"""SmolLM3: ChatML with a written-out mode of reasoning; it writes no calls of a history."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["SMOLLM"]

SMOLLM_3 = Family(
    key="smollm3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     always there: cutoff, date, mode of reasoning, the system message or a default, the tools; the words
               /think, /no_think and /system_override in it are orders
    reasoning  stays in the content; without thinking a turn begins with <think>\\n\\n</think>\\n
    result     a user's message; calls are not written
    prompt     <|im_start|>assistant\\n; without thinking also <think>\\n\\n</think>\\n
    """,
    names=("HuggingFaceTB/SmolLM3-3B",),
    templates=("3e0e275a527f2496", "19eacf64569032f0"),
    verified="tokens",
    stops=("<|im_end|>",),
    switches=(
        Switch("enable_thinking", (True, False), True),
        Switch("xml_tools", list),
        Switch("python_tools", list),
    ),
)

SMOLLM = (SMOLLM_3,)
