"""Reduce a message to its kind: the values that can change how a template renders it.

A kind is a sample message, so one proof holds for all messages of a kind. Fields that the template cannot read are left
out. Free text is reduced to the literals of the template in it, with a probe word in place of all other text. Numbers
inside the content, which are data, are replaced. All other values stay: roles, flags, other numbers, enum-like texts,
the structure of lists and objects, and fields that the template uses in other ways than by its literals.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any, NamedTuple

from renderers.core.completions import CalledTool
from renderers.core.jsontypes import JsonObject
from renderers.core.literals import PLAIN_USES, TemplateLiterals, TextUses
from renderers.core.message_types import MEDIA_KINDS
from renderers.core.messages import REASONING_NAMES
from renderers.core.probe_words import PROBE_CONTENT, PROBE_ID, PROBE_TEXT

_ALWAYS_READ = frozenset({"role", "content", "name", "tool_call_id", "tool_calls", *REASONING_NAMES})
"""The fields that are read outside the template as well, to adapt a message and to match results with calls."""
_FREE_TEXT = frozenset({"content", "text", "name", "tool_call_id", "id", *REASONING_NAMES})
_PART_FIELDS = frozenset({"type", "text", "thinking", *MEDIA_KINDS})
"""The fields of a content part that are read outside the template, to adapt a message."""
_SAMPLE_NUMBER = 7
_LONGEST_NAME = 64
"""The length of the longest text for which the reduced text is kept. The names of tools are in many messages."""
_REPEATED_SPACE = re.compile(r"(\s)\1+")
_ENUM_LIKE = re.compile(r"[A-Za-z][\w-]{0,31}")
"""A value from a small set, such as a priority or the type of a content part."""


class FieldRules(NamedTuple):
    """The rules that reduce a message to its kind, for one template."""

    fields: frozenset[str] | None
    """The fields that the template can read; None for all fields."""
    literals: TemplateLiterals
    uses: TextUses = PLAIN_USES

    def reads(self, field: str) -> bool:
        """Return True if a field of a message can change the output."""
        return field in _ALWAYS_READ or self.fields is None or field in self.fields


class ProbeWords:
    """The probe words that replace texts: equal texts get the same word, so that comparisons of texts stay."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._reduced: dict[str, str] = {}

    def word_for(self, text: str, prefix: str, digits: int = 1) -> str:
        """Return the word for a text. The first place where the text occurs decides the form of the word."""
        word = self._words.get(text)
        if word is None:
            word = self._words[text] = prefix + str(len(self._words)).zfill(digits)
        return word

    def reduce(self, text: str, rules: FieldRules) -> str:
        """Return a text with its word in place of all text between literals. Equal texts are reduced once."""
        reduced = self._reduced.get(text)
        if reduced is None:
            reduce = reduce_text if len(text) > _LONGEST_NAME else _reduce_name
            reduced = self._reduced[text] = reduce(text, rules, self.word_for(text, PROBE_TEXT))
        return reduced


def classify_message(message: JsonObject, rules: FieldRules, words: ProbeWords) -> JsonObject:
    """Return the sample of a message's kind. The messages of one bridge share `words`."""
    exact, kind = rules.uses.exact_fields, {}
    for field, value in message.items():
        if field == "role":
            kind[field] = value
        elif rules.reads(field):
            if type(value) is str and exact is not None and field not in exact:
                # The usual result of `_sample_value`.
                kind[field] = _sample_text(value, field, rules, words)
            else:
                kind[field] = _sample_value(value, field, rules, words)
    return kind


def classify_call(call: CalledTool, rules: FieldRules, words: ProbeWords) -> CalledTool:
    """Return a call with the words for its name and its id that its result has in its sample."""
    name = call.name and _sample_value(call.name, "name", rules, words)
    return CalledTool(call.id and _sample_value(call.id, "id", rules, words), name)


def classify_content(content: str, rules: FieldRules) -> str:
    """Return the sample of the content of a turn. Whitespace around it counts only if the template tests it."""
    if rules.uses.is_exact("content") or rules.literals.is_whole(content.strip()):
        return content
    reduced = reduce_text(content, rules, PROBE_CONTENT)
    if reduced == PROBE_CONTENT or rules.uses.tests_space:
        return reduced
    return PROBE_CONTENT if reduced.strip() == PROBE_CONTENT else reduced if reduced.strip() else ""


