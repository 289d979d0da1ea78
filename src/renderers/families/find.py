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
    other: bool = False
    """The template is not only unknown: it is that of another family than the one that was asked for."""


NOT_FOUND = Found(UNKNOWN, "nothing")


def find_family(*, key: str | None, name: str, templates: Sequence[str]) -> Found:
    """Returns the family of a model: the one that is asked for, that of its name, or that of its template.

    `key` is the family that a config names, None where none does; `templates` are the texts that are used. A name
    counts only with a template that its family is known for: otherwise the template is what counts. Of a family that
    could not be checked with any template, it counts unless the template is that of another one.

    Raises:
        ValueError: There is no family of that key.

    >>> find_family(key=None, name="Qwen/Qwen3-8B", templates=["{{ messages }}"]).family.key
    'default'
    """
    of_template = next(filter(None, map(family_of_template, templates)), None)
    if key == UNKNOWN.key:
        return Found(UNKNOWN, "config")
    if key is not None:
        family = _family(key, "a config of your own goes with a CustomRendererConfig")
        doubt = _doubt(family, of_template, templates, f"the config is one of {key}")
        return Found(family, "config", doubt, of_template not in (None, family))
    of_name = MODEL_RENDERER_MAP.get(name, UNKNOWN.key)
    if of_name == UNKNOWN.key:
        return Found(of_template, "template") if of_template else NOT_FOUND
    named = _family(of_name, f"MODEL_RENDERER_MAP has it for {name}")
    doubt = _doubt(named, of_template, templates, f"{name} is one of {named.key}")
    if of_template in (None, named) and (of_template or not named.templates or not templates):
        return Found(named, "name", doubt)
    return Found(of_template, "template", doubt, True) if of_template else Found(UNKNOWN, "nothing", doubt)


def _family(key: str, hint: str) -> Family:
    if key not in FAMILIES:
        raise ValueError(f"there is no family {key!r}; {hint}")
    return FAMILIES[key]


def _doubt(family: Family, of_template: Family | None, templates: Sequence[str], known: str) -> str | None:
    """Returns what is to be said of a family whose templates are not among those at hand."""
    if of_template is family or not templates:
        return None
    digests = ", ".join(map(digest_of, templates))
    if of_template is not None:
        return f"{known}, but the template ({digests}) is that of {of_template.key}: the template is run"
    if not family.templates:
        return f"{known}, a family whose record could not be checked against a template yet: the template is run"
    return f"{known}, but the template ({digests}) is none that this family is known for: the template is run"
