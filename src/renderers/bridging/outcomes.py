"""The outcomes of a proof with sample histories, and the choice among them by the ids of the real history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from renderers.bridging.refusal import BridgeEvidence, BridgeReason, BridgeRefusal, describe_new, refuse, refuse_message
from renderers.bridging.sample_histories import HistoryFeature, SampleHistory
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.options import ThinkingRetention


class Outcome(NamedTuple):
    """The result of a proof with one history."""

    history: SampleHistory
    required: frozenset[str]
    """The special tokens, or texts of several, in every prompt with such a history."""
    stop: str
    """The token that ends the turn; empty if it ends with text."""
    last_stop: str
    """The same if nothing follows the turn."""
    stop_is_next: bool
    """True if the stop token is also the first token of the next message."""
    scaffold: bytes
    """The digest of the template text of the turn, of the message before it, and after it."""
    suffix: int
    """A number that is equal for equal texts after the turn."""
    change: str | None
    """The part of the history that the template would rewrite; None if it rewrites nothing. It may also rewrite
    `last_stop`, at the end of a completion."""
    fault: BridgeRefusal | None
    prompt_end: str = ""
    """The end of the prompt with this history, from the first special token after the last message text."""
    moves_content: bool = False
    """True if the template would write the content of the turn after new messages. The outcome is without it."""

    def with_last_stop(self) -> Outcome:
        """Return the outcome for a completion that ends with `last_stop`."""
        return self._replace(change=self.change or self.stop_change)

    @property
    def stop_change(self) -> str | None:
        """The change of a completion that ends with `last_stop`; None if the template does not rewrite it."""
        if self.last_stop == self.stop:
            return None
        return f"the template ends that turn with {self.stop!r} in place of {self.last_stop!r}"


def histories_of(outcomes: Iterable[Outcome]) -> tuple[SampleHistory, ...]:
    """Return the histories of outcomes, each once."""
    return tuple({id(outcome.history): outcome.history for outcome in outcomes}.values())


class Choice(NamedTuple):
    """The outcome to extend a rollout with."""

    outcome: Outcome
    evidence: tuple[BridgeEvidence, ...]
    likely: tuple[Outcome, ...]
    """The outcomes of the evidence: those for all histories that the real history may be like."""


@dataclass(frozen=True)
class Proof:
    """The outcomes for all histories that the template accepts, and its errors for the others."""

    outcomes: tuple[Outcome, ...]
    suffixes: tuple[str, ...]
    """The texts after the turn, in quotes, by their numbers."""
    errors: tuple[str, ...]

    def with_stop(self, is_stop: Callable[[str], bool]) -> Proof:
        """Return the proof for a completion. `is_stop` returns True if a special token ended it.

        The template rewrites the token that ends the last turn of a conversation if it ends other turns with another.
        """
        if not any(map(is_stop, self.other_stops)):
            return self
        return replace(self, outcomes=tuple([outcome.with_last_stop() for outcome in self.outcomes]))

    @lazy
    def other_stops(self) -> frozenset[str]:
        """The tokens that end a turn if nothing follows it, and only then."""
        return frozenset(outcome.last_stop for outcome in self.outcomes if outcome.last_stop != outcome.stop)

    @lazy
    def agrees(self) -> bool:
        """True if all histories have the same text after the turn, and none has a fault."""
        ends = {(outcome.stop, outcome.suffix) for outcome in self.outcomes}
        return len(ends) == 1 and all(outcome.fault is None for outcome in self.outcomes)

    @lazy
    def holds_for_a_question(self) -> bool:
        """True if the template accepts the messages after the history without features, which every history is like."""
        return any(not outcome.history.features for outcome in self.outcomes)

    @lazy
    def rewrites(self) -> bool:
        """True if the template would rewrite a history."""
        return any(outcome.change is not None for outcome in self.outcomes)

    @lazy
    def evidence(self) -> tuple[BridgeEvidence, ...]:
        """The evidence of all histories."""
        return describe_outcomes(self.outcomes)


def describe_outcomes(outcomes: Sequence[Outcome]) -> tuple[BridgeEvidence, ...]:
    """Return the evidence of some outcomes."""
    return tuple(BridgeEvidence(outcome.history.name, outcome.change) for outcome in outcomes)


def choose_outcome(
    proof: Proof,
    *,
    has_token: Callable[[str], bool],
    after_assistant: Callable[[], bool],
    ends_with: Callable[[str], bool],
    new: Sequence[JsonObject],
    retention: ThinkingRetention | None,
    hint: Callable[[], str] = str,
) -> Choice | BridgeRefusal:
    """Return the outcome to extend a rollout with, or the refusal.

    `has_token` returns True if a special token is in the real history: a sample history that requires a token which is
    not there is ruled out. `after_assistant` returns True if the real history ends with an assistant message.
    `ends_with` returns True if the real prompt ends with a text. `hint` returns a remedy for a history that would be
    rewritten.
    """
    if not proof.outcomes:
        return refuse_message(proof.errors[0], new)
    kept = retention == "all" or (retention == "tool_cycle" and all(message["role"] != "user" for message in new))
    # The real history, which may be long, is only searched if the result depends on it.
    if proof.agrees and proof.holds_for_a_question and (kept or not proof.rewrites):
        return Choice(proof.outcomes[0], proof.evidence, proof.outcomes)
    likely = likely_outcomes(proof, has_token=has_token, after_assistant=after_assistant, ends_with=ends_with)
    if not likely:
        return refuse_message(proof.errors[0], new)
    first = likely[0]
    ends = first.stop, first.suffix
    fault = next((outcome.fault for outcome in likely if outcome.fault is not None), None)
    if fault is not None:
        return fault
    other = next((outcome for outcome in likely if (outcome.stop, outcome.suffix) != ends), None)
    if other is not None:
        return refuse(BridgeReason.SUFFIX_VARIES, f"{describe_new(new)}: {_describe_suffixes(proof, first, other)}")
    evidence = describe_outcomes(likely)
    change = next((item for item in evidence if item.change is not None), None)
    if change is not None and not kept:
        always = all(item.change is not None for item in evidence)
        where = "" if always else f", at least in a conversation with {change.history} before it"
        verb = "follow" if len(new) > 1 else "follows"
        detail = f"if {describe_new(new)} {verb} the assistant's turn, {change.change}{where}"
        remedy = hint()
        if change.change == first.stop_change:
            remedy = f"Remove {first.last_stop!r} from the completion, so that the bridge adds {first.stop!r}. {remedy}"
        return refuse(BridgeReason.HISTORY_REWRITTEN, detail, hint=remedy.strip())
    return Choice(first, evidence, likely)


def _describe_suffixes(proof: Proof, first: Outcome, other: Outcome) -> str:
    """Return how the texts after the turn differ."""
    suffix, other_suffix = (proof.suffixes[outcome.suffix] for outcome in (first, other))
    if other.history is first.history:
        return f"the template writes {suffix} or {other_suffix}, depending on names or ids of calls that are not known"
    cases = f"{suffix} if the turn follows {first.history.name}, and {other_suffix} if it follows {other.history.name}"
    return f"the template writes {cases}, and a bridge does not know the earlier messages"


def likely_outcomes(
    proof: Proof,
    *,
    has_token: Callable[[str], bool],
    after_assistant: Callable[[], bool],
    ends_with: Callable[[str], bool],
) -> tuple[Outcome, ...]:
    """Return the outcomes for the histories that the real history may be like."""
    absent = _absent_features(proof.outcomes, has_token, after_assistant)
    outcomes = tuple(outcome for outcome in proof.outcomes if absent.isdisjoint(outcome.history.features))
    ends = {outcome.prompt_end for outcome in outcomes}
    # A prompt that ends in none of these ways was rendered with other arguments, and its end shows nothing.
    fitting = {end for end in ends if end and ends_with(end)} if len(ends) > 1 else None
    if not fitting:
        return outcomes
    return tuple(outcome for outcome in outcomes if not outcome.prompt_end or outcome.prompt_end in fitting)


def _absent_features(
    outcomes: Sequence[Outcome], has_token: Callable[[str], bool], after_assistant: Callable[[], bool]
) -> frozenset[HistoryFeature]:
    """Return the features that the real history cannot have, because a token that they always produce is absent."""
    ending_otherwise = [outcome for outcome in outcomes if HistoryFeature.OWN not in outcome.history.features]
    # Of histories with the same features, the first is the shortest.
    required = {outcome.history.features: outcome.required for outcome in reversed(ending_otherwise)}
    absent = set() if after_assistant() else {HistoryFeature.OWN}
    for feature in HistoryFeature:
        having = [features for features in required if feature in features]
        without = [features - {feature} for features in having if features - {feature} in required]
        others = without or [features for features in required if feature not in features]
        if having and others:
            always = frozenset.intersection(*(required[features] for features in having))
            if not all(map(has_token, always.difference(*(required[features] for features in others)))):
                absent.add(feature)
    return frozenset(absent)
