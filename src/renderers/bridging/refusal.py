"""`BridgeRefusal`: why a rollout is not extended. `BridgeEvidence`: the histories that a bridge was proven with."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple


class BridgeReason(enum.StrEnum):
    """The reason for which a rollout is not extended."""

    NO_PRIOR = "no_prior"
    """There is no previous prompt."""
    NOTHING_NEW = "nothing_new"
    """There are no new messages."""
    ASSISTANT_MESSAGE = "assistant_message"
    """A new message is an assistant message, which must be given as the tokens of the model."""
    UNSUPPORTED_ROLE = "unsupported_role"
    """The template does not render a new message, or not after the turn."""
    MESSAGE_REFUSED = "message_refused"
    """The template rejects the new messages."""
    REASONING_OPEN = "reasoning_open"
    """The model stopped within its reasoning, or the reasoning cannot be closed."""
    NO_STOP_TOKEN = "no_stop_token"
    """The template does not end a turn with a special token, so the end of the turn is unknown."""
    HISTORY_REWRITTEN = "history_rewritten"
    """The template would change the tokens of the rollout."""
    SUFFIX_VARIES = "suffix_varies"
    """The text that the template adds depends on a history that is not known."""


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """A rollout that is not extended. Render the whole conversation instead."""

    reason: BridgeReason
    detail: str = ""
    """The new message and its fault, the error of the template, or the text that would change."""


class BridgeEvidence(NamedTuple):
    """A history that was tried, and the part of it that the template would rewrite; None if there is none."""

    history: str
    change: str | None


Evidence = BridgeEvidence
"""The name of `BridgeEvidence` in earlier releases."""
