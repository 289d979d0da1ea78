"""`renderers models`: the known families, and how each was verified."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from renderers import create_renderer, load_tokenizer
from renderers.core.text import align_columns
from renderers.errors import TemplateError, TokenizerLoadError, UnknownFamilyError
from renderers.families import FAMILIES, MODEL_RENDERER_MAP, Family
from renderers.families.registry import UNKNOWN_FAMILY
from renderers.parsing.tool_formats import TOOL_FORMATS

_VERIFIED = {"tokens": "template, vocabulary", "template": "template", "none": "nothing"}


def models(name: str | None = None) -> str:
    """Return a table of all families, or the record of one, by its key or by the name of a model.

    Raises:
        UnknownFamilyError: There is no such family or model.
    """
    if name is None:
        return _table()
    known = {**FAMILIES, UNKNOWN_FAMILY.key: UNKNOWN_FAMILY}
    key = MODEL_RENDERER_MAP.get(name, name)
    if key not in known:
        raise UnknownFamilyError(
            f"{name!r} is neither a family nor a model with a record; the families are {', '.join(known)}"
        )
    facts = {} if key == name else {"drops": _drops(name)}
    return _record(known[key], facts)


def _table() -> str:
    shown = ("checked against", "tool calls", "media")
    rows = [
        (family.key, *(_facts(family)[name] for name in shown), _first(family.names)) for family in FAMILIES.values()
    ]
    return "\n".join(align_columns([("family", *shown, "models"), *rows]))


def _drops(model: str) -> str:
    """Return the input that the template of a model drops."""
    try:
        losses = create_renderer(load_tokenizer(model)).resolution.known_losses
    except (TokenizerLoadError, TemplateError) as error:
        return f"not known, because the template cannot be read ({error})"
    return ", ".join(loss.place for loss in losses) or "nothing that is known"


def _record(family: Family, more: Mapping[str, str]) -> str:
    lines = (
        textwrap.fill(f"{name:16}{fact}", width=120, subsequent_indent=" " * 16, break_long_words=False)
        for name, fact in {**_facts(family), **more}.items()
        if fact
    )
    return "\n".join([family.key, "", textwrap.dedent(family.format).strip("\n"), "", *lines])


def _facts(family: Family) -> dict[str, str]:
    calls = family.syntax or ""
    return {
        "models": ", ".join(family.names),
        "classes": f"{family.class_name}Renderer, {family.class_name}RendererConfig",
        "checked against": _VERIFIED[family.verified],
        "templates": ", ".join(family.templates),
        "stops": " ".join(family.stop_tokens),
        "switches": ", ".join(f"{switch.name}={switch.default}" for switch in family.switches),
        "tool calls": calls if calls in ("", *TOOL_FORMATS) else f"{calls} (not parsed)",
        "program": family.program or "",
        "media": ", ".join(family.media),
        "version": str(family.version),
    }


def _first(names: Sequence[str]) -> str:
    first, *rest = names or ("",)
    return f"{first} and {len(rest)} more" if rest else first
