"""Proofs that a rollout can be extended: what the template writes after a turn, and that it keeps what is before.

Of a rollout only the tokens are known. So small histories stand for the real one, with a turn in the place of the
completion that is of the same kind, and the template writes each of them with the new messages after it. What it writes
after the turn's stop token must be the same for all of them: that is what the next turn adds (the suffix proof). What
it writes before must be what it wrote for the turn alone: else it would rewrite the history (the prefix proof).
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from renderers.bridging.sample_histories import SAID, THOUGHT, Feature, Skeleton, Turn, skeletons, stand_in, stand_ins
from renderers.core.lazy import lazy
from renderers.core.options import ThinkingRetention
from renderers.core.patterns import compile_alternation
from renderers.core.spans import Channel, LabelledSpan, Path, Trace
from renderers.core.text import first_difference, quote_short
from renderers.errors import MessageError, TemplateError, TemplateRefusalError
from renderers.parse.response import Region, Thought
from renderers.programs.input_formats import NOT_TAKEN, Data

__all__ = [
    "BridgeReason",
    "BridgeRefusal",
    "Evidence",
    "History",
    "Outcome",
    "Proof",
    "Write",
    "Written",
    "choose",
    "closing_of",
    "end_of_turn",
    "fault_in",
    "histories_of",
    "prove",
    "stop_at",
    "turn_in",
    "words_of",
]

_LONGEST = 256
"""How many characters a control token has at most."""


class BridgeReason(enum.StrEnum):
    """Why a rollout is not extended."""

    NO_PRIOR = "no_prior"
    """There is no prompt before."""
    NOTHING_NEW = "nothing_new"
    """There are no new messages."""
    ASSISTANT_MESSAGE = "assistant_message"
    """A new message is the assistant's: only a model's own tokens can be that."""
    UNSUPPORTED_ROLE = "unsupported_role"
    """The template does not write a new message, or not after the turn."""
    MESSAGE_REFUSED = "message_refused"
    """The template refuses the new messages."""
    REASONING_OPEN = "reasoning_open"
    """The model stopped within its reasoning, or it cannot be closed."""
    NO_STOP_TOKEN = "no_stop_token"
    """The template does not end a turn with a token, so that it cannot be told where the turn ends."""
    HISTORY_REWRITTEN = "history_rewritten"
    """The template would write the tokens that are there in another way."""
    SUFFIX_VARIES = "suffix_varies"
    """What the template writes for the new messages depends on a history that is not known."""


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """A rollout is not extended: render the whole conversation instead."""

    reason: BridgeReason
    detail: str = ""
    """What was found: the template's words, or the text that would change."""


class Evidence(NamedTuple):
    """A history that was tried, and what of it the template would rewrite; None where nothing."""

    history: str
    change: str | None


@dataclass(frozen=True)
class Written:
    """What a template wrote for messages, and what of it is sampled, which is found out when it is asked for."""

    trace: Trace
    label: Callable[[], Sequence[LabelledSpan]]

    @lazy
    def labels(self) -> Sequence[LabelledSpan]:
        """The spans of the text with their channels."""
        return self.label()


Write = Callable[[Sequence[Data], bool], Written]
"""Lets a template write messages, with a generation prompt or without; raises what `render` does."""


class Outcome(NamedTuple):
    """What was found with one history."""

    skeleton: Skeleton
    required: frozenset[str]
    """The control tokens that a prompt with such a history has."""
    stop: str
    """The token that the turn ends with; empty where there is none."""
    last_stop: str
    """The token that it ends with where nothing follows."""
    stop_is_next: bool
    """Whether the next message begins with that token."""
    turn: tuple[str, ...]
    """What is written around the bodies of the history's last message and the turn."""
    suffix: int
    """The same number for all that write the same after the turn."""
    change: str | None
    """What of the history the template would rewrite; None where nothing."""
    fault: BridgeRefusal | None


