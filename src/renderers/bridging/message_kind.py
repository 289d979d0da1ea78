"""Reduce a message to its kind: the values that can change how a template renders it.

A kind is a sample message. Fields that the template cannot read are left out, and free text that no test of the
template may match is replaced with a probe word. Numbers inside the content are data, such as a tool result, and are
replaced as well. All other values stay: roles, flags, numbers, enum-like texts, and the structure of lists and objects.
A proof that is made with the samples is a function of the kinds alone, so it is
the same for all messages of these kinds.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from renderers.core.completions import CalledTool
from renderers.core.jsontypes import JsonObject
from renderers.core.literals import TemplateLiterals
from renderers.core.messages import MEDIA_KINDS, REASONING_NAMES
from renderers.core.probe_words import PROBE_ID, PROBE_TEXT

_ALWAYS_READ = frozenset({"role", "content", "name", "tool_call_id", "tool_calls", *REASONING_NAMES})
"""The fields that are read outside the template as well, to adapt a message and to match results with calls."""
_FREE_TEXT = frozenset({"content", "text", "name", "tool_call_id", "id", *REASONING_NAMES})
_PART_FIELDS = frozenset({"type", "text", "thinking", *MEDIA_KINDS})
"""The fields of a content part that are read outside the template, to adapt a message."""
_SAMPLE_NUMBER = 7
_IDS = frozenset({"tool_call_id", "id"})
_ENUM_LIKE = re.compile(r"[A-Za-z][\w-]{0,31}")
"""A value from a small set, such as a priority or the type of a content part."""


class FieldRules(NamedTuple):
    """The rules that reduce a message to its kind, for one template."""

    fields: frozenset[str] | None
    """The fields that the template can read; None for all fields."""
    literals: TemplateLiterals

    def reads(self, field: str) -> bool:
        """Return True if a field of a message can change the output."""
        return self.fields is None or field in self.fields or field in _ALWAYS_READ


class SampleTexts:
    """The probe words that replace texts: equal texts get the same word, so that comparisons of texts stay."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    def word(self, text: str, *, is_id: bool) -> str:
        """Return the probe word for a text. The first place where a text occurs decides its form."""
        number = len(self._words)
        return self._words.setdefault(text, f"{PROBE_ID}{number:02}" if is_id else f"{PROBE_TEXT}{number}")


def classify_message(message: JsonObject, rules: FieldRules, texts: SampleTexts) -> JsonObject:
    """Return the sample of a message's kind. The messages of one bridge share `texts`."""
    return {
        field: value if field == "role" else _sample_value(value, field, rules, texts)
        for field, value in message.items()
        if rules.reads(field)
    }


def classify_call(call: CalledTool, rules: FieldRules, texts: SampleTexts) -> CalledTool:
    """Return a call with the words for its name and its id that its result has in its sample."""
    name = call.name and _sample_text(call.name, "name", rules, texts)
    return CalledTool(call.id and _sample_text(call.id, "id", rules, texts), name)


def _sample_value(value: Any, field: str, rules: FieldRules, texts: SampleTexts, *, in_content: bool = False) -> Any:
    in_content = in_content or field == "content"
    if isinstance(value, str):
        return _sample_text(value, field, rules, texts)
    if isinstance(value, dict):
        is_part = in_content and ("type" in value or "text" in value)
        return {
            key: _sample_value(item, key, rules, texts, in_content=in_content)
            for key, item in value.items()
            if not is_part or key in _PART_FIELDS or rules.reads(key)
        }
    if isinstance(value, list):
        return [_sample_value(item, field, rules, texts, in_content=in_content) for item in value]
    if in_content and isinstance(value, int | float) and not isinstance(value, bool):
        return type(value)(_SAMPLE_NUMBER)
    return value


def _sample_text(text: str, field: str, rules: FieldRules, texts: SampleTexts) -> str:
    """Return a text that the template treats alike: the text itself if a test may match it."""
    if rules.literals.may_match(text) or (field not in _FREE_TEXT and _ENUM_LIKE.fullmatch(text)):
        return text
    if not text.strip():
        return text[:1]
    # Templates strip whitespace at the ends, or test it by its first character.
    start, end = (text[:1] if text[:1].isspace() else "", text[-1:] if text[-1:].isspace() else "")
    return f"{start}{texts.word(text, is_id=field in _IDS)}{end}"
