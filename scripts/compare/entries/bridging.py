"""Differences between bridges, except for those of all renders."""

from __future__ import annotations

from scripts.compare.differences import Difference
from scripts.compare.entries.base import IDS, OUTCOME, OWNER, Entry, has_role
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_BRIDGE = ("bridge",)
_GLM = ("glm-4.5", "glm-5", "glm-5.1")


def _extends(difference: Difference) -> bool:
    """Return whether only this release extends the rollout."""
    return difference.new == "" and "refused" in difference.old


def _refuses(difference: Difference, *reasons: str) -> bool:
    """Return whether only this release refuses, for one of these reasons."""
    return difference.old == "" and difference.new.removeprefix("refused: ") in reasons


def _completion(difference: Difference) -> str:
    """Return the kind of the completion: clean, truncated, or with tokens after the stop token."""
    return difference.case.name.split(", ")[1]


ENTRIES = (
    Entry(
        name="bridges of models without a family in release 0.1",
        fields=OUTCOME,
        kinds=_BRIDGE,
        families=(UNKNOWN,),
        matches=_extends,
        old="never extended",
        new="extended",
        reason="the format is inferred",
    ),
    Entry(
        name='`thinking_retention="tool_cycle"` before a user message',
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=lambda found: (
            _extends(found) and found.settings.get("thinking_retention") == "tool_cycle" and has_role(found, "user")
        ),
        old="always None",
        new="extended if the template keeps the history",
        reason="proven per template and turn",
    ),
    Entry(
        name="new messages after which the template keeps the history",
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=_extends,
        old="refused by a rule per family",
        new="extended",
        reason="proven per template and turn",
    ),
    Entry(
        name="late system messages that the template drops",
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=lambda found: "LossError" in found.new and has_role(found, "system"),
        old="written, or None",
        new="`LossError`",
        reason="a full render raises it too",
        remedy='`on_loss={"message": "ignore"}`',
    ),
    Entry(
        name="late system messages that the template refuses, moves or merges",
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=lambda found: (
            _refuses(found, "message_refused", "suffix_varies", "history_rewritten", "no_stop_token")
            and has_role(found, "system")
        ),
        old="written",
        new="refused",
        reason="the model would see a history that the template cannot write",
    ),
    Entry(
        name="completion that does not close its reasoning",
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=lambda found: _refuses(found, "reasoning_open"),
        old="closed with `</think>`",
        new="refused before a tool result, or if the template drops reasoning",
        reason="a turn without a call has no result",
    ),
    Entry(
        name="results after which the template rewrites the turn",
        fields=OUTCOME,
        kinds=_BRIDGE,
        matches=lambda found: _refuses(found, "history_rewritten") and has_role(found, "tool"),
        old="appended",
        new="refused",
        reason="a full render would have another history: Qwen3 drops empty reasoning, and a truncated call is lost",
    ),
    Entry(
        name="results with several possible forms",
        fields=OUTCOME,
        kinds=_BRIDGE,
        families=("gemma4",),
        matches=lambda found: _refuses(found, "suffix_varies") and has_role(found, "tool"),
        old="appended",
        new="refused",
        reason="Gemma 4 31B writes a result in another way if the turn has text after its calls",
    ),
    Entry(
        name="tokens after the stop token",
        fields=IDS,
        kinds=_BRIDGE,
        matches=lambda found: _completion(found) == "stop and more" and bool(found.new) and not found.old,
        old="dropped",
        new="kept",
        reason="the result begins with the prior ids",
    ),
    Entry(
        name="GLM without stop token",
        fields=IDS,
        kinds=_BRIDGE,
        families=_GLM,
        matches=lambda found: "<|endoftext|>" in found.old and not found.new,
        old="`<|endoftext|>` is added",
        new="nothing is added",
        reason="follows the template",
    ),
    Entry(
        name="truncated completions",
        fields=IDS,
        kinds=_BRIDGE,
        matches=lambda found: _completion(found) == "truncated",
        old="closed with `</think>` or a stop token",
        new="closed as the template does",
        reason="follows the template",
    ),
    Entry(
        name="stop token that does not end this turn in the template",
        fields=IDS,
        kinds=_BRIDGE,
        matches=lambda found: (
            not found.old and (_completion(found) == "last stop" or found.run.before.endswith("<|message|><|return|>"))
        ),
        old="nothing follows",
        new="the stop token of the template follows",
        reason="the template always writes it; gpt-oss ends reasoning without an answer with `<|end|>`",
    ),
    Entry(
        name="GLM: header of a message after the header of another role",
        fields=OWNER,
        kinds=_BRIDGE,
        families=_GLM,
        matches=lambda found: _completion(found) == "last stop" and found.new == -1,
        old="belongs to the new message",
        new="belongs to no message",
        reason="it ends the turn",
    ),
    Entry(
        name="Gemma 4: result with the name of no call",
        fields=IDS,
        kinds=_BRIDGE,
        families=("gemma4",),
        matches=lambda found: found.case.name.endswith("stray result"),
        old="the name of the result",
        new="the name of the call",
        reason="the template writes the name of the call",
    ),
    Entry(
        name="gpt-oss: stop token of another kind of turn",
        fields=OUTCOME,
        kinds=_BRIDGE,
        families=("gpt-oss",),
        matches=lambda found: _refuses(found, "no_stop_token"),
        old="extended",
        new="refused",
        reason="results follow `<|call|>` and users other stop tokens in every render; the refusal has a remedy",
    ),
)
