"""The templates of which a rendered turn is not parsed back in every class, with the reason of each."""

from __future__ import annotations

from collections.abc import Mapping

from renderers.parsing.evidence import Evidence, RoundTrip
from tests.support.bridging import renderer_of

__all__ = ["REASONS", "evidence_of", "misread_classes"]

REASONS: dict[str, str] = {}
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
