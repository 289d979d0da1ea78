"""Phi: ChatML with a separator after the role."""

from __future__ import annotations

from renderers.families.family import Family

__all__ = ["PHI"]

PHI_4 = Family(
    key="phi-4",
    format="""
    <|im_start|>{role}<|im_sep|>{content}<|im_end|>, with nothing between
    prompt     <|im_start|>assistant<|im_sep|>
    no reasoning, no tools
    """,
    names=("microsoft/phi-4",),
    stops=("<|im_end|>", "<|endoftext|>"),
)

PHI = (PHI_4,)
