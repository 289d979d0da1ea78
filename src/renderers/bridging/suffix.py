"""The text that new messages add: read from a run of the template, or from a plan for messages of their kind.

A plan is made from a run with a sample of the kind. It has the text of the template, and a place for each field that
the template writes. It is used only if the template is known to write these fields unchanged, except for whitespace at
their ends: by the static analysis of the template, and by a second run with texts that show all other changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from renderers.bridging.context import BridgeContext, RenderedTurn, field_rules
from renderers.bridging.message_kind import FieldRules
from renderers.bridging.proofs import Outcome, Sample, classify_sample, find_fault
from renderers.bridging.sample_histories import substitute_turn
from renderers.core.completions import CalledTool
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.probe_words import PROBE_CONTENT, PROBE_ID, PROBE_TEXT
from renderers.core.spans import Channel, LabelledSpan, Path, Span, Trace
from renderers.programs.base import REJECTIONS
from renderers.rendering.labelled_text import LabelledText
from renderers.rendering.pipeline import PipelineSettings

LARGEST_PLANNED = 2**18
"""The number of characters of new messages up to which no template that copies them comes near a limit."""
_WORD = re.compile(f"({PROBE_TEXT}|{PROBE_ID})([0-9]+)")
_FIXED_START = re.compile(r"\\A(?:\\n|[\w<>/| ])*")
"""A pattern for prompted text that matches a fixed text at the start of a turn only."""
_SPACE = " \n\t\r"
_SPACES = ((" \n", "\n "), ("\n ", " \n"), ("\t\n", "\r\t"), ("\r ", " \r"), ("\t", ""), ("", "\n\t"))
"""Whitespace before and after a text that shows whether a template strips some of it."""
_REVEALING = (
    "Zé漢🙂 {n} \"Quote\" 'it' <b> &amp; \\n {{ x }} {% y %} [1]\n\n"
    "  \0\x1b\x7f\u2028/ İndented\there, ẞ\r\n# A, b; c: {n}\n"
)
"""A text that every known change of a text changes: of case, of whitespace, of quotes, and of special characters."""
_PADDING = "The Quick brown fox jumps. " * 64


class SuffixPiece(NamedTuple):
    """A piece of a suffix with its label. No piece is sampled."""

    text: str
    message: int
    """The number of the new message; -1 for text of no new message."""
    path: Path
    channel: Channel
    content: bool


def read_suffix(followed: RenderedTurn) -> list[SuffixPiece]:
    """Return the pieces after the turn of a run."""
    text, end, turn = followed.trace.text, followed.end, followed.message
    return [
        SuffixPiece(
            text[max(start, end) : stop], max(message - turn - 1, -1), path, channel, content and message > turn
        )
        for start, stop, message, path, channel, _, content in followed.rendered.labels
        if stop > end
    ]


@dataclass(frozen=True)
class SuffixText(LabelledText):
    """The text of a suffix. Its trace and labels are computed on first access."""

    settings: PipelineSettings
    pieces: Sequence[SuffixPiece]
    tool_names: ClassVar[tuple[str, ...]] = ()

    text = lazy[str](lambda self: "".join([piece.text for piece in self.pieces]))

    @lazy
    def labels(self) -> tuple[LabelledSpan, ...]:
        """The pieces with their places."""
        labels, end = [], 0
        for text, message, path, channel, content in self.pieces:
            start, end = end, end + len(text)
            labels.append(LabelledSpan(start, end, message, path, channel, False, content))
        return tuple(labels)

    @lazy
    def trace(self) -> Trace:
        """The text with the origin of every character."""
        return Trace(self.text, tuple([Span(*label[:4]) for label in self.labels]))


def suffix_text(pieces: Sequence[SuffixPiece], *, lead: str, settings: PipelineSettings) -> SuffixText:
    """Return the text of a suffix with the text `lead` before it, which the template wrote."""
    if lead:
        pieces = [SuffixPiece(lead, -1, (), Channel.SCAFFOLD, content=False), *pieces]
    return SuffixText(settings, pieces)


def text_size(messages: Sequence[JsonObject]) -> int:
    """Return the number of characters in the texts of messages.

    >>> text_size([{"role": "user", "content": [{"text": "Hi"}]}])
    6
    """
    return sum([_size_of(value) for message in messages for value in message.values()])


def _size_of(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size_of, value.values()))
    return sum(map(_size_of, value)) if isinstance(value, list) else 0


class _Place(NamedTuple):
    """A piece of a planned suffix, and the field that it is the text of."""

    piece: SuffixPiece
    source: int
    """The number of the new message that has the field; -1 for the turn."""
    edit: Callable[[str], str] | None
    """What the template does to the text of the field; None if the piece is the same for all messages."""


def _escape(text: str) -> str:
    """Return a text as it is in JSON, without the quotes around it, which are text of the template."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


