"""Reduce a message to its kind: the values that can change how a template renders it.

A kind is a sample message, so one proof holds for all messages of a kind. Fields that the template cannot read are left
out. Free text that no test of the template may match, and numbers inside the content, which are data, are replaced. All
other values stay: roles, flags, other numbers, enum-like texts, and the structure of lists and objects.
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


ProbeWords = dict[str, str]
"""The probe words that replace texts: equal texts get the same word, so that comparisons of texts stay."""


def classify_message(message: JsonObject, rules: FieldRules, words: ProbeWords) -> JsonObject:
    """Return the sample of a message's kind. The messages of one bridge share `words`."""
    return {
        field: value if field == "role" else _sample_value(value, field, rules, words)
        for field, value in message.items()
        if rules.reads(field)
    }


def classify_call(call: CalledTool, rules: FieldRules, words: ProbeWords) -> CalledTool:
    """Return a call with the words for its name and its id that its result has in its sample."""
    name = call.name and _sample_text(call.name, "name", rules, words)
    return CalledTool(call.id and _sample_text(call.id, "id", rules, words), name)


def _sample_value(value: Any, field: str, rules: FieldRules, words: ProbeWords, *, in_content: bool = False) -> Any:
    in_content = in_content or field == "content"
    if isinstance(value, str):
        return _sample_text(value, field, rules, words)
    if isinstance(value, dict):
        is_part = in_content and ("type" in value or "text" in value)
        return {
            key: _sample_value(item, key, rules, words, in_content=in_content)
            for key, item in value.items()
            if not is_part or key in _PART_FIELDS or rules.reads(key)
        }
    if isinstance(value, list):
        return [_sample_value(item, field, rules, words, in_content=in_content) for item in value]
    if in_content and isinstance(value, int | float) and not isinstance(value, bool):
        return type(value)(_SAMPLE_NUMBER)
    return value


def _sample_text(text: str, field: str, rules: FieldRules, words: ProbeWords) -> str:
    """Return a text that the template treats alike: the text itself if a test may match it."""
    if rules.literals.may_match(text) or (field not in _FREE_TEXT and _ENUM_LIKE.fullmatch(text)):
        return text
    if not text.strip():
        return text[:1]
    # Templates strip whitespace at the ends, or test it by its first character.
    start, end = (text[:1] if text[:1].isspace() else "", text[-1:] if text[-1:].isspace() else "")
    # The first place where a text occurs decides the form of its word.
    is_id = field in ("tool_call_id", "id")
    word = words.setdefault(text, f"{PROBE_ID}{len(words):02}" if is_id else f"{PROBE_TEXT}{len(words)}")
    return f"{start}{word}{end}"
