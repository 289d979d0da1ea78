"""`ProvenRun`: an outcome of a proof that holds for all runs which differ only in texts of new messages."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from renderers.bridging.checked_run import CheckedRun
from renderers.bridging.context import RenderedTurn
from renderers.bridging.outcomes import Outcome
from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import PROBE_REASONING


class ProvenRun(NamedTuple):
    """An outcome with its turn, and a hash of the parts of its run that it depends on."""

    substitute: JsonObject
    """The message that stands for the turn."""
    outcome: Outcome
    end: int
    """Where the turn ends."""
    digest: bytes

    @classmethod
    def of(cls, outcome: Outcome, substitute: JsonObject, followed: RenderedTurn, *, prompt: str) -> ProvenRun | None:
        """Return the outcome of a run; None if it may depend on texts of new messages.

        `prompt` is the text of the history with a generation prompt.
        """
        end = followed.end
        if outcome.fault is not None or outcome.moves_content or len(prompt) > end:
            return None
        digest = _digest_of(followed, end)
        return None if digest is None else cls(substitute, outcome, end, digest)

    def outcome_of(self, substitute: JsonObject, followed: RenderedTurn, suffixes: dict[str, int]) -> Outcome | None:
        """Return the outcome of another run with the same history; None if it is not known.

        `suffixes` are the numbers of the texts after the turn.
        """
        if substitute != self.substitute or _digest_of(followed, self.end) != self.digest:
            return None
        suffix = suffixes.setdefault(followed.trace.text[self.end :], len(suffixes))
        return self.outcome if suffix == self.outcome.suffix else self.outcome._replace(suffix=suffix)


def shape_of(new: Sequence[JsonObject]) -> Hashable:
    """Return the fields of new messages, and which of them are empty. Runs that are alike have the same shape.

    >>> shape_of([{"role": "user", "content": "Hi"}])
    (('user', (('role', True), ('content', True))),)
    """
    return tuple((message["role"], tuple((field, bool(message[field])) for field in message)) for message in new)


def _digest_of(followed: RenderedTurn, end: int) -> bytes | None:
    """Return a hash that is equal for runs which differ only in texts of new messages; None if there is none."""
    trace = followed.trace
    run = CheckedRun.of(trace, turn=followed.message, end=end, special_tokens=followed.special_tokens)
    if run is None:
        return None
    # An outcome also depends on whether the reasoning of the turn is anywhere in the text.
    parts = run.before, [*map(tuple, run.spans)], [*map(tuple, run.later)], PROBE_REASONING in trace.text
    # Many times as fast as a `repr`. Later versions of the format write equal data in several ways.
    return hashlib.sha256(marshal.dumps(parts, 0)).digest()
