"""What a renderer has found out about its model, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from renderers.core.options import DEFAULT_DATE
from renderers.errors import TemplateLimitError
from renderers.families import Family
from renderers.families.registry import NO_MATCH, FamilyMatch, MatchedBy
from renderers.parsing.compiled import markers_within
from renderers.parsing.grammar import NO_OVERRIDES, Grammar, ParserOverrides, apply_overrides
from renderers.parsing.infer import check_round_trip, infer_grammar, writes_calls
from renderers.probing.turn_format import TurnFormat
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer

__all__ = ["UNPROBED", "UNREAD_CALLS", "Resolution", "resolve", "resolve_stops"]

UNREAD_CALLS = "the template writes tool calls in a syntax that is not known: they stay content"
"""A conflict that is also logged when the first completion is parsed."""

UNPROBED = "the template could not be probed, so completions are read as content alone"
"""The beginning of a conflict that is also logged when the first completion is parsed."""

StopSource = Literal["record", "generation_config", "eos_token", "template", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a renderer takes its model for, how it reads and ends turns, and why so."""

    family: Family
    """The record of its family; an empty one with the key `default` where it is not known."""
    found_by: MatchedBy
    """What the family was found by."""
    template_digest: str
    """By what the text of its template is known, as in `Family.templates`."""
    stop_token_ids: tuple[int, ...]
    """The tokens that a model is to be stopped with, in order."""
    stops_from: StopSource
    """Who named them."""
    conflicts: tuple[str, ...]
    """Where what is known of the model does not agree, in words."""
    ends: frozenset[int]
    """The tokens that end a completion for the parser: these, EOS, and what the template closes turns with."""
    grammar: Grammar
    """How turns are written, as derived from the template."""


class _Tokenizer(Protocol):
    @property
    def stop_token_ids(self) -> tuple[int, ...] | None: ...
    @property
    def eos_token_id(self) -> int | None: ...


def resolve(
    tokenizer: LoadedTokenizer | ForeignTokenizer,
    turns: TurnFormat,
    tool_turns: TurnFormat,
    *,
    found: FamilyMatch = NO_MATCH,
    parsers: ParserOverrides = NO_OVERRIDES,
) -> Resolution:
    """Resolve the stop tokens and the grammar of a model from its files, its family and its template.

    The template is run on small conversations, without and with tools. If it exceeds its limits there, the grammar
    reads every completion as content, and `conflicts` has the reason. `parsers` override the derived grammar.
    """
    unread_calls, probe_error = False, None
    try:
        grammar = apply_overrides(infer_grammar(turns, tool_turns), parsers)
        text = turns.end_token
        unread_calls = grammar.tools is None and writes_calls(tool_turns)
    except TemplateLimitError as error:
        grammar, text, probe_error = apply_overrides(Grammar(), parsers), None, error
    # What closes a message of a turn that has several does not end the turn.
    number = None if text is None or text in markers_within(grammar) else tokenizer.added_tokens.get(text)
    named = (text, number) if text is not None and number is not None else None
    record, missing = _stops_of(found.family, tokenizer)
    if found.warning is not None and named is not None and named[1] not in record:
        # A model that nobody stops is worse than one that is stopped by what its files say.
        record = ()
    stops, source, conflicts = resolve_stops(tokenizer, named, record=record)
    if missing:
        said = ", ".join(map(repr, missing))
        conflicts = (*conflicts, f"the record of {found.family.key} names stop tokens that are no tokens here: {said}")
    others = (tokenizer.eos_token_id, number)
    if unread_calls:
        conflicts = (*conflicts, UNREAD_CALLS)
    if probe_error is not None:
        conflicts = (*conflicts, f"{UNPROBED}: {probe_error}")
    if turns.key.program.mentions("strftime_now") and turns.key.now == DEFAULT_DATE:
        conflicts = (*conflicts, f"the template asks for the date, and is told {DEFAULT_DATE:%Y-%m-%d}: give date=")
    if found.warning is not None:
        conflicts = (*conflicts, found.warning)
    if found.family.program is not None:
        conflicts = (*conflicts, f"this release has no program {found.family.program!r}: the template is run instead")
    ends = frozenset({*stops, *(one for one in others if one is not None)})
    end_texts = frozenset(text for text, token in tokenizer.added_tokens.items() if token in ends)
    wrong = check_round_trip(turns, grammar, end_texts) if probe_error is None else []
    conflicts = (*conflicts, *(f"a turn as the template writes it is not read back: {one}" for one in wrong))
    return Resolution(
        family=found.family,
        found_by=found.matched_by,
        template_digest=turns.key.program.digest,
        stop_token_ids=stops,
        stops_from=source,
        conflicts=tuple(dict.fromkeys(conflicts)),
        ends=ends,
        grammar=grammar,
    )


def resolve_stops(
    tokenizer: _Tokenizer, closer: tuple[str, int] | None, *, record: tuple[int, ...] = ()
) -> tuple[tuple[int, ...], StopSource, tuple[str, ...]]:
    """Returns the stop tokens, who named them, and what contradicts them.

    What the `record` of a family names counts, else the generation config, else the EOS token, else `closer`: the
    token, with its text, that the template closes a turn with.
    """
    named: Sequence[tuple[StopSource, tuple[int, ...]]] = (
        ("record", record),
        ("generation_config", tokenizer.stop_token_ids or ()),
        ("eos_token", () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)),
        ("template", () if closer is None else (closer[1],)),
    )
    source, stops = next(((source, ids) for source, ids in named if ids), ("nothing", ()))
    conflicts = []
    if closer is not None and closer[1] not in stops:
        conflicts.append(
            f"the template closes a turn with {closer[0]!r} ({closer[1]}), which is none of the stop tokens "
            f"{list(stops)} that the {source} names: a model may not be stopped there"
        )
    eos = tokenizer.eos_token_id
    if eos is not None and eos not in stops:
        conflicts.append(f"the EOS token {eos} is none of the stop tokens {list(stops)} that the {source} names")
    return stops, source, tuple(conflicts)


def _stops_of(family: Family, tokenizer: LoadedTokenizer | ForeignTokenizer) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Returns the ids of the stop tokens that a record names, and those that the vocabulary does not have."""
    find = tokenizer.vocab.token_id if isinstance(tokenizer, ForeignTokenizer) else tokenizer.added_tokens.get
    found = {text: find(text) for text in family.stop_tokens}
    missing = tuple(text for text, number in found.items() if number is None)
    return tuple(number for number in found.values() if number is not None), missing
