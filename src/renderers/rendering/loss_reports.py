"""`LossReporter`: raise an error or warn about input that a template does not write, as the policy requires."""

from __future__ import annotations

from typing import Any

from renderers.core.caller_warnings import warn_caller
from renderers.core.losses import IS_REPORTED, Loss, LossAction, LossKind, LossPolicy
from renderers.errors import LossError, LossWarning
from renderers.rendering.input_fields import KNOWN_ROLES, content_keys
from renderers.rendering.loss_check import may_lose
from renderers.rendering.losses import LossFinder, parse_object
from renderers.rendering.pipeline import RenderedText

_REMEDIES: dict[LossKind, str] = {
    "message": "Check its place in the conversation, or join it with another message.",
    "content": "Check its place in the conversation, or join it with another message.",
    "text_beside_calls": "Pass the text as a message of its own.",
    "reasoning": "Check the template's switches for reasoning.",
    "tool_calls": "Pass a template that writes tool calls as chat_template=, or write the calls into the content.",
    "tool_result": "Pass a template that writes results of tools as chat_template=, or pass them as a user message.",
    "name": "Write the name into the content.",
    "tools": "Pass a template that writes tools as chat_template=, or describe them in a system message.",
    "documents": "Write them into a message.",
    "media": "Check which roles and places of media the template accepts.",
}
_OTHER_REMEDIES = {
    "function_call": "Pass the call in tool_calls.",
    "refusal": "Pass the refusal as the content.",
}
"""The remedies for the fields of `input_fields.OTHER_FIELDS`."""
_UNCONSUMED_RESULT = "Unconsumed tool message: pass it after the assistant message with its call."
_UNKNOWN_ROLE = "Use one of the roles system, user, assistant and tool."


class LossReporter:
    """Reports losses by a policy: errors each time, and a warning once for each kind.

    Any number of threads can use it. `source` names the definition of the format in the texts.
    """

    def __init__(self, policy: LossPolicy, source: str) -> None:
        self._source = source
        self._actions: dict[LossKind, LossAction] = {
            kind: policy[kind] for kind in _REMEDIES if policy[kind] != "ignore"
        }
        """The actions that are still to be taken. A warning is removed when it is issued."""

    @property
    def accepts_lost_messages(self) -> bool:
        """True if a message of which nothing is written is not an error."""
        return self._actions.get("message") != "error"

    def report(self, text: RenderedText, *, first: int = 0, is_cut: bool = False) -> None:
        """Raise an error or warn if nothing was written of a field of a message from `first` on.

        `is_cut` is True if the caller cut the text within the last message. Its other fields are left out on purpose.

        Raises:
            LossError: The policy for the kind of the field is `"error"`.
        """
        actions = self._actions
        if not actions:
            return
        if not may_lose(text.run, text.messages, () if first else text.items, actions):
            return
        finder = text.loss_finder(first=first)
        cut = len(text.messages) - 1 - first if is_cut else None
        losses = [loss for loss in finder.unwritten(actions) if cut is None or loss.message != cut]
        is_reported = IS_REPORTED.get()
        if is_reported is not None:
            losses = [loss for loss in losses if is_reported(loss)]
        for loss in losses:
            if actions.get(loss.kind) == "error":
                raise self._error(loss, finder)
        for loss in losses:
            # Broken arguments have a warning of their own.
            if not _is_broken(loss, finder):
                self._warn(loss, finder)

    def _warn(self, loss: Loss, finder: LossFinder) -> None:
        # Only one thread gets the action.
        action = self._actions.pop(loss.kind, None)
        if action is None:
            return
        try:
            warn_caller(f"{self._error(loss, finder)} This is reported once.", LossWarning)
        except LossWarning:
            # Filters turn warnings into errors. An error is raised each time.
            self._actions[loss.kind] = action
            raise

    def _error(self, loss: Loss, finder: LossFinder) -> LossError:
        fault, is_new = self._describe(loss, finder), finder.first > 0
        return LossError(fault, message=loss.message, path=loss.path, is_new=is_new, kind=loss.kind)

    def _describe(self, loss: Loss, finder: LossFinder) -> str:
        """Return the fault and the remedy. The message and the field come before them."""
        message = None if loss.message is None else finder.messages[finder.first + loss.message]
        verb = "are" if message is None else "is"
        fault, remedy = f"{verb} not written by {self._source}.", _REMEDIES[loss.kind]
        if message is not None and not loss.path:
            fault = f"{self._source} writes nothing of this message with the role {message['role']!r}."
            usual = _UNCONSUMED_RESULT if message["role"] == "tool" else remedy
            other = next((remedy for key, remedy in _OTHER_REMEDIES.items() if message.get(key)), usual)
            remedy = other if message["role"] in KNOWN_ROLES else _UNKNOWN_ROLE
        if loss.path:
            remedy = _OTHER_REMEDIES.get(str(loss.path[0]), remedy)
        misnamed = [] if message is None else content_keys(message)
        if misnamed and loss.path[:1] in ((), *((key,) for key in misnamed)):
            keys = ", ".join(map(repr, misnamed))
            remedy = f"The message has no content, but {keys}. Pass the text of a message as its content."
        if _is_broken(loss, finder):
            fault, remedy = f"is not the JSON of an object, which {self._source} needs.", "Pass a dict or its JSON."
        if loss.kind == "name" and finder.writes_id_of(loss):
            remedy = "Pass ids that contain the name, such as 'functions.search:0'."
        it = "them" if message is None else "it"
        return f'{fault} {remedy} To leave {it} out, create the renderer with on_loss={{"{loss.kind}": "ignore"}}.'


def _is_broken(loss: Loss, finder: LossFinder) -> bool:
    """Return True if a loss is the arguments of a call, and these are not the JSON of an object."""
    if loss.message is None or loss.path[-1:] != ("arguments",):
        return False
    value: Any = finder.messages[finder.first + loss.message]
    for key in loss.path:
        value = value[key]
    return isinstance(parse_object(value), str)
