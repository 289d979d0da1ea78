"""Olmo 3: ChatML, calls in the manner of Python between tags."""

from __future__ import annotations

from renderers.families.family import Family

__all__ = ["OLMO"]

OLMO_3 = Family(
    key="olmo-3",
    format="""
    <|im_start|>{role}\\n{content}<|im_end|>\\n
    system     the system message, then the tools in <functions>...</functions>
    call       <function_calls>{name}({key}={value}, ...)</function_calls>, a line for each
    result     the role environment
    prompt     <|im_start|>assistant\\n
    """,
    names=("allenai/Olmo-3-7B-Instruct",),
    stops=("<|im_end|>", "<|endoftext|>"),
    syntax="olmo",
)

OLMO = (OLMO_3,)
