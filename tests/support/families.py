"""The available templates of each family, with or without a vocabulary."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from renderers import ChatRenderer, load_tokenizer
from renderers.families import FAMILIES, Family, digest_of
from tests.support.models import hub_models
from tests.support.parity import CORPUS, HUB
from tests.support.settings import template_renderer
from tests.support.standin import stand_in

__all__ = ["DATE", "FamilyTemplate", "family_templates", "renderer_for"]

DATE = "2026-01-01"


class FamilyTemplate(NamedTuple):
    """A template of a family. `path` is its file if there is no vocabulary for it."""

    family: Family
    text: str
    model: str
    path: Path | None

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def has_vocabulary(self) -> bool:
        """Whether its own vocabulary is available. The one of Kimi K3 belongs to another model."""
        return self.path is None and self.model != "moonshotai/Kimi-K3"

    def __str__(self) -> str:
        return f"{self.family.key} {self.model}"


@functools.cache
def family_templates() -> tuple[FamilyTemplate, ...]:
    """Return each available template of a family record once, with a vocabulary if possible."""
    # The first of several models is used, as in other tests, because its tokenizer is already loaded.
    return tuple({template.digest: template for template in (*_of_corpus(), *reversed([*_of_hub()]))}.values())


def _of_hub() -> Iterator[FamilyTemplate]:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HUB}
    for name, model in hub_models().items():
        text = texts.get(str(model["template"]), "")
        family = _family_of(text)
        if family is not None:
            yield FamilyTemplate(family, text, name, None)


def _of_corpus() -> Iterator[FamilyTemplate]:
    for path in CORPUS:
        text = path.read_text(encoding="utf-8")
        family = _family_of(text)
        if family is not None:
            yield FamilyTemplate(family, text, path.stem, path)


def _family_of(text: str) -> Family | None:
    return next((family for family in FAMILIES.values() if digest_of(text) in family.templates), None)


def renderer_for(template: FamilyTemplate) -> ChatRenderer:
    """Return a renderer for a template of a family."""
    tokenizer = load_tokenizer(template.model) if template.path is None else stand_in(template.path)
    return template_renderer(tokenizer, date=DATE, on_loss="ignore")
