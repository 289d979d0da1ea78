"""What a renderer has found out about its model, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from renderers.parse.derive import derive_grammar, misread, writes_calls
from renderers.parse.grammar import Grammar
from renderers.parse.tables import markers_within
from renderers.probing import Ways, closer
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer

__all__ = ["Resolution", "resolve", "resolve_stops"]

StopSource = Literal["generation_config", "eos_token", "template", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """How a renderer reads and ends turns, and why so."""

    stop_token_ids: tuple[int, ...]
    """The tokens that a model is to be stopped with, in order."""
    stops_from: StopSource
    """Who named them."""
    conflicts: tuple[str, ...]
    """Where what is known of the model does not agree, in words."""
    ends: frozenset[int]
    """The tokens that end a completion for the parser: all that anybody named."""
    grammar: Grammar
    """How turns are written, as derived from the template."""


class _Tokenizer(Protocol):
    @property
    def stop_token_ids(self) -> tuple[int, ...] | None: ...
    @property
    def eos_token_id(self) -> int | None: ...


def resolve(tokenizer: LoadedTokenizer | ForeignTokenizer, ways: Ways, with_tools: Ways) -> Resolution:
    """Returns what is found out about a model by its files, and by running its template without and with tools."""
    grammar = derive_grammar(ways, with_tools, tokenizer.control_texts)
    text = closer(ways, tokenizer.control_texts)
    # What closes a message of a turn that has several does not end the turn.
    number = None if text is None or text in markers_within(grammar) else tokenizer.added_tokens.get(text)
    named = (text, number) if text is not None and number is not None else None
    stops, source, conflicts = resolve_stops(tokenizer, named)
    others = (tokenizer.eos_token_id, number)
    if grammar.tools is None and writes_calls(with_tools):
        conflicts = (*conflicts, "the template writes tool calls in a syntax that is not known: they stay content")
    ends = frozenset({*stops, *(one for one in others if one is not None)})
    wrong = misread(ways, grammar, frozenset(one for one, token in tokenizer.added_tokens.items() if token in ends))
    conflicts = (*conflicts, *(f"a turn as the template writes it is not read back: {one}" for one in wrong))
    return Resolution(
        stop_token_ids=stops,
        stops_from=source,
        conflicts=conflicts,
        ends=ends,
        grammar=grammar,
    )


def resolve_stops(
    tokenizer: _Tokenizer, closer: tuple[str, int] | None
) -> tuple[tuple[int, ...], StopSource, tuple[str, ...]]:
    """Returns the stop tokens, who named them, and what contradicts them.

    The generation config counts, else the EOS token, else `closer`: the token, with its text, that the
    template closes a turn with.
    """
    named: Sequence[tuple[StopSource, tuple[int, ...]]] = (
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
