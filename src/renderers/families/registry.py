"""All families, and the lookup of a model's family by config, name or chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NamedTuple

from renderers.core.text import digest_of
from renderers.families import (
    deepseek,
    gemma,
    glm,
    gpt_oss,
    kimi,
    laguna,
    llama,
    minimax,
    mistral,
    nemotron,
    others,
    qwen,
)
from renderers.families.family import Family

_RECORDS = chain.from_iterable(
    vendor.RECORDS
    for vendor in (deepseek, gemma, glm, gpt_oss, kimi, laguna, llama, minimax, mistral, nemotron, others, qwen)
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {family.key: family for family in sorted(_RECORDS, key=attrgetter("key"))}
)
"""All family records by key."""

MODEL_RENDERER_MAP: dict[str, str] = {name: family.key for family in FAMILIES.values() for name in family.names}
"""The family key of each known model, by the exact model name. Callers may add their own models."""

MULTIMODAL_MODELS: dict[str, set[str]] = {
    name: set(family.listed_media)
    for family in FAMILIES.values()
    for name in family.names
    if family.media and name not in family.text_only
}
"""The media types of each multimodal model that release 0.1 processes, by the exact model name."""

_FAMILY_BY_DIGEST = {known: family for family in FAMILIES.values() for known in family.templates}

MatchedBy = Literal["config", "name", "template", "nothing"]
"""How a family was matched. `nothing` means that the family is unknown."""

UNKNOWN_FAMILY = Family(
    key="default", class_name="Default", format="The output of the chat template. Everything else is inferred from it."
)
"""The record of models without a known family."""


class FamilyMatch(NamedTuple):
    """The family of a model, how it was matched, and any evidence against it."""

    family: Family
    matched_by: MatchedBy
    warning: str | None = None
    """Evidence against the match. None if there is none."""
    conflicts: bool = False
    """True if the chat template is that of a different family than the requested one."""


NO_MATCH = FamilyMatch(UNKNOWN_FAMILY, "nothing")


def family_of_template(template: str) -> Family | None:
    """Return the family with this template text. None if the text is unknown."""
    return _FAMILY_BY_DIGEST.get(digest_of(template))


def find_family(*, key: str | None, name: str, templates: Sequence[str], any_template: bool = False) -> FamilyMatch:
    """Return the family of a model, matched by its config, else by its name, else by its template.

    `key` is the family of the config, None if the config has none. `templates` are the template
    texts in use. A name counts only with a template of its family. Otherwise the template decides.
    The name of a family without any verified template counts unless the template belongs to another family.

    Raises:
        ValueError: There is no family with this key, or the template is that of another family without `any_template`.

    >>> find_family(key=None, name="Qwen/Qwen3-8B", templates=["{{ messages }}"]).family.key
    'default'
    """
    of_template = next(filter(None, map(family_of_template, templates)), None)
    if key == UNKNOWN_FAMILY.key:
        return FamilyMatch(UNKNOWN_FAMILY, "config")
    if key is not None:
        family = _lookup(key, "Use CustomRendererConfig for a config class of your own.")
        match = f"the config is for {key}"
        warning = _mismatch(family, of_template, templates, match)
        conflicts = of_template is not None and of_template is not family
        if of_template is not None and conflicts and not any_template and key not in of_template.config_keys:
            raise ValueError(
                f"{_conflict(match, of_template, templates)} Use {of_template.class_name}RendererConfig, or no config "
                "to detect the family. To use this config with any chat template, set any_template=True in it."
            )
        return FamilyMatch(family, "config", warning, conflicts)
    named_key = MODEL_RENDERER_MAP.get(name, UNKNOWN_FAMILY.key)
    if named_key == UNKNOWN_FAMILY.key:
        return FamilyMatch(of_template, "template") if of_template else NO_MATCH
    named = _lookup(named_key, f"MODEL_RENDERER_MAP maps {name} to it.")
    warning = _mismatch(named, of_template, templates, f"{name} is a model of {named.key}")
    if of_template in (None, named) and (of_template or not named.templates or not templates):
        return FamilyMatch(named, "name", warning)
    if of_template is None:
        return FamilyMatch(UNKNOWN_FAMILY, "nothing", warning)
    return FamilyMatch(of_template, "template", warning, conflicts=True)


def _lookup(key: str, hint: str) -> Family:
    if key not in FAMILIES:
        raise ValueError(f"there is no family {key!r}. {hint}")
    return FAMILIES[key]


def _mismatch(family: Family, of_template: Family | None, templates: Sequence[str], match: str) -> str | None:
    """Describe a family match that the templates do not confirm. None if they confirm it, or there are none."""
    if of_template is family or not templates:
        return None
    if of_template is not None:
        return f"{_conflict(match, of_template, templates)} The template is used."
    if not family.templates:
        return f"{match}, a family without a verified chat template. The template of the model is used."
    return f"{match}, but the chat template ({_digests(templates)}) is unknown for this family. The template is used."


def _conflict(match: str, of_template: Family, templates: Sequence[str]) -> str:
    return f"{match}, but the chat template ({_digests(templates)}) is that of {of_template.key}."


def _digests(templates: Sequence[str]) -> str:
    return ", ".join(map(digest_of, templates))