_EDITS = (str.__str__, str.strip, str.lstrip, str.rstrip, _escape)


class SuffixPlan(NamedTuple):
    """The suffix of all messages of a kind."""

    places: tuple[_Place, ...]

    def fill(self, new: Sequence[JsonObject], make_turn: Callable[[], JsonObject]) -> list[SuffixPiece]:
        """Return the pieces for new messages of the kind. `make_turn` returns the substitute for the turn."""
        pieces = []
        for piece, source, edit in self.places:
            if edit is not None:
                value = _value_at(make_turn() if source < 0 else new[source], piece.path)
                piece = SuffixPiece(edit(value), *piece[1:])
            pieces.append(piece)
        return pieces


def _value_at(message: JsonObject, path: Path) -> Any:
    value: Any = message
    for key in path:
        value = value[key]
    return value


def plan_suffix(
    context: BridgeContext, sample: Sample, outcome: Outcome, *, any_space: bool = False
) -> SuffixPlan | None:
    """Return the plan for the messages of a kind; None if the template may change a field that it writes.

    `sample` is the sample of the kind, `outcome` the one of its proof that a rollout is extended with. `sample` has no
    whitespace around its contents with `any_space`: the plan is for contents with any whitespace around them.
    """
    rules = context.learn(field_rules)
    if not _allows_plans(context) or sample.turn.content not in ("", PROBE_CONTENT):
        return None
    variants = [sample, *(_reveal_all(sample, *space) for space in (("", ""), *(_SPACES if any_space else ())))]
    for variant in variants:
        kind = classify_sample(*variant, rules)
        if repr((any_space and without_space(kind)) or kind) != repr(sample):
            return None
    runs = [followed for variant in variants if (followed := _follow(context, variant, outcome)) is not None]
    return _read_plan(runs, variants, context) if len(runs) == len(variants) else None


def ignores_space(context: BridgeContext) -> bool:
    """Return True if whitespace at the ends of texts changes nothing, except that a template may strip it."""
    rules, program = context.learn(field_rules), context.turn_format.key.program
    has_spaced_literals = any(literal != literal.strip() for literal in rules.literals.within)
    return not (program.text_edits.tests_space or has_spaced_literals or rules.uses.short_length)


def without_space(sample: Sample) -> Sample | None:
    """Return a sample without the whitespace around contents that are a probe word; None if there is none."""
    new = [
        {**message, "content": message["content"].strip(_SPACE)} if _is_spaced(message.get("content")) else message
        for message in sample.new
    ]
    return Sample(sample.turn, new) if new != sample.new else None


def _is_spaced(content: Any) -> bool:
    if not isinstance(content, str) or (content[:1] not in _SPACE and content[-1:] not in _SPACE):
        return False
    return _WORD.fullmatch(content.strip(_SPACE)) is not None


def _allows_plans(context: BridgeContext) -> bool:
    settings, program = context.pipeline.settings, context.turn_format.key.program
    limits, usual, prompted = settings.limits, PipelineSettings.limits, settings.conventions.prompted
    # Only a run can be verified, and only a run finds that a limit is exceeded.
    has_room = limits.steps >= usual.steps and limits.characters >= usual.characters
    is_fixed = prompted is None or _FIXED_START.fullmatch(prompted) is not None
    return not settings.verify and has_room and is_fixed and program.text_edits.fields is not None


