"""`BaseRendererConfig`: what every config has, and how its fields are read and checked."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    model_validator,
)

from renderers.core.options import ContentTokens, ThinkingRetention
from renderers.families import FAMILIES

__all__ = ["BaseRendererConfig", "CachedImagesConfig"]


def _iso_text(date: object) -> object:
    """Returns the ISO text of a date, checked where it already was text."""
    if isinstance(date, datetime.date):
        return date.isoformat()
    if isinstance(date, str):
        try:
            datetime.datetime.fromisoformat(date)
        except ValueError:
            raise ValueError(f"{date!r} is no date: give ISO text such as '2026-01-31'") from None
    return date


class BaseRendererConfig(BaseModel):
    """What a renderer is made with: frozen, hashable, comparable, and refusing what it does not know.

    Text is read for a field of another type, as command lines hand everything over as text: `"false"` for a
    bool, `"5"` for a number, `"None"` for None. A number is no bool, and a bool is no number.

    A field of a subclass is a switch, given to the template under its name, unless `_internal_fields` lists it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    _internal_fields: ClassVar[frozenset[str]] = frozenset()

    thinking_retention: ThinkingRetention | None = None
    """What of the reasoning in a history a bridge keeps; None for what the template and the family do."""
    content_tokens: ContentTokens = "template"
    """What becomes of control text in a message: what the template makes of it, ordinary text, or an error."""
    date: Annotated[str, BeforeValidator(_iso_text)] | None = None
    """What templates that ask for the time are told, as ISO text; a `datetime.date` is kept as its ISO text."""
    conventions: Literal["exact", "0.1"] = "exact"
    """Where the borders of what is sampled are drawn: exactly, or as release 0.1 of this package did."""
    prefill: Literal["template", "kept"] = "template"
    """What becomes of a reasoning wrapper that the generation prompt writes, in the turns of the history: what
    the template does, or kept in every turn, as release 0.1 did."""

    @classmethod
    def template_field_names(cls) -> frozenset[str]:
        """Returns the names of the switches.

        >>> from renderers.configs import Qwen3VLRendererConfig
        >>> Qwen3VLRendererConfig.template_field_names()
        frozenset({'add_vision_id'})
        """
        return (
            frozenset(cls.model_fields) - frozenset(BaseRendererConfig.model_fields) - {"name"} - cls._internal_fields
        )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Reads the text `None`, and refuses a number for a bool and a bool for a number."""
        if not isinstance(given, dict):
            return given
        read: dict[str, Any] = {
            name: None if isinstance(value, str) and value == "None" else value for name, value in given.items()
        }
        for name in read.keys() & cls.model_fields.keys():
            annotation, kind = cls.model_fields[name].annotation, type(read[name])
            kinds = {bool, int, float}.intersection(get_args(annotation) or (annotation,))
            if kinds and (bool not in kinds if kind is bool else kind in (int, float) and kinds == {bool}):
                raise ValueError(f"{name} must be a {'number' if kind is bool else 'bool'}, not {read[name]!r}")
        return read

    @model_validator(mode="after")
    def _has_no_contradiction(self) -> Self:
        """Refuses a switch that rules the history beside a `thinking_retention` that says something else."""
        family = FAMILIES.get(getattr(self, "name", ""))
        if family is None or self.thinking_retention is None:
            return self
        # A dump has every field, so there a default value does not say that somebody asked for it.
        from_dump = self.model_fields_set >= set(type(self).model_fields)
        for switch in self.model_fields_set & {one.switch for one in family.retains}:
            value, default = getattr(self, switch), type(self).model_fields[switch].default
            keeps = {one.value: one.keeps for one in family.retains if one.switch == switch}
            if len(keeps) < 2 or (from_dump and value == default):
                continue
            if keeps.get(value, self.thinking_retention) != self.thinking_retention:
                raise ValueError(
                    f"{switch}={value!r} keeps {keeps[value]!r} of the reasoning in a history, which contradicts "
                    f"thinking_retention={self.thinking_retention!r}: give only one of the two"
                )
        return self


class CachedImagesConfig(BaseRendererConfig):
    """What the configs of models that see have in common."""

    _internal_fields: ClassVar[frozenset[str]] = frozenset({"image_cache_max"})

    image_cache_max: int = 256
    """Has no effect, as images are not cached; taken because release 0.1 had it."""
