"""Proofs that a rollout can be extended.

Only the token ids of a rollout are known. Sample histories stand for its messages, each with a
substitute for the turn of the model and with the new messages after it. The text after the stop
token of the turn must be equal for all of them: this is the suffix that the new messages add. The
text before must equal the text of the turn alone, else the template would rewrite the history.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from renderers.bridging.refusal import BridgeEvidence, BridgeReason, BridgeRefusal
from renderers.bridging.sample_histories import (
    HistoryFeature,
    SampleHistory,
    Turn,
    sample_histories,
    substitute_turn,
    substitute_turns,
)
from renderers.core.completions import Region, Thought
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.options import ThinkingRetention
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING, redact_probe_words
from renderers.core.spans import Channel, LabelledSpan, Path, Trace
from renderers.core.text import compile_alternation, first_difference, quote_short
from renderers.errors import MessageError, TemplateError, TemplateRefusalError
from renderers.programs.base import REJECTIONS

__all__ = [
    "History",
    "Outcome",
    "Proof",
    "RenderHistory",
    "RenderedHistory",
    "choose_outcome",
    "closing_text",
    "describe_error",
    "end_of_turn",
    "find_fault",
    "prove",
    "render_histories",
    "scaffold_from_turn",
    "stop_at",
]

_LONGEST_TOKEN = 256
"""The length of the longest special token in characters."""


@dataclass(frozen=True)
class RenderedHistory:
    """The output of a template for messages, with labels that are computed on first access."""

    trace: Trace
    label: Callable[[], Sequence[LabelledSpan]]

    @lazy
    def labels(self) -> Sequence[LabelledSpan]:
        """The spans of the text with their channels."""
        return self.label()


RenderHistory = Callable[[Sequence[JsonObject], bool], RenderedHistory]
"""Renders messages, with a generation prompt if the flag is True. Raises the errors of `render`."""

Scaffold = tuple[tuple[int, Path | str], ...]
"""The text of a template around the bodies of messages: the number of a message with a text, or with the path of a
body."""


class Outcome(NamedTuple):
    """The result of a proof with one history."""

    history: SampleHistory
    required: frozenset[str]
    """The special tokens in every prompt with such a history."""
    stop: str
    """The token that ends the turn; empty if it ends with text."""
    last_stop: str
    """The token that ends the turn if nothing follows it."""
    stop_is_next: bool
    """True if the stop token is also the first token of the next message."""
    scaffold: Scaffold
    """The scaffold from the message before the turn on."""
    suffix: int
    """A number that is equal for equal texts after the turn."""
    change: str | None
    """The part of the history that the template would rewrite; None if it rewrites nothing."""
    fault: BridgeRefusal | None


class Proof(NamedTuple):
    """Outcomes for every history the template accepts, and its error for every one it rejects."""

    outcomes: tuple[Outcome, ...]
    suffixes: tuple[str, ...]
    """The texts after the turn, in quotes, by their numbers."""
    errors: tuple[str, ...]


class History(NamedTuple):
    """A sample history as the template renders it."""

    sample: SampleHistory
    prompt: str
    """The text of the history with a generation prompt."""
    required: frozenset[str]
    """The special tokens in the prompt."""
    error: str | None
    """The error if the template rejects the history."""


def render_histories(render: RenderHistory, *, control: frozenset[str]) -> tuple[History, ...]:
    """Render all sample histories. `control` are the texts of special tokens."""
    pattern = compile_alternation(control)
    histories = []
    for sample in sample_histories():
        try:
            prompt = render(sample.messages, True).trace.text
        except REJECTIONS as error:
            histories.append(History(sample, "", frozenset(), describe_error(error, len(sample.messages))))
        else:
            required = frozenset(pattern.findall(prompt)) if pattern else frozenset()
            histories.append(History(sample, prompt, required, None))
    return tuple(histories)


def prove(
    render: RenderHistory,
    histories: Sequence[History],
    turn: Turn,
    new: Sequence[JsonObject],
    *,
    markers: tuple[str, str] | None,
    control: frozenset[str],
) -> Proof:
    """Render a turn and new messages after each history. `markers` enclose reasoning."""
    outcomes, errors = [], []
    suffixes: dict[str, int] = {}
    for history, substitute in itertools.product(histories, tuple(substitute_turns(turn, new))):
        if history.error is not None:
            errors.append(history.error)
            continue
        try:
            outcomes.append(
                _prove_history(render, history, turn, substitute, new, suffixes, markers=markers, control=control)
            )
        except REJECTIONS as error:
            errors.append(describe_error(error, len(history.sample.messages)))
    return Proof(tuple(outcomes), tuple(map(_quote, suffixes)), tuple(errors))


def describe_error(error: MessageError | TemplateError, turn: int) -> str:
    """Return the text of an error, with the number of its message among the new ones, which follow message `turn`.

    >>> describe_error(MessageError("is a set, which is not JSON data", message=3, path=("content",)), 1)
    'new message 1: content is a set, which is not JSON data'
    """
    if isinstance(error, TemplateRefusalError):
        text = error.reason
    else:
        text = str(MessageError(error.fault, path=error.path) if isinstance(error, MessageError) else error)
    text = redact_probe_words(text)
    return text if error.message is None or error.message <= turn else f"new message {error.message - turn - 1}: {text}"


def _quote(text: str) -> str:
    """Return a text of a sample conversation in quotes, without its probe words."""
    return quote_short(redact_probe_words(text))


def _prove_history(
    render: RenderHistory,
    history: History,
    turn: Turn,
    substitute: JsonObject,
    new: Sequence[JsonObject],
    suffixes: dict[str, int],
    *,
    markers: tuple[str, str] | None,
    control: frozenset[str],
) -> Outcome:
    sample, prompt, required, _ = history
    at = len(sample.messages)
    alone = render([*sample.messages, substitute], False)
    followed = render([*sample.messages, substitute, *new], True)
    end = end_of_turn(followed, at)
    if end is None:
        fault = BridgeRefusal(BridgeReason.NO_STOP_TOKEN, "the template does not render the turn before new message 0")
        return Outcome(sample, required, "", "", False, (), -1, None, fault)
    stop = stop_at(followed, end, control)
    change = _describe_change(prompt, alone, followed, at, stop, turn, markers)
    suffix = suffixes.setdefault(followed.trace.text[end:], len(suffixes))
    found_fault = find_fault(followed, at, end, new)
    (field, tail), (followed_field, followed_tail) = (_tail(rendered, at, stop) for rendered in (alone, followed))
    last_stop = stop
    if field == followed_field and tail != followed_tail:
        last_stop = stop_at(alone, end_of_turn(alone, at) or 0, control)
        if found_fault is None and not (stop and last_stop and tail == followed_tail + last_stop):
            detail = f"a turn ends with {_quote(tail)}, and with {_quote(followed_tail)} if messages follow"
            found_fault = BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    stop_is_next = any(span.message > at for span in followed.trace.spans_in(end - len(stop), end))
    scaffold = scaffold_from_turn(followed, at, end)
    return Outcome(sample, required, stop, last_stop, stop_is_next, scaffold, suffix, change, found_fault)


def end_of_turn(rendered: RenderedHistory, message: int) -> int | None:
    """Return the offset at which the turn of a message ends; None if it is not rendered."""
    return max((label.end for label in rendered.labels if label.message == message and label.sampled), default=None)


def scaffold_from_turn(rendered: RenderedHistory, message: int, end: int) -> Scaffold:
    """Return the scaffold of a turn that ends at an offset, of the message before it, and of everything after it.

    Bodies count by their place. Adjacent spans of the same field are one body.
    """
    text = rendered.trace.text
    entries: list[tuple[int, Path | str]] = []
    for start, stop, owner, path in rendered.trace.spans:
        if stop <= end and (owner < message - 1 or owner > message or start == end):
            continue
        if not path:
            # A span that extends beyond the turn counts in both parts.
            pieces = (text[start:end], text[end:stop]) if start < end < stop else (text[start:stop],)
            entries += [(owner, piece) for piece in pieces]
        elif not entries or entries[-1] != (owner, path):
            entries.append((owner, path))
    return tuple(entries)


def _tail(rendered: RenderedHistory, message: int, stop: str) -> tuple[Path, str]:
    """Return the last field of a turn, and the text between it and the stop token."""
    end = end_of_turn(rendered, message) or 0
    # Later messages may contain parts of the turn, such as the name of the tool that returned a result.
    own = [label for label in rendered.labels if label.message == message and label.start < label.end <= end]
    bodies = [label for label in own if label.channel is not Channel.SCAFFOLD]
    return (bodies[-1].path, rendered.trace.text[bodies[-1].end : end].removesuffix(stop)) if bodies else ((), "")


def stop_at(rendered: RenderedHistory, end: int, control: frozenset[str]) -> str:
    """Return the special token that ends at an offset; empty if none does."""
    pattern = compile_alternation(control)
    if pattern is None:
        return ""
    matches = pattern.finditer(rendered.trace.text, max(0, end - _LONGEST_TOKEN), end)
    return next((match[0] for match in matches if match.end() == end), "")


def find_fault(rendered: RenderedHistory, turn: int, end: int, new: Sequence[JsonObject]) -> BridgeRefusal | None:
    """Return the refusal if new messages are not rendered after the turn that ends at an offset; None if they are."""
    owners = {span.message for span in rendered.trace.spans}
    for number, message in enumerate(new):
        if turn + 1 + number not in owners:
            detail = f"new message {number}: the template writes nothing for the role {message['role']!r} here"
            return BridgeRefusal(BridgeReason.UNSUPPORTED_ROLE, detail)
    for span in rendered.trace.spans:
        if span.message > turn and span.path and span.start < min(span.end, end):
            detail = f"new message {span.message - turn - 1}: the template writes it before the turn that it follows"
            return BridgeRefusal(BridgeReason.UNSUPPORTED_ROLE, detail)
        # Names and ids of calls are those of the model. Its content is replaced with a probe word.
        if span.message == turn and span.path and span.path[0] != "tool_calls" and end < span.end > span.start:
            text = _quote(rendered.trace.text[end : span.end])
            detail = f"the template repeats {span.path[0]} of the turn after it: {text}"
            return BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)
    return None


def _describe_change(
    prompt: str,
    alone: RenderedHistory,
    followed: RenderedHistory,
    at: int,
    stop: str,
    turn: Turn,
    markers: tuple[str, str] | None,
) -> str | None:
    """Return how a template changes a prompt and its turn if messages follow; None if it does not."""
    text, end, own_end = followed.trace.text, end_of_turn(followed, at), end_of_turn(alone, at)
    if not text.startswith(prompt):
        return f"the prompt ends with {_quote(prompt[first_difference(prompt, text) :])}, which is not in the history"
    if own_end is None or not alone.trace.text.startswith(prompt):
        dropped = prompt[first_difference(prompt, alone.trace.text) :]
        return f"the prompt ends with {_quote(dropped)}, which is not in a turn that is the last"
    before = alone.trace.text[len(prompt) : own_end].removesuffix(stop)
    after = text[len(prompt) : end].removesuffix(stop)
    if turn.thought is Thought.NONE and markers is not None:
        # The template may write markers around empty reasoning, which this turn does not contain.
        before = re.sub(rf"{re.escape(markers[0])}\s*{re.escape(markers[1])}\s*", "", before, count=1)
    bodies = (turn.content.strip(), PROBE_REASONING if turn.thought is Thought.SOME else "")
    lost = next((body for body in bodies if body not in after), None)
    if lost is not None:
        return f"{_quote(lost)} would be left out of {_quote(after)}"
    return None if before == after else f"{_quote(before)} would become {_quote(after)}"


def choose_outcome(
    proof: Proof,
    *,
    has_token: Callable[[str], bool],
    after_assistant: Callable[[], bool],
    new: Sequence[JsonObject],
    retention: ThinkingRetention | None,
) -> tuple[Outcome, tuple[BridgeEvidence, ...]] | BridgeRefusal:
    """Return the outcome to extend a rollout with and the evidence for it, or the refusal.

    `has_token` returns True if a special token is in the real history: a sample history that requires a token which is
    not there is ruled out. `after_assistant` returns True if the real history ends with an assistant message.
    """
    if not proof.outcomes:
        return BridgeRefusal(BridgeReason.MESSAGE_REFUSED, proof.errors[0])
    first = proof.outcomes[0]
    likely = proof.outcomes
    kept = retention == "all" or (retention == "tool_cycle" and all(message["role"] != "user" for message in new))
    # The real history, which may be long, is only searched if the result depends on it.
    if any(_differs(outcome, first) or not (kept or outcome.change is None) for outcome in likely):
        absent = _absent_features(proof.outcomes, has_token, after_assistant)
        likely = tuple(outcome for outcome in likely if absent.isdisjoint(outcome.history.features))
    fault = next((outcome.fault for outcome in likely if outcome.fault is not None), None)
    if fault is not None:
        return fault
    ends = first.stop, first.suffix
    other = next((outcome for outcome in likely if (outcome.stop, outcome.suffix) != ends), None)
    if other is not None:
        suffixes = [f"after {outcome.history}: {proof.suffixes[outcome.suffix]}" for outcome in (first, other)]
        return BridgeRefusal(BridgeReason.SUFFIX_VARIES, "; ".join(suffixes))
    evidence = tuple(BridgeEvidence(str(outcome.history), outcome.change) for outcome in likely)
    change = next((item for item in evidence if item.change is not None), None)
    if change is not None and not kept:
        return BridgeRefusal(BridgeReason.HISTORY_REWRITTEN, f"after {change.history}: {change.change}")
    return first, evidence


def _absent_features(
    outcomes: Sequence[Outcome], has_token: Callable[[str], bool], after_assistant: Callable[[], bool]
) -> frozenset[HistoryFeature]:
    """Return the features that the real history cannot have, as a token is missing that they always leave."""
    required = {
        outcome.history.features: outcome.required
        for outcome in outcomes
        if HistoryFeature.OWN not in outcome.history.features
    }
    absent = set() if after_assistant() else {HistoryFeature.OWN}
    for feature in HistoryFeature:
        having = [features for features in required if feature in features]
        without = [features - {feature} for features in having if features - {feature} in required]
        others = without or [features for features in required if feature not in features]
        if having and others:
            left = frozenset.intersection(*map(required.__getitem__, having))
            if not all(map(has_token, left.difference(*map(required.__getitem__, others)))):
                absent.add(feature)
    return frozenset(absent)


def _differs(outcome: Outcome, other: Outcome) -> bool:
    return (outcome.stop, outcome.suffix, outcome.fault) != (other.stop, other.suffix, None)


def closing_text(
    render: RenderHistory,
    outcome: Outcome,
    turn: Turn,
    new: Sequence[JsonObject],
    region: Region,
    *,
    stops: frozenset[str],
) -> str | None:
    """Return the text that closes a turn which was cut off in a region; None if the template renders no such turn.

    `stops` are the tokens that the model is known to stop with.
    """
    in_reasoning = region is Region.REASONING
    if region in (Region.CALL, Region.CALLS) or any(message["role"] == "tool" for message in new):
        # The end of the turn may close a call, and a result shows that there was one.
        return None if in_reasoning else outcome.stop
    cut = Turn(Thought.SOME if in_reasoning else turn.thought, content="" if in_reasoning else PROBE_CONTENT, calls=())
    # The template may leave out reasoning if messages follow.
    following = () if in_reasoning else new
    rendered = render([*outcome.history.messages, substitute_turn(cut, ()), *following], not in_reasoning)
    channel = Channel.REASONING if in_reasoning else Channel.CONTENT
    at = len(outcome.history.messages)
    bodies = [
        label.end
        for label in rendered.labels
        if label.message == at and label.channel is channel and label.start < label.end
    ]
    end = end_of_turn(rendered, at)
    if not bodies or end is None:
        return None
    stop = stop_at(rendered, end, stops | {outcome.stop} - {""})
    return rendered.trace.text[bodies[-1] : end].removesuffix(stop) + outcome.stop