class Proof(NamedTuple):
    """What was found with all histories that the template takes, and its words for those that it does not."""

    outcomes: tuple[Outcome, ...]
    suffixes: tuple[str, ...]
    """What was written after the turn, by number."""
    words: tuple[str, ...]


class History(NamedTuple):
    """A history as the template writes it."""

    skeleton: Skeleton
    prompt: str
    """The text of it with a generation prompt."""
    required: frozenset[str]
    """The control tokens in that."""
    words: str | None
    """Why the template does not take it."""


def histories_of(write: Write, *, control: frozenset[str]) -> tuple[History, ...]:
    """Lets the template write all histories that a turn may come after."""
    pattern = compile_alternation(control)
    histories = []
    for skeleton in skeletons():
        try:
            prompt = write(skeleton.messages, True).trace.text
        except NOT_TAKEN as error:
            histories.append(History(skeleton, "", frozenset(), words_of(error, len(skeleton.messages))))
        else:
            required = frozenset(pattern.findall(prompt)) if pattern else frozenset()
            histories.append(History(skeleton, prompt, required, None))
    return tuple(histories)


def prove(
    write: Write,
    histories: Sequence[History],
    turn: Turn,
    new: Sequence[Data],
    *,
    markers: tuple[str, str] | None,
    control: frozenset[str],
) -> Proof:
    """Lets the template write a turn and new messages after histories."""
    outcomes, words = [], []
    suffixes: dict[str, int] = {}
    for history, said in itertools.product(histories, tuple(stand_ins(turn, new))):
        if history.words is not None:
            words.append(history.words)
            continue
        try:
            outcomes.append(_examined(write, history, turn, said, new, suffixes, markers=markers, control=control))
        except NOT_TAKEN as error:
            words.append(words_of(error, len(history.skeleton.messages)))
    return Proof(tuple(outcomes), tuple(map(shown, suffixes)), tuple(words))


def words_of(error: MessageError | TemplateError, at: int) -> str:
    """Returns what an error says of messages after a turn, by their numbers among these.

    >>> words_of(MessageError("is a set, which is not JSON data", message=3, path=("content",)), 1)
    'new message 1: content is a set, which is not JSON data'
    """
    if isinstance(error, TemplateRefusalError):
        said = error.reason
    else:
        said = str(MessageError(error.fault, path=error.path) if isinstance(error, MessageError) else error)
    return said if error.message is None or error.message <= at else f"new message {error.message - at - 1}: {said}"


def _examined(
    write: Write,
    history: History,
    turn: Turn,
    said: Data,
    new: Sequence[Data],
    suffixes: dict[str, int],
    *,
    markers: tuple[str, str] | None,
    control: frozenset[str],
) -> Outcome:
    skeleton, prompt, required, _ = history
    at = len(skeleton.messages)
    last = write([*skeleton.messages, said], False)
    whole = write([*skeleton.messages, said, *new], True)
    end = end_of_turn(whole, at)
    if end is None:
        unwritten = BridgeRefusal(BridgeReason.NO_STOP_TOKEN, "the template does not write the turn before")
        return Outcome(skeleton, required, "", "", False, (), -1, None, unwritten)
    stop = stop_at(whole, end, control)
    change = _change(prompt, last, whole, at, stop, turn, markers)
    suffix = suffixes.setdefault(whole.trace.text[end:], len(suffixes))
    fault = fault_in(whole, at, end, new)
    (field, alone), (same, followed) = (_tail(one, at, stop) for one in (last, whole))
    last_stop = stop
    if field == same and alone != followed:
        last_stop = stop_at(last, end_of_turn(last, at) or 0, control)
        if fault is None and not (stop and last_stop and alone == followed + last_stop):
            detail = f"a turn ends with {quote_short(alone)}, and with {quote_short(followed)} where others follow"
            fault = BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    stop_is_next = any(span.message > at for span in whole.trace.spans_in(end - len(stop), end))
    return Outcome(skeleton, required, stop, last_stop, stop_is_next, turn_in(whole, at), suffix, change, fault)


