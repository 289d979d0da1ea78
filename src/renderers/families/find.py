"""Which family a model is of, and from what that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from renderers.families import FAMILIES, MODEL_RENDERER_MAP, family_of_template
from renderers.families.family import Family, digest_of

__all__ = ["NOT_FOUND", "UNKNOWN", "Found", "FoundBy", "find_family"]

FoundBy = Literal["config", "name", "template", "nothing"]

UNKNOWN = Family(key="default", format="What the chat template writes; all that is known of it is found by running it.")
"""The record of a model of no known family."""


class Found(NamedTuple):
    """A model's family, what it was found by, and what speaks against it, in words."""

    family: Family
    by: FoundBy
    doubt: str | None = None


NOT_FOUND = Found(UNKNOWN, "nothing")


def find_family(*, key: str | None, name: str, templates: Sequence[str]) -> Found:
    """Returns the family of a model: the one that is asked for, that of its name, or that of its template.

    `key` is the family that a config names, None where none does; `templates` are the texts that are used. A name
    counts only with a template that its family is known for: otherwise the template is what counts.

    >>> find_family(key=None, name="Qwen/Qwen3-8B", templates=["{{ messages }}"]).family.key
    'default'
    """
    of_template = next(filter(None, map(family_of_template, templates)), None)
    named = FAMILIES.get(MODEL_RENDERER_MAP.get(name, ""))
    if key == UNKNOWN.key:
        return Found(UNKNOWN, "config")
    if key is not None:
        family = FAMILIES.get(key)
        if family is None:
            raise ValueError(f"there is no family {key!r}; a config of your own goes with a CustomRendererConfig")
        return Found(family, "config", _doubt(family, templates, f"the config is one of {key}"))
    if named is not None and (of_template is named or not named.templates or not templates):
        return Found(named, "name", _doubt(named, templates, f"{name} is one of {named.key}"))
    family = of_template or UNKNOWN
    doubt = None if named is None else _doubt(named, templates, f"{name} is one of {named.key}")
    return Found(family, "nothing" if of_template is None else "template", doubt)


def _doubt(family: Family, templates: Sequence[str], known: str) -> str | None:
    """Returns what is to be said of a family whose templates are not among those at hand."""
    if not templates or any(digest_of(text) in family.templates for text in templates):
        return None
    if not family.templates:
        return f"{known}, a family whose record could not be checked against a template yet: the template is run"
    digests = ", ".join(map(digest_of, templates))
    return f"{known}, but the template ({digests}) is none that this family is known for: the template is what counts"
