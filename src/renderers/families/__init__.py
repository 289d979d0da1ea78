"""The families of models: one declarative record each, and how a model's record is found."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from renderers.families.deepseek import DEEPSEEK
from renderers.families.family import Family, Media, Retains, Switch, SwitchValue, Verified, digest_of
from renderers.families.glm import GLM
from renderers.families.kimi import KIMI
from renderers.families.qwen import QWEN

__all__ = [
    "FAMILIES",
    "MODEL_RENDERER_MAP",
    "Family",
    "Media",
    "Retains",
    "Switch",
    "SwitchValue",
    "Verified",
    "digest_of",
    "family_of_template",
]

FAMILIES: Mapping[str, Family] = MappingProxyType({one.key: one for one in (*QWEN, *GLM, *KIMI, *DEEPSEEK)})
"""All records by their keys."""

MODEL_RENDERER_MAP: dict[str, str] = {name: one.key for one in FAMILIES.values() for name in one.names}
"""The family of every model whose exact name is known."""

_BY_TEMPLATE = {digest: one for one in FAMILIES.values() for digest in one.templates}


def family_of_template(template: str) -> Family | None:
    """Returns the family that a template's text is known for; None for an unknown text."""
    return _BY_TEMPLATE.get(digest_of(template))
