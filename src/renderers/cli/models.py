"""`renderers models`: the known families, and how each was verified."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence

from renderers import ChatRenderer, create_renderer
from renderers.cli.inputs import EXAMPLE, load_model
from renderers.core.text import align_columns
from renderers.errors import TemplateError, TokenizerLoadError, UnknownFamilyError
from renderers.families import FAMILIES, MODEL_RENDERER_MAP, Family
from renderers.families.registry import UNKNOWN_FAMILY
from renderers.parsing.evidence import Evidence, RoundTrip
from renderers.parsing.grammar import Grammar
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.loading.suggest import cached_names, did_you_mean

_VERIFIED = {"tokens": "template, vocabulary", "template": "template", "none": "nothing"}


def models(name: str | None = None) -> str:
    """Return a table of all families, or the record of one, by its key, or by the name or path of a model.

    Raises:
        UnknownFamilyError: There is no such family, and the name is not that of a model.
        TokenizerLoadError: The model cannot be loaded.
    """
    if name is None:
        return _table()
    known = {**FAMILIES, UNKNOWN_FAMILY.key: UNKNOWN_FAMILY}
    if name in known:
        cached = set(cached_names())
        example = next((model for model in known[name].names if model in cached), None)
        return _record(known[name], {} if example is None else {**_learned(example), "learned from": example})
    if name in MODEL_RENDERER_MAP:
        return _record(known[MODEL_RENDERER_MAP[name]], _learned(name))
    if "/" not in name and name != EXAMPLE and not os.path.exists(name):
        hint = did_you_mean(name) or f" The families are {', '.join(known)}."
        raise UnknownFamilyError(f"{name!r} is neither a family nor a model.{hint}")
    renderer = create_renderer(load_model(name))
    return _record(renderer.family_match.family, _learned_from(renderer))


def _table() -> str:
    shown = ("checked against", "tool calls", "media")
    rows = [
        (family.key, *(_facts(family)[name] for name in shown), _first(family.names)) for family in FAMILIES.values()
    ]
    return "\n".join(align_columns([("family", *shown, "models"), *rows]))


def _learned(model: str) -> dict[str, str]:
    """Return the facts that the template of a model shows when it runs."""
    try:
        return _learned_from(create_renderer(load_model(model)))
    except (TokenizerLoadError, TemplateError) as error:
        return {"drops": f"not known, because the template cannot be read ({error})"}


def _learned_from(renderer: ChatRenderer) -> dict[str, str]:
    resolution = renderer.resolution
    losses = ", ".join(loss.place for loss in resolution.known_losses)
    return {
        "completions": describe_grammar(resolution.grammar),
        "round trips": _round_trips(resolution.evidence),
        "drops": losses or "nothing that is known",
    }


def describe_grammar(grammar: Grammar) -> str:
    """Return the formats of reasoning and of tool calls that a grammar reads, with their markers.

    >>> describe_grammar(Grammar(tools="hermes", call=("<tool_call>", "</tool_call>")))
    'no reasoning, tool calls as hermes in <tool_call> </tool_call>'
    """
    reasoning = f"reasoning in {' '.join(grammar.reasoning.markers)}" if grammar.reasoning else "no reasoning"
    if grammar.tools is None:
        return f"{reasoning}, no tool calls"
    markers = [*(grammar.section or ()), *(grammar.call or ())]
    calls = f"{reasoning}, tool calls as {grammar.tools}" + (f" in {' '.join(markers)}" if markers else "")
    if grammar.keys is not None:
        calls += f" with the keys {', '.join(filter(None, grammar.keys))}"
    if grammar.tags is not None:
        calls += f" with the tags {' '.join(tag for tag in grammar.tags if isinstance(tag, str) and tag.strip())}"
    return calls


def _round_trips(evidence: Mapping[str, Evidence]) -> str:
    by_outcome = {
        outcome: [name for name, item in evidence.items() if item.outcome is outcome] for outcome in RoundTrip
    }
    exact, *others = by_outcome.items()
    named = [f"{outcome}: {', '.join(names)}" for outcome, names in others if names]
    return "; ".join([f"{len(exact[1])} of {len(evidence)} classes of turns are exact", *named])


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
        "checked against": _checked_against(family),
        "templates": ", ".join(family.templates),
        "stops": " ".join(family.stop_tokens),
        "switches": ", ".join(f"{switch.name}={switch.default}" for switch in family.switches),
        "tool calls": calls if calls in ("", *TOOL_FORMATS) else f"{calls} (not parsed)",
        "program": family.program or "",
        "media": ", ".join(family.media),
        "version": str(family.version),
    }


def _checked_against(family: Family) -> str:
    # A program is compared with an encoder, even without a template and a vocabulary.
    return "encoder (text)" if family.verified == "none" and family.program else _VERIFIED[family.verified]


def _first(names: Sequence[str]) -> str:
    first, *rest = names or ("",)
    return f"{first} and {len(rest)} more" if rest else first