def _follow(context: BridgeContext, sample: Sample, outcome: Outcome) -> RenderedTurn | None:
    """Return the run of a sample after the history of an outcome; None if it has another scaffold."""
    history = outcome.history.messages
    messages = [*history, substitute_turn(*sample), *sample.new]
    try:
        followed = context.render(messages, turn=len(history), prompt=True)
    except REJECTIONS:
        return None
    is_proven = find_fault(followed, sample.new) is None and followed.scaffold() == outcome.scaffold
    return followed if is_proven else None


def _read_plan(runs: list[RenderedTurn], variants: list[Sample], context: BridgeContext) -> SuffixPlan | None:
    """Return the plan that all runs of the variants of a sample show; None if a text is not that of its field."""
    edited, rules = context.turn_format.key.program.text_edits.fields or frozenset(), context.learn(field_rules)
    suffixes, first = [read_suffix(run) for run in runs], runs[0]
    owners = [label.message for label in first.rendered.labels if label.end > first.end]
    if any(len(suffix) != len(owners) for suffix in suffixes):
        return None
    places: list[_Place] = []
    for owner, *pieces in zip(owners, *suffixes, strict=True):
        piece, source, edit = pieces[0], owner - first.message - 1, None
        if any(other[1:] != piece[1:] for other in pieces):
            return None
        if owner >= 0 and piece.path not in ((), ("role",)):
            if source < -1 or not edited.isdisjoint(piece.path) or (places and places[-1].piece[1:3] == piece[1:3]):
                return None
            messages = [variant.new[source] if source >= 0 else substitute_turn(*variant) for variant in variants]
            edit = _find_edit(pieces, messages, rules)
            if edit is None:
                return None
        elif any(other != piece for other in pieces):
            return None
        places.append(_Place(piece, source, edit))
    return SuffixPlan(tuple(places))


def _find_edit(
    pieces: Sequence[SuffixPiece], messages: Sequence[JsonObject], rules: FieldRules
) -> Callable[[str], str] | None:
    """Return what the template does to the field of a piece in all variants; None if it is not known."""
    try:
        values = [_value_at(message, pieces[0].path) for message in messages]
    except (KeyError, IndexError, TypeError):
        return None
    if not all(isinstance(value, str) for value in values):
        return None
    body, literals = values[0].strip(), rules.literals
    # A text that is one of the literals which match a whole text is in the sample itself.
    is_known = _WORD.fullmatch(body) is not None or body in literals.whole
    if not is_known and (_WORD.search(body) or literals.may_match(body)):
        return None
    texts = [piece.text for piece in pieces]
    return next((edit for edit in _EDITS if [edit(value) for value in values] == texts), None)


# ==================
# Revealing texts
# ==================


def _reveal_all(sample: Sample, before: str, after: str) -> Sample:
    """Return a sample with other texts in place of its probe words, which show whether a template changes them.

    `before` and `after` are whitespace around contents.
    """
    calls = tuple(CalledTool(*(text and _reveal(text) for text in call)) for call in sample.turn.calls)
    new = [_reveal(message) for message in sample.new]
    spaced = [
        {**message, "content": f"{before}{message['content']}{after}"}
        if isinstance(message.get("content"), str) and message["content"] != sampled["content"]
        else message
        for message, sampled in zip(new, sample.new, strict=True)
    ]
    return Sample(sample.turn._replace(calls=calls), spaced)


def _reveal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if isinstance(item, str) else _reveal(item) for item in value]
    word = _WORD.fullmatch(value.strip()) if isinstance(value, str) else None
    if word is None:
        return value
    kind, number = word.groups()
    if kind == PROBE_ID:
        # A template may test the length of an id.
        text = f"Qé-_.{number:0>{len(word[0]) - 5}}"
    else:
        text = f"{_REVEALING.replace('{n}', number)}{_PADDING}End {number}."
    return value.replace(word[0], text)
