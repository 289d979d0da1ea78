"""The templates of which a rendered turn is not parsed back in every class, with the reason of each."""

from __future__ import annotations

from collections.abc import Mapping

from renderers.parsing.evidence import Evidence, RoundTrip
from tests.support.bridging import renderer_of

__all__ = ["REASONS", "evidence_of", "misread_classes"]

REASONS: dict[str, str] = {
    "llamacpp__Apriel-1.6-15b-Thinker-fixed": "Reasoning has no opening marker in a turn, only in the prompt.",
    "llamacpp__LFM2.5-8B-A1B": "The template does not escape backslashes in strings.",
    "llamacpp__NVIDIA-Nemotron-Nano-v2": "The template opens reasoning before content, and does not close it.",
    "llamacpp__deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "Content beside calls is written as another turn.",
    "llamacpp__meetkai-functionary-medium-v3.2": "The tool-call format is not read.",
}
"""The reason by template. A template that has one must need it."""


def evidence_of(template: str) -> tuple[str, Mapping[str, Evidence]] | None:
    """Return the key of the tool format of a template and the evidence for its grammar; None without a template."""
    renderer = renderer_of(template)
    if renderer is None:
        return None
    resolution = renderer.resolution
    return resolution.grammar.tools or "none", dict(resolution.evidence)


def misread_classes(evidence: Mapping[str, Evidence]) -> list[str]:
    """Return the classes of turns that are not parsed back."""
    return [name for name, item in evidence.items() if item.outcome is RoundTrip.DIFFERENT]
