"""Words that sample conversations are made of.

No chat template contains one of them, so a template treats them as arbitrary text, and each occurrence in its output
comes from a sample message.
"""

from __future__ import annotations

import re

__all__ = [
    "PROBE_CONTENT",
    "PROBE_EARLIER_CONTENT",
    "PROBE_EARLIER_REASONING",
    "PROBE_FOLLOW_UP",
    "PROBE_ID",
    "PROBE_LATE_RESULT",
    "PROBE_LATE_SYSTEM",
    "PROBE_NEXT_CONTENT",
    "PROBE_NEXT_QUESTION",
    "PROBE_PLAN",
    "PROBE_QUESTION",
    "PROBE_REASONING",
    "PROBE_RESULT",
    "PROBE_SYSTEM",
    "PROBE_TEXT",
    "PROBE_WORDS",
    "redact_probe_words",
]

PROBE_CONTENT = "probecontent"
PROBE_REASONING = "probereason"
PROBE_EARLIER_CONTENT = "probeanswer"
PROBE_EARLIER_REASONING = "probeearlierreasoning"
PROBE_PLAN = "probeplan"
PROBE_QUESTION = "probequestion"
PROBE_FOLLOW_UP = "probefollowup"
PROBE_SYSTEM = "probesystem"
PROBE_RESULT = "proberesult"
PROBE_NEXT_QUESTION = "probenext"
PROBE_NEXT_CONTENT = "probereply"
PROBE_LATE_SYSTEM = "probelatesystem"
PROBE_LATE_RESULT = "probelateresult"
PROBE_TEXT = "probetext"
"""Replaces the text of a caller's message. A number follows it."""
PROBE_ID = "probeid"
"""Replaces the id of a call. Two digits follow it: some templates accept only ids of nine letters and digits."""

_PLACEHOLDERS = {
    PROBE_CONTENT: "{content}",
    PROBE_REASONING: "{reasoning}",
    PROBE_EARLIER_CONTENT: "{earlier content}",
    PROBE_EARLIER_REASONING: "{earlier reasoning}",
    PROBE_PLAN: "{earlier reasoning}",
    PROBE_QUESTION: "{question}",
    PROBE_FOLLOW_UP: "{question}",
    PROBE_SYSTEM: "{system message}",
    PROBE_RESULT: "{tool result}",
    PROBE_NEXT_QUESTION: "{question}",
    PROBE_NEXT_CONTENT: "{content}",
    PROBE_LATE_SYSTEM: "{system message}",
    PROBE_LATE_RESULT: "{tool result}",
    PROBE_TEXT: "{text}",
    PROBE_ID: "{call id}",
}
PROBE_WORDS = tuple(_PLACEHOLDERS)
_PATTERN = re.compile(rf"({'|'.join(PROBE_WORDS)})\d*", re.IGNORECASE)


def redact_probe_words(text: str) -> str:
    """Return a text with a placeholder for each probe word, whatever its case.

    >>> redact_probe_words("<|user|>probetext0<|end|>PROBECONTENT")
    '<|user|>{text}<|end|>{content}'
    """
    return _PATTERN.sub(lambda match: _PLACEHOLDERS[match[1].lower()], text)