def end_of_turn(written: Written, message: int) -> int | None:
    """Returns where a message's turn ends."""
    return max((one.end for one in written.labels if one.message == message and one.sampled), default=None)


def turn_in(written: Written, message: int) -> tuple[str, ...]:
    """Returns what the template itself writes of a message's turn and of the message before it, around their bodies."""
    end = end_of_turn(written, message) or 0
    spans = [one for one in written.trace.spans if one.start < end and one.message in (message - 1, message)]
    return tuple(written.trace.text[one.start : min(one.end, end)] if not one.path else "" for one in spans)


def _tail(written: Written, message: int, stop: str) -> tuple[Path, str]:
    """Returns the last field of a turn, and what stands between it and the stop token."""
    end = end_of_turn(written, message) or 0
    # What follows may hold parts of it too: the name of the tool that gives a result.
    own = [one for one in written.labels if one.message == message and one.start < one.end <= end]
    bodies = [one for one in own if one.channel is not Channel.SCAFFOLD]
    return (bodies[-1].path, written.trace.text[bodies[-1].end : end].removesuffix(stop)) if bodies else ((), "")


def stop_at(written: Written, end: int, control: frozenset[str]) -> str:
    """Returns the control token that ends at a place; empty where none does."""
    pattern = compile_alternation(control)
    begin = max(0, end - _LONGEST)
    found = (
        [match[0] for match in pattern.finditer(written.trace.text, begin, end) if match.end() == end]
        if pattern
        else []
    )
    return found[0] if found else ""


def fault_in(whole: Written, at: int, end: int, new: Sequence[Data]) -> BridgeRefusal | None:
    """Returns what is wrong with how new messages are written after a turn that ends at a place."""
    owners = {span.message for span in whole.trace.spans}
    for number, message in enumerate(new):
        if at + 1 + number not in owners:
            detail = f"new message {number}: the template writes nothing for the role {message['role']!r} here"
            return BridgeRefusal(BridgeReason.UNSUPPORTED_ROLE, detail)
    for span in whole.trace.spans:
        if span.message > at and span.path and span.start < min(span.end, end):
            detail = f"new message {span.message - at - 1}: the template writes it before the turn that it follows"
            return BridgeRefusal(BridgeReason.UNSUPPORTED_ROLE, detail)
        # Names and ids of calls are those of the real turn; its words are not known.
        if span.message == at and span.path and span.path[0] != "tool_calls" and end < span.end > span.start:
            detail = f"the template writes of the turn after it: {quote_short(whole.trace.text[end : span.end])}"
            return BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)
    return None


def _change(
    prompt: str,
    last: Written,
    whole: Written,
    at: int,
    stop: str,
    turn: Turn,
    markers: tuple[str, str] | None,
) -> str | None:
    """Returns what a template changes in a prompt and its turn when messages follow; None where nothing."""
    text, end, own_end = whole.trace.text, end_of_turn(whole, at), end_of_turn(last, at)
    if not text.startswith(prompt):
        return (
            f"the prompt ends with {quote_short(prompt[first_difference(prompt, text) :])}, which is not in the history"
        )
    if own_end is None or not last.trace.text.startswith(prompt):
        dropped = prompt[first_difference(prompt, last.trace.text) :]
        return f"the prompt ends with {quote_short(dropped)}, which is not in a turn that is the last"
    before = last.trace.text[len(prompt) : own_end].removesuffix(stop)
    after = text[len(prompt) : end].removesuffix(stop)
    if turn.thought is Thought.NONE and markers is not None:
        # The template may write of reasoning that there is none, which this turn does not.
        before = re.sub(rf"{re.escape(markers[0])}\s*{re.escape(markers[1])}\s*", "", before, count=1)
    said = (turn.said.strip(), THOUGHT if turn.thought is Thought.SOME else "")
    lost = next((text for text in said if text not in after), None)
    if lost is not None:
        return f"{quote_short(lost)} would be left out of {quote_short(after)}"
    return None if before == after else f"{quote_short(before)} would become {quote_short(after)}"


