"""The templates at hand of each family, with a vocabulary or without."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.families import FAMILIES, Family, digest_of
from tests.support.models import hub_models
from tests.support.parity import CORPUS, HUB
from tests.support.standin import stand_in

__all__ = ["DATE", "Known", "known", "renderer_for"]

DATE = "2026-01-01"


class Known(NamedTuple):
    """A template of a family: whose it is, and its file where there is no vocabulary for it."""

    family: Family
    text: str
    model: str
    path: Path | None

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def has_vocabulary(self) -> bool:
        """Whether its own vocabulary is at hand: that of Kimi K3 is another model's."""
        return self.path is None and self.model != "moonshotai/Kimi-K3"

    def __str__(self) -> str:
        return f"{self.family.key} {self.model}"


@functools.cache
def known() -> tuple[Known, ...]:
    """Returns the templates at hand that a record names, each once: with a vocabulary where there is one."""
    # Of several models the first one counts, as in other tests, which have it loaded.
    return tuple({one.digest: one for one in (*_of_corpus(), *reversed([*_of_hub()]))}.values())


def _of_hub() -> Iterator[Known]:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HUB}
    for name, model in hub_models().items():
        text = texts.get(str(model["template"]), "")
        family = _family_of(text)
        if family is not None:
            yield Known(family, text, name, None)


def _of_corpus() -> Iterator[Known]:
    for path in CORPUS:
        text = path.read_text(encoding="utf-8")
        family = _family_of(text)
        if family is not None:
            yield Known(family, text, path.stem, path)


def _family_of(text: str) -> Family | None:
    return next((one for one in FAMILIES.values() if digest_of(text) in one.templates), None)


def renderer_for(one: Known) -> ChatRenderer:
    """Returns a renderer for a template of a family."""
    tokenizer = load_tokenizer(one.model) if one.path is None else stand_in(one.path)
    return create_renderer(tokenizer, date=DATE)
