"""`Resolution`: the family, stop tokens and grammar of a model, where each comes from, and what conflicts."""

from __future__ import annotations

import datetime
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from renderers.core.options import DEFAULT_DATE
from renderers.core.text import digest_of
from renderers.errors import TemplateLimitError
from renderers.families import Family
from renderers.families.registry import NO_MATCH, FamilyMatch, MatchedBy
from renderers.parsing.compiled import markers_within
from renderers.parsing.evidence import PLAIN_CLASSES, TURN_CLASSES, Evidence, RoundTrip, try_turns
from renderers.parsing.grammar import (
    NO_OVERRIDES,
    Grammar,
    ParserOverrides,
    apply_overrides,
    apply_variants,
    with_calls_of,
)
from renderers.parsing.infer import call_end_token, infer_grammar, writes_calls
from renderers.parsing.response_template import read_declared_format, read_response_template
from renderers.probing.turn_format import TurnFormat
from renderers.programs.base import Program
from renderers.programs.registry import PROGRAMS
from renderers.programs.template import TemplateProgram
from renderers.rendering.known_losses import KnownLoss, known_losses
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer

_THINK = "<think>", "</think>"
_UNREAD_REASONING = (
    "the template mentions <think>, but writes no reasoning: reasoning is returned as content. Pass reasoning_parser=, "
    "such as 'think', or 'granite_thinking_parser' for Granite 3.3."
)
UNREAD_CALLS = "unknown tool-call format: calls are returned as content"
"""A conflict that is also logged when the first completion is parsed."""

UNPROBED = "the template could not be probed, so completions are returned as content"
"""The start of a conflict that is also logged when the first completion is parsed."""

# These run the template. Renderers of one model share their turn formats, so the results are learned once.
_try_turns = functools.lru_cache(maxsize=128)(try_turns)
_writes_calls = functools.lru_cache(maxsize=64)(writes_calls)
_call_end_token = functools.lru_cache(maxsize=64)(call_end_token)

