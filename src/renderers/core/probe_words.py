"""Words that sample conversations are made of.

No chat template contains one of them, so a template treats them as arbitrary text, and each occurrence in its output
comes from a sample message.
"""

from __future__ import annotations

import re

from renderers.core.lazy import lazy_pattern

PROBE_CONTENT, PROBE_NEXT_CONTENT = "probecontent", "probereply"
PROBE_EARLIER_CONTENT = "probeanswer"
PROBE_REASONING = "probereason"
PROBE_EARLIER_REASONING, PROBE_PLAN = "probeearlierreasoning", "probeplan"
PROBE_QUESTION, PROBE_FOLLOW_UP, PROBE_NEXT_QUESTION = "probequestion", "probefollowup", "probenext"
PROBE_SYSTEM, PROBE_LATE_SYSTEM = "probesystem", "probelatesystem"
PROBE_RESULT, PROBE_LATE_RESULT = "proberesult", "probelateresult"
PROBE_TEXT = "probetext"
"""Replaces the text of a caller's message. A number follows it."""
PROBE_ID = "probeid"
"""Replaces the id of a call. Two digits follow it: some templates accept only ids of nine letters and digits."""
PROBE_EARLIER_ID = "probecall"
"""The id of an earlier call: nine letters, which all templates accept."""
PROBE_NUMBERED_ID = "pcall"
"""The id of one of many earlier calls. Four digits follow it."""
PROBE_VALUE = "Probevalue"
"""A value that has to be in the output unchanged. A template that changes its case does not accept its format."""
PROBE_KEY = "probekey"
"""A key with a value that is not text. If it is in the output, the template serialises the part as data."""
PROBE_ARGUMENT = "probeargument"
"""Replaces a template argument that is free text."""
PROBE_CAPTIONS = ("probebefore", "probeafter")
"""Texts before and after a media part."""

_WORDS_BY_PLACEHOLDER = {
    "{content}": (PROBE_CONTENT, PROBE_NEXT_CONTENT),
    "{earlier content}": (PROBE_EARLIER_CONTENT,),
    "{reasoning}": (PROBE_REASONING,),
    "{earlier reasoning}": (PROBE_EARLIER_REASONING, PROBE_PLAN),
    "{question}": (PROBE_QUESTION, PROBE_FOLLOW_UP, PROBE_NEXT_QUESTION),
    "{system message}": (PROBE_SYSTEM, PROBE_LATE_SYSTEM),
    "{tool result}": (PROBE_RESULT, PROBE_LATE_RESULT),
    "{text}": (PROBE_TEXT, *PROBE_CAPTIONS),
    "{call id}": (PROBE_ID, PROBE_EARLIER_ID, PROBE_NUMBERED_ID),
    "{value}": (PROBE_VALUE.lower(),),
    "{key}": (PROBE_KEY,),
    "{argument}": (PROBE_ARGUMENT,),
}
_PLACEHOLDERS = {word: placeholder for placeholder, words in _WORDS_BY_PLACEHOLDER.items() for word in words}
PROBE_WORDS = tuple(_PLACEHOLDERS)
"""All probe words in lower case."""
_PATTERN = lazy_pattern(rf"({'|'.join(PROBE_WORDS)})\d*", re.IGNORECASE)


def hide_probe_words(text: str) -> str:
    """Return a text with an ellipsis for each probe word, whatever its case.

    >>> hide_probe_words("<|user|>probetext0<|end|>")
    '<|user|>…<|end|>'
    """
    return _PATTERN.sub("…", text)


def redact_probe_words(text: str) -> str:
    """Return a text with a placeholder for each probe word, whatever its case.

    >>> redact_probe_words("<|user|>probetext0<|end|>PROBECONTENT")
    '<|user|>{text}<|end|>{content}'
    """
    return _PATTERN.sub(lambda match: _PLACEHOLDERS[match[1].lower()], text)
