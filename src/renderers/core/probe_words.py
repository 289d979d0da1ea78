"""Words that sample conversations are made of.

No chat template contains one of them, so a template treats them as arbitrary text, and each occurrence in its output
comes from a sample message.
"""

from __future__ import annotations

import re

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
PROBE_VALUE = "Probevalue"
"""A value that has to be in the output unchanged. A template that changes its case does not accept its format."""
PROBE_KEY = "probekey"
"""A key with a value that is not text. If it is in the output, the template serialises the part as data."""
PROBE_CAPTIONS = ("probebefore", "probeafter")
"""Texts before and after a media part."""

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
    PROBE_VALUE.lower(): "{value}",
    PROBE_KEY: "{key}",
    **dict.fromkeys(PROBE_CAPTIONS, "{text}"),
}
PROBE_WORDS = tuple(_PLACEHOLDERS)
"""All probe words in lower case."""
_PATTERN = re.compile(rf"({'|'.join(PROBE_WORDS)})\d*", re.IGNORECASE)


def redact_probe_words(text: str) -> str:
    """Return a text with a placeholder for each probe word, whatever its case.

    >>> redact_probe_words("<|user|>probetext0<|end|>PROBECONTENT")
    '<|user|>{text}<|end|>{content}'
    """
    return _PATTERN.sub(lambda match: _PLACEHOLDERS[match[1].lower()], text)