def _sample_value(
    value: Any, field: str, rules: FieldRules, words: ProbeWords, *, in_content: bool = False, exact: bool = False
) -> Any:
    in_content, exact = in_content or field == "content", exact or rules.uses.is_exact(field)
    if isinstance(value, str):
        return value if exact else _sample_text(value, field, rules, words)
    if isinstance(value, dict):
        is_part = in_content and ("type" in value or "text" in value)
        return {
            key: _sample_value(item, key, rules, words, in_content=in_content, exact=exact)
            for key, item in value.items()
            if not is_part or key in _PART_FIELDS or rules.reads(key)
        }
    if isinstance(value, list):
        # A template may read a text in a list as an object with keys.
        return [
            item
            if isinstance(item, str)
            else _sample_value(item, field, rules, words, in_content=in_content, exact=exact)
            for item in value
        ]
    if in_content and not exact and value and isinstance(value, int | float) and not isinstance(value, bool):
        return type(value)(_SAMPLE_NUMBER)
    return value


def _sample_text(text: str, field: str, rules: FieldRules, words: ProbeWords) -> str:
    """Return a text that the template treats alike: the text itself if it is one of a small set."""
    if rules.literals.is_whole(text.strip()) or (field not in _FREE_TEXT and _ENUM_LIKE.fullmatch(text)):
        return text
    if field in ("tool_call_id", "id"):
        digits = len(text) - len(PROBE_ID) if rules.uses.id_lengths else 2
        if digits < 2 or rules.literals.occur_in(text):
            return text
        return words.word_for(text, PROBE_ID, digits)
    return words.reduce(text, rules)


def reduce_text(text: str, rules: FieldRules, word: str) -> str:
    r"""Return a text with a word in place of all text between the literals of a template.

    Of whitespace around a piece of text, one character of each run of equal ones is kept. Texts that are so short that
    the template tests their length are kept as well.

    >>> rules = FieldRules(None, TemplateLiterals(frozenset({"</think>"}), frozenset()))
    >>> reduce_text("Hm.</think>\n\nIt rains.", rules, "word")
    'word</think>\nword'
    """
    literals, uses = rules.literals, rules.uses
    if len(text) <= uses.short_length or (uses.joins_texts and literals.is_part(text)):
        return text
    runs = literals.find_runs(text, partial=uses.joins_texts)
    if not runs:
        # Most texts neither begin nor end with whitespace, so they have no ends to keep.
        is_free = len(text.strip()) == len(text) > 0 and not literals.is_whole(text)
        reduced = word if is_free else _reduce_piece(text, rules, word)
        is_short = len(reduced) <= uses.short_length
        return text if is_short or _has_runs(literals, reduced, uses.joins_texts) else reduced
    pieces: list[str] = []
    before = 0
    for start, end in (*runs, (len(text), len(text))):
        pieces += _reduce_piece(text[before:start], rules, word), text[start:end]
        before = end
    reduced = "".join(pieces)
    # A word may contain a literal, or form one with the text next to it.
    reduced_runs = literals.find_runs(reduced, partial=uses.joins_texts)
    is_alike = [reduced[slice(*run)] for run in reduced_runs] == [text[slice(*run)] for run in runs]
    return reduced if is_alike and len(reduced) > uses.short_length else text


@functools.lru_cache(maxsize=4096)
def _reduce_name(text: str, rules: FieldRules, word: str) -> str:
    """Return the result of `reduce_text` for a short text, computed once."""
    return reduce_text(text, rules, word)


@functools.lru_cache(maxsize=4096)
def _has_runs(literals: TemplateLiterals, reduced: str, partial: bool) -> bool:
    return bool(literals.find_runs(reduced, partial=partial))


def _reduce_piece(piece: str, rules: FieldRules, word: str) -> str:
    body = piece.strip()
    if not body:
        return _collapse(piece, rules)
    if len(body) <= rules.uses.short_length or rules.literals.is_whole(body):
        kept = body
    else:
        kept = _reduce_body(body, rules.literals, word) if rules.uses.joins_texts else word
    if len(body) == len(piece):
        return kept
    start = len(piece) - len(piece.lstrip())
    before, after = piece[:start], piece[start + len(body) :]
    return _collapse(before, rules) + kept + _collapse(after, rules)


def _reduce_body(body: str, literals: TemplateLiterals, word: str) -> str:
    """Return a word with the parts of literals at the ends of a body.

    A template may join the body with other texts, after it has split the text or removed whitespace.
    """
    if literals.is_part(body):
        return body
    start, end = literals.find_partial(body)
    return body[:start] + word + body[end:] if start < end else body


def _collapse(space: str, rules: FieldRules) -> str:
    """Return whitespace with one character of each run of equal ones, unless a literal contains such a run."""
    if len(space) < 2 or (rules.uses.joins_texts and _repeat_space(rules.literals.within)):
        return space
    if not space.strip(space[0]):
        # The usual indentation is one run.
        return space[0]
    return "".join([character for character, _ in itertools.groupby(space)])


@functools.lru_cache(maxsize=64)
def _repeat_space(literals: frozenset[str]) -> bool:
    return any(map(_REPEATED_SPACE.search, literals))