def choose(
    proof: Proof,
    *,
    has: Callable[[str], bool],
    doubled: Callable[[], bool],
    new: Sequence[Data],
    retention: ThinkingRetention | None,
) -> tuple[Outcome, tuple[Evidence, ...]] | BridgeRefusal:
    """Returns a history to extend with, and what was found; or why not.

    `has` says whether a control token is in the real history. A history with one that is not there is not the real one.
    `doubled` says whether that ends with a turn.
    """
    if not proof.outcomes:
        return BridgeRefusal(BridgeReason.MESSAGE_REFUSED, proof.words[0])
    first = proof.outcomes[0]
    likely = proof.outcomes
    kept = retention == "all" or (retention == "tool_cycle" and all(one["role"] != "user" for one in new))
    # The real history, which may be long, is only looked at where that can make a difference.
    if any(_differs(one, first) or not (kept or one.change is None) for one in likely):
        absent = _absent(proof.outcomes, has, doubled)
        likely = tuple(one for one in likely if absent.isdisjoint(one.skeleton.features))
    fault = next((one.fault for one in likely if one.fault is not None), None)
    if fault is not None:
        return fault
    other = next((one for one in likely if (one.stop, one.suffix) != (first.stop, first.suffix)), None)
    if other is not None:
        one, two = (f"after {each.skeleton}: {proof.suffixes[each.suffix]}" for each in (first, other))
        detail = f"{one}; {two}"
        return BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)
    evidence = tuple(Evidence(str(one.skeleton), one.change) for one in likely)
    change = next((one for one in evidence if one.change is not None), None)
    if change is not None and not kept:
        return BridgeRefusal(BridgeReason.HISTORY_REWRITTEN, f"after {change.history}: {change.change}")
    return first, evidence


def _absent(outcomes: Sequence[Outcome], has: Callable[[str], bool], doubled: Callable[[], bool]) -> frozenset[Feature]:
    """Returns what the real history surely has not: that of which a token is missing that it always leaves."""
    required = {one.skeleton.features: one.required for one in outcomes if Feature.OWN not in one.skeleton.features}
    absent = set() if doubled() else {Feature.OWN}
    for feature in Feature:
        having = [features for features in required if feature in features]
        without = [features - {feature} for features in having if features - {feature} in required]
        others = without or [features for features in required if feature not in features]
        if having and others:
            left = frozenset.intersection(*map(required.__getitem__, having))
            if not all(map(has, left.difference(*map(required.__getitem__, others)))):
                absent.add(feature)
    return frozenset(absent)


def _differs(one: Outcome, other: Outcome) -> bool:
    return (one.stop, one.suffix, one.fault) != (other.stop, other.suffix, None)


def closing_of(
    write: Write, outcome: Outcome, turn: Turn, new: Sequence[Data], region: Region, *, stops: frozenset[str]
) -> str | None:
    """Returns what the template closes a turn with that was cut off in a region; None where that cannot be told.

    `stops` are the tokens that the model is known to stop with.
    """
    thinks = region is Region.REASONING
    if region in (Region.CALL, Region.CALLS) or any(message["role"] == "tool" for message in new):
        # A call may be closed with its turn; a result shows that there was one.
        return None if thinks else outcome.stop
    cut = Turn(Thought.SOME if thinks else turn.thought, said="" if thinks else SAID, calls=())
    # Reasoning may be left out where messages follow.
    written = write([*outcome.skeleton.messages, stand_in(cut, ()), *(() if thinks else new)], not thinks)
    channel = Channel.REASONING if thinks else Channel.CONTENT
    at = len(outcome.skeleton.messages)
    bodies = [one.end for one in written.labels if one.message == at and one.channel is channel and one.start < one.end]
    end = end_of_turn(written, at)
    if not bodies or end is None:
        return None
    stop = stop_at(written, end, stops | {outcome.stop} - {""})
    return written.trace.text[bodies[-1] : end].removesuffix(stop) + outcome.stop
