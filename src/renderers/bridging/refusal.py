"""`BridgeRefusal`: why a rollout is not extended. `BridgeEvidence`: the histories that a bridge was proven with."""

from __future__ import annotations

import enum
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

from renderers.errors import MessageError, UnencodableTextError

_LOG = logging.getLogger("renderers")


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
    """The template does not end a turn with a special token, so the end of the turn is unknown. Or the completion ends
    with a token that ends other turns."""
    HISTORY_REWRITTEN = "history_rewritten"
    """The template would change the tokens of the rollout."""
    SUFFIX_VARIES = "suffix_varies"
    """The text that the template adds depends on a history that is not known."""


_KEEP = 'Create the renderer with thinking_retention="all" to keep all tokens, not only reasoning'


def _remedies(render: str, *, otherwise: str) -> Mapping[BridgeReason, str]:
    """Return what a caller can do about a refusal, by its reason.

    Args:
        render: The sentence about the whole conversation.
        otherwise: The same as the second of two remedies.
    """
    return MappingProxyType(
        {
            BridgeReason.NO_PRIOR: "Render the first turn.",
            BridgeReason.NOTHING_NEW: "Pass the messages that follow the completion.",
            BridgeReason.ASSISTANT_MESSAGE: f"Remove it, or {otherwise}.",
            BridgeReason.UNSUPPORTED_ROLE: f"Change the role, or {otherwise}.",
            BridgeReason.MESSAGE_REFUSED: "Fix the messages.",
            BridgeReason.REASONING_OPEN: f"Drop the rollout, or {otherwise}.",
            BridgeReason.NO_STOP_TOKEN: render,
            BridgeReason.HISTORY_REWRITTEN: f"{_KEEP}, or {otherwise}.",
            BridgeReason.SUFFIX_VARIES: render,
        }
    )


REMEDIES = _remedies("Render the whole conversation.", otherwise="render the whole conversation")
"""What a caller can do about a refusal. The detail of a refusal ends with it."""
REMEDIES_AFTER_RENDER = _remedies(
    "The conversation is rendered again.", otherwise="go on with the rendered conversation"
)
"""What a caller can do about a refusal after the whole conversation was rendered, as a rollout does."""


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """A rollout that is not extended. Render the whole conversation instead."""

    reason: BridgeReason
    detail: str = ""
    """What the template would do to which message, and the remedy."""


def refuse(reason: BridgeReason, fault: str, *, hint: str = "") -> BridgeRefusal:
    """Return the refusal for a fault, with the remedy for its reason after a hint.

    >>> refuse(BridgeReason.NOTHING_NEW, "there are no new messages").detail
    'there are no new messages. Pass the messages that follow the completion.'
    """
    stop = "" if fault.endswith((".", "!", "?")) else "."
    return BridgeRefusal(reason, " ".join(filter(None, (f"{fault}{stop}", hint, REMEDIES[reason]))))


def refuse_message(error: str, new: Sequence[Mapping[str, Any]]) -> BridgeRefusal:
    """Return the refusal for an error of the template, which may name one of the new messages.

    >>> refuse_message("no tools here", [{"role": "tool"}]).detail
    'the template rejects new message 0 (tool): no tools here. Fix the messages.'
    """
    rejected = error if error.startswith("new message ") else f"{describe_new(new)}: {error}"
    return refuse(BridgeReason.MESSAGE_REFUSED, f"the template rejects {rejected}")


def find_missing(prompt: Sequence[int], new: Sequence[Any]) -> BridgeRefusal | None:
    """Return the refusal of a rollout without a prompt or without new messages; None if it has both."""
    if not prompt:
        return refuse(BridgeReason.NO_PRIOR, "the previous prompt has no ids, so there is no turn to extend")
    if not new:
        return refuse(BridgeReason.NOTHING_NEW, "there are no new messages to add after the completion")
    return None


class RefusalLog:
    """Log refusals: the first of each reason at info level, later ones at debug level."""

    def __init__(self) -> None:
        self._seen: set[BridgeReason] = set()

    def add(self, refusal: BridgeRefusal) -> None:
        """Log a refusal."""
        level = logging.DEBUG if refusal.reason in self._seen else logging.INFO
        self._seen.add(refusal.reason)
        _LOG.log(level, "no bridge to the next turn (%s): %s", refusal.reason, refusal.detail)


def describe_new(new: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers and roles of new messages.

    >>> describe_new([{"role": "tool"}, {"role": "user"}])
    'new messages 0 (tool) and 1 (user)'
    """
    *names, last = [f"{number} ({message['role']})" for number, message in enumerate(new)]
    return f"new messages {', '.join(names)} and {last}" if names else f"new message {last}"


class naming_new_messages:  # noqa: N801 - used like a function
    """Name messages as new ones in the errors that are raised inside a `with` block.

    A class, because entering a generator takes several times as long.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, MessageError) and error.message is not None and not error.is_new:
            renamed = type(error)(error.fault, message=error.message, path=error.path, is_new=True)
            raise renamed.with_traceback(traceback) from error.__cause__
        if isinstance(error, UnencodableTextError) and str(error).startswith("message "):
            raise UnencodableTextError(f"new {error}") from None


class BridgeEvidence(NamedTuple):
    """A history that was tried, and the part of it that the template would rewrite; None if there is none."""

    history: str
    change: str | None


Evidence = BridgeEvidence
"""The name of `BridgeEvidence` in earlier releases."""
