"""The families of models: one declarative record each, and how a model's record is found."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from renderers.families.command import COMMAND
from renderers.families.deepseek import DEEPSEEK
from renderers.families.family import Family, Media, Retains, Switch, SwitchValue, Verified, digest_of
from renderers.families.gemma import GEMMA
from renderers.families.glm import GLM
from renderers.families.gpt_oss import GPT_OSS
from renderers.families.hy3 import HY3
from renderers.families.inkling import INKLING
from renderers.families.kimi import KIMI
from renderers.families.laguna import LAGUNA
from renderers.families.llama import LLAMA
from renderers.families.minimax import MINIMAX
from renderers.families.mistral import MISTRAL
from renderers.families.muse import MUSE
from renderers.families.nemotron import NEMOTRON
from renderers.families.others import OTHERS
from renderers.families.qwen import QWEN

__all__ = [
    "FAMILIES",
    "MODEL_RENDERER_MAP",
    "MULTIMODAL_MODELS",
    "Family",
    "Media",
    "Retains",
    "Switch",
    "SwitchValue",
    "Verified",
    "digest_of",
    "family_of_template",
]

_ALL = (
    *QWEN,
    *GLM,
    *KIMI,
    *DEEPSEEK,
    *MINIMAX,
    *NEMOTRON,
    *LLAMA,
    *GPT_OSS,
    *GEMMA,
    *HY3,
    *LAGUNA,
    *INKLING,
    *MUSE,
    *MISTRAL,
    *COMMAND,
    *OTHERS,
)

FAMILIES: Mapping[str, Family] = MappingProxyType({one.key: one for one in _ALL})
"""All records by their keys."""

MODEL_RENDERER_MAP: dict[str, str] = {name: one.key for one in FAMILIES.values() for name in one.names}
"""The family of every model whose exact name is known."""

MULTIMODAL_MODELS: dict[str, set[str]] = {
    name: set(one.media) for one in FAMILIES.values() for name in one.names if one.media and name not in one.text_alone
}
"""What the models that take more than text take."""

_BY_TEMPLATE = {digest: one for one in FAMILIES.values() for digest in one.templates}


def family_of_template(template: str) -> Family | None:
    """Returns the family that a template's text is known for; None for an unknown text."""
    return _BY_TEMPLATE.get(digest_of(template))
