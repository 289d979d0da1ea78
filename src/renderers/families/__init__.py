"""Model families: one declarative record each, with its typed config. `family_renderers.py` has the classes."""

from __future__ import annotations

from renderers.core.text import digest_of
from renderers.families.family import Family, RetentionRule, SwitchValue, TemplateSwitch
from renderers.families.registry import FAMILIES, MODEL_RENDERER_MAP, MULTIMODAL_MODELS, family_of_template

__all__ = [
    "FAMILIES",
    "MODEL_RENDERER_MAP",
    "MULTIMODAL_MODELS",
    "Family",
    "RetentionRule",
    "SwitchValue",
    "TemplateSwitch",
    "digest_of",
    "family_of_template",
]