StopSource = Literal["record", "generation_config", "eos_token", "template", "nothing"]
"""Where the stop tokens come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The family, stop tokens and grammar of a model, where each comes from, and what conflicts."""

    family: Family
    """The record of the family. An empty record with the key `default` if the family is unknown."""
    matched_by: MatchedBy
    """How the family was matched."""
    program: str
    """The name of the program that renders messages: `template` for the chat template."""
    template_digest: str
    """The digest of the template, as in `Family.templates`, or of the definition of another program."""
    stop_token_ids: tuple[int, ...]
    """The stop token ids in order."""
    stop_source: StopSource
    """Where the stop tokens come from."""
    conflicts: tuple[str, ...]
    """Descriptions of facts about the model that contradict each other."""
    end_token_ids: frozenset[int]
    """The ids that end a completion for the parser: the stop tokens, EOS, and the tokens that end a turn."""
    grammar: Grammar
    """The grammar of turns, inferred from the template."""
    find_evidence: Callable[[], Mapping[str, Evidence]] = field(repr=False, compare=False)
    """Returns `evidence`."""
    find_losses: Callable[[], tuple[KnownLoss, ...]] = field(repr=False, compare=False)
    """Returns `known_losses`."""
    find_adaptations: Callable[[], tuple[str, ...]] = field(repr=False, compare=False)
    """Returns `adaptations`."""

    @property
    def evidence(self) -> Mapping[str, Evidence]:
        """The round trips of turns with the grammar, by class of turns: rendered, parsed and compared on first access.

        It is empty if the template could not be probed.
        """
        return self.find_evidence()

    @property
    def known_losses(self) -> tuple[KnownLoss, ...]:
        """The input that the template is known to drop, found by rendering small conversations on first access."""
        return self.find_losses()

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Descriptions of conversions of messages after which the template writes other text than for those given.

        They are found by running the template on first access.
        """
        return self.find_adaptations()

    def __reduce__(self) -> tuple[object, ...]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        # Formats are not pickled.
        values["find_evidence"] = functools.partial(dict, dict(self.evidence))
        values["find_losses"] = functools.partial(tuple, self.known_losses)
        values["find_adaptations"] = functools.partial(tuple, self.adaptations)
        return functools.partial(type(self), **values), ()

    found_by = property(operator.attrgetter("matched_by"), doc="The old name of `matched_by`.")
    stops_from = property(operator.attrgetter("stop_source"), doc="The old name of `stop_source`.")
    ends = property(operator.attrgetter("end_token_ids"), doc="The old name of `end_token_ids`.")


def resolve(
    tokenizer: LoadedTokenizer | ForeignTokenizer,
    turns: TurnFormat,
    tool_turns: TurnFormat,
    *,
    family_match: FamilyMatch = NO_MATCH,
    parsers: ParserOverrides = NO_OVERRIDES,
    program_name: str = "template",
    date: datetime.datetime = DEFAULT_DATE,
) -> Resolution:
    """Resolve the stop tokens and the grammar of a model from its files, its family and its format.

    `turns` and `tool_turns` are the formats of conversations without and with tools. If the template exceeds its
    limits on a probe, the grammar returns every completion as content, and `conflicts` has the reason. `parsers`
    override the inferred grammar.
    """
    family, program = family_match.family, turns.key.program
    learned = _learn_grammar(turns, tool_turns, tokenizer.response_template, family=family, parsers=parsers)
    turns, grammar = learned.turns, learned.grammar
    ends = _find_ends(tokenizer, family_match, learned)
    conflicts = [*ends.conflicts, *learned.conflicts]
    if program.mentions("strftime_now") and date == DEFAULT_DATE:
        conflicts.append(f"the template writes the date, which is {DEFAULT_DATE:%Y-%m-%d} by default. Pass date=.")
    if family_match.warning is not None:
        conflicts.append(family_match.warning)
    conflicts += _program_conflicts(family, program, program_name, tokenizer.chat_templates.values())
    find_evidence: Callable[[], Mapping[str, Evidence]] = dict
    if learned.is_probed:
        end_texts = frozenset(text for text, token in tokenizer.added_tokens.items() if token in ends.end_token_ids)
        tried = functools.partial(_try_turns, turns, tool_turns, grammar, end_texts)
        find_evidence = functools.partial(tried, tuple(TURN_CLASSES))
        conflicts += (
            f"a rendered turn is not parsed back: {evidence.difference}"
            for evidence in tried(PLAIN_CLASSES).values()
            if evidence.outcome is RoundTrip.DIFFERENT
        )
    return Resolution(
        family=family,
        matched_by=family_match.matched_by,
        program=program_name,
        template_digest=program.digest,
        stop_token_ids=ends.stop_token_ids,
        stop_source=ends.source,
        conflicts=tuple(dict.fromkeys(conflicts)),
        end_token_ids=ends.end_token_ids,
        grammar=grammar,
        find_evidence=find_evidence,
        find_losses=functools.partial(known_losses, turns, tool_turns),
        find_adaptations=functools.partial(_adaptations, (turns, tool_turns) if learned.is_probed else ()),
    )


class _LearnedGrammar(NamedTuple):
    """A grammar, and the facts about turns that were learned with it."""

    turns: TurnFormat
    """The format of conversations without tools; with tools if the template rejects those without."""
    grammar: Grammar
    end_text: str | None = None
    """The token that ends a turn."""
    call_end_text: str | None = None
    """The token that ends a turn with calls."""
    conflicts: tuple[str, ...] = ()
    is_probed: bool = True
    """False if the template exceeded its limits on a probe."""


class _Ends(NamedTuple):
    """The tokens that end a turn, and conflicts between their sources."""

    stop_token_ids: tuple[int, ...]
    source: StopSource
    end_token_ids: frozenset[int]
    conflicts: tuple[str, ...]


def _find_ends(
    tokenizer: LoadedTokenizer | ForeignTokenizer, family_match: FamilyMatch, learned: _LearnedGrammar
) -> _Ends:
    """Return the stop tokens of a model, and all tokens that end a completion for the parser."""
    family, end_text = family_match.family, learned.end_text
    # A token that ends a message of a turn with several messages does not end the turn.
    inside = end_text is None or end_text in markers_within(learned.grammar)
    end_id = None if end_text is None or inside else tokenizer.added_tokens.get(end_text)
    end_token = (end_text, end_id) if end_text is not None and end_id is not None else None
    record, missing = _record_stops(family, tokenizer)
    if family_match.warning is not None and end_token is not None and end_token[1] not in record:
        # A model that never stops is worse than one that stops at the tokens of its own files.
        record = ()
    eos, listed = tokenizer.eos_token_id, tokenizer.stop_token_ids or ()
    stops, source, conflicts = resolve_stops(record=record, generation_config=listed, eos=eos, end_token=end_token)
    if missing:
        texts = ", ".join(map(repr, missing))
        conflicts += (f"stop tokens of the family {family.key} are not in the vocabulary: {texts}",)
    call_end_id = None if learned.call_end_text is None else tokenizer.added_tokens.get(learned.call_end_text)
    others = frozenset(token for token in (eos, end_id, call_end_id) if token is not None)
    return _Ends(stops, source, others.union(stops), conflicts)


def _learn_grammar(
    turns: TurnFormat,
    tool_turns: TurnFormat,
    response_template: Mapping[str, Any] | None,
    *,
    family: Family,
    parsers: ParserOverrides,
) -> _LearnedGrammar:
    try:
        if not turns.headers("user"):
            turns = tool_turns
        derived, conflicts = _complete(infer_grammar(turns, tool_turns), response_template)
        unread_calls = derived.tools is None and parsers.tool_parser is None and _writes_calls(tool_turns)
        overlaid = apply_variants(derived, family.variants, tools=None if unread_calls else family.syntax)
        declared = read_declared_format(response_template, parsers)
        grammar = apply_overrides(overlaid, parsers, declared=declared)
        conflicts += (UNREAD_CALLS,) * unread_calls
        conflicts += (_UNREAD_REASONING,) * (grammar.reasoning is None and _asks_for_reasoning(turns.key.program))
        return _LearnedGrammar(turns, grammar, turns.end_token, _call_end_token(tool_turns, grammar), conflicts)
    except TemplateLimitError as error:
        conflicts = (f"{UNPROBED} ({error})",)
        return _LearnedGrammar(turns, apply_overrides(Grammar(), parsers), conflicts=conflicts, is_probed=False)


def _asks_for_reasoning(program: Program) -> bool:
    """Return True if a chat template contains markers of reasoning, such as in an instruction to the model."""
    return isinstance(program, TemplateProgram) and all(marker in program.template.source for marker in _THINK)


def _program_conflicts(family: Family, program: Program, program_name: str, templates: Iterable[str]) -> Iterator[str]:
    """Yield conflicts between the program of a family, the program in use and the chat templates of the model."""
    if family.program not in (None, *PROGRAMS):
        yield f"the program {family.program!r} is not in this release: the chat template is used instead"
    if isinstance(program, TemplateProgram):
        return
    unknown = sorted({*map(digest_of, templates)} - {*family.templates})
    if unknown:
        yield (
            f"the chat template of the model ({', '.join(unknown)}) is not known for {family.key}, and the program "
            f"{program_name!r} is used instead. Pass program='template' to use the template."
        )


def resolve_stops(
    *, record: tuple[int, ...], generation_config: tuple[int, ...], eos: int | None, end_token: tuple[str, int] | None
) -> tuple[tuple[int, ...], StopSource, tuple[str, ...]]:
    """Return the stop token ids, their source, and conflicts.

    The ids come from the first argument that has any. `end_token` is the text and id of the token that ends a turn.
    """
    sources: Sequence[tuple[StopSource, tuple[int, ...]]] = (
        ("record", record),
        ("generation_config", generation_config),
        ("eos_token", () if eos is None else (eos,)),
        ("template", () if end_token is None else (end_token[1],)),
    )
    source, stops = next(((source, ids) for source, ids in sources if ids), ("nothing", ()))
    conflicts = []
    if end_token is not None and end_token[1] not in stops:
        conflicts.append(
            f"the template ends a turn with {end_token[0]!r} ({end_token[1]}), which is not among the stop tokens "
            f"{list(stops)} from {source}: generation might not stop there"
        )
    if eos is not None and eos not in stops:
        conflicts.append(f"the EOS token {eos} is not among the stop tokens {list(stops)} from {source}")
    return stops, source, tuple(conflicts)


def _complete(derived: Grammar, record: Mapping[str, Any] | None) -> tuple[Grammar, tuple[str, ...]]:
    """Return a derived grammar with the formats that only the model's `response_template` shows, and conflicts."""
    if record is None:
        return derived, ()
    try:
        declared = read_response_template(record)
    except ValueError as error:
        return derived, (str(error),)
    if derived.tools is not None and declared.tools not in (None, derived.tools):
        conflict = f"the template writes calls as {derived.tools}, and response_template has {declared.tools}"
        return derived, (conflict,)
    if derived.tools is None:
        derived = with_calls_of(derived, declared)
    return replace(derived, reasoning=derived.reasoning or declared.reasoning), ()


def _adaptations(turn_formats: Sequence[TurnFormat]) -> tuple[str, ...]:
    keys = (turn_format.key for turn_format in turn_formats)
    listed = (key.program.adaptations(dict(key.arguments)) for key in keys)
    return tuple(dict.fromkeys(itertools.chain.from_iterable(listed)))


def _record_stops(
    family: Family, tokenizer: LoadedTokenizer | ForeignTokenizer
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the ids of a family's stop tokens, and the texts of those that are not in the vocabulary."""
    find = tokenizer.vocab.token_id if isinstance(tokenizer, ForeignTokenizer) else tokenizer.added_tokens.get
    ids = {text: find(text) for text in family.stop_tokens}
    missing = tuple(text for text, token in ids.items() if token is None)
    return tuple(token for token in ids.values() if token is not None), missing
