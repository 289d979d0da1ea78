"""Proofs that a rollout can be extended.

Only the token ids of a rollout are known. Sample histories stand for its messages, each with a substitute for the turn
of the model and the new messages after it. The text after the turn must be equal for all of them: it is the suffix that
the new messages add. The text before must equal the text of the turn alone, else the template rewrites the history.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from renderers.bridging.context import STAND_IN_TOOLS, BridgeContext, RenderedTurn, hash_text
from renderers.bridging.message_kind import FieldRules, ProbeWords, classify_call, classify_content, classify_message
from renderers.bridging.outcomes import Outcome, Proof
from renderers.bridging.prior import count_sequence
from renderers.bridging.proven_runs import ProvenRun, shape_of
from renderers.bridging.refusal import BridgeReason, BridgeRefusal, describe_new, refuse
from renderers.bridging.sample_histories import (
    INTERRUPTED,
    SampleHistory,
    Turn,
    histories_with_calls,
    interrupted_histories,
    long_histories,
    repeating_histories,
    sample_histories,
    substitute_turn,
    substitute_turns,
)
from renderers.core.completions import ReasoningState, Region
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.probe_words import PROBE_CONTENT, PROBE_REASONING, hide_probe_words
from renderers.core.spans import Channel, Path, Trace
from renderers.core.text import common_prefix_length, compile_alternation, first_difference, quote_short
from renderers.errors import MessageError, TemplateError, TemplateRefusalError
from renderers.programs.base import REJECTIONS

_LONGEST_KEY = 1_000
"""How many characters the key of a proof has at most. A hash stands for a longer one."""
_LONGEST_ERROR = 500
"""How many characters of a template's error are quoted. It may contain a whole message."""


@dataclass(frozen=True)
class Sample:
    """A turn and new messages."""

    turn: Turn
    new: Sequence[JsonObject]

    @lazy
    def key(self) -> Hashable:
        """The key of their proof. It differs for `True`, `1` and `1.0`."""
        return self._key_with(self.new)

    @lazy
    def shape(self) -> Hashable:
        """The key of all samples with the same turn, and with new messages that have the same fields."""
        return self._key_with(shape_of(self.new))

    def _key_with(self, new: object) -> Hashable:
        reasoning, content, calls = self.turn
        # The `repr` of a named tuple or an enum member runs Python code.
        text = repr((str.__str__(reasoning), content, list(map(tuple, calls)), new))
        return text if len(text) <= _LONGEST_KEY else hash_text(text)


def classify_sample(turn: Turn, new: Sequence[JsonObject], rules: FieldRules) -> Sample:
    """Return the sample of the kind of a turn and new messages."""
    words = ProbeWords()
    calls = tuple([classify_call(call, rules, words) for call in turn.calls])
    sample_turn = Turn(turn.reasoning, classify_content(turn.content, rules), calls)
    return Sample(sample_turn, [classify_message(message, rules, words) for message in new])


class _History(NamedTuple):
    """A sample history, its text with a generation prompt, and the special tokens in this text."""

    sample: SampleHistory
    prompt: str
    required: frozenset[str]
    end: str
    """The end of the prompt, from the first special token after the last message text; empty if there is none."""


def _common_histories(context: BridgeContext) -> tuple[list[_History], list[str]]:
    """Return the histories of all proofs that the template accepts, and its errors for the others."""
    long = long_histories(context.text_uses.counts)
    return _render_histories(context, (*sample_histories(), *interrupted_histories(), *long))


def _render_histories(context: BridgeContext, samples: Iterable[SampleHistory]) -> tuple[list[_History], list[str]]:
    pattern = compile_alternation(context.special_tokens)
    histories, errors = [], []
    for sample in samples:
        try:
            trace = context.render(sample.messages, turn=len(sample.messages), prompt=True).trace
        except REJECTIONS as error:
            errors.append(describe_error(error, len(sample.messages)))
        else:
            prompt, last = trace.text, max((span.end for span in trace.spans if span.path), default=0)
            token = pattern.search(prompt, last) if pattern else None
            required = frozenset(pattern.findall(prompt) if pattern else ())
            if not INTERRUPTED.isdisjoint(sample.features):
                required |= {_text_before_last_message(context, trace, pattern)} - {""}
            histories.append(_History(sample, prompt, required, prompt[token.start() :] if token else ""))
    return histories, errors


def _text_before_last_message(context: BridgeContext, trace: Trace, pattern: re.Pattern[str] | None) -> str:
    """Return the text that the template writes before the last message, from a special token on; empty if none."""
    bodies = [span for span in trace.spans if span.path and span.start < span.end and span.path != ("role",)]
    earlier = [span.end for span in bodies if 0 <= span.message != bodies[-1].message]
    if pattern is None or not earlier:
        return ""
    tokens = list(pattern.finditer(trace.text, max(earlier), bodies[-1].start))
    if not tokens:
        return ""
    # A role after the last token counts only if its tokens do not depend on the text after it.
    with_role = trace.text[tokens[0].start() : bodies[-1].start].rstrip()
    ids = tuple(context.encode(with_role))
    is_stable = with_role != trace.text[tokens[0].start() : bodies[-1].start]
    is_stable = is_stable and count_sequence(context.encode(trace.text[tokens[0].start() :]), ids) > 0
    return with_role if is_stable else trace.text[tokens[0].start() : tokens[-1].end()]


def prove(context: BridgeContext, sample: Sample, *, calls: int | None = None, may_lose: bool = False) -> Proof:
    """Render a turn and new messages after each sample history.

    With `calls`, the histories contain this number of calls. With `may_lose`, it is not a fault if the template writes
    nothing of a new message.
    """
    outcomes, errors = [], []
    suffixes: dict[str, int] = {}
    if calls is None:
        histories, history_errors = context.learn(_common_histories)
    else:
        histories, history_errors = _render_histories(context, histories_with_calls(calls))
    substitutes = tuple(substitute_turns(sample.turn, sample.new))
    if context.text_uses.compares_messages:
        # A real history may repeat a message.
        repeating, _ = _render_histories(context, repeating_histories(substitutes[0], sample.new))
        histories = [*histories, *repeating]
    known = _known_runs(context, sample, calls=calls, may_lose=may_lose)
    for place, (history, substitute) in enumerate(itertools.product(histories, substitutes)):
        try:
            messages = [*history.sample.messages, substitute, *sample.new]
            followed = context.render(messages, turn=len(history.sample.messages), prompt=True)
            run = known.get(place)
            outcome = run.outcome_of(substitute, followed, suffixes) if run is not None else None
            if outcome is None:
                outcome = _prove_history(context, history, sample, substitute, followed, suffixes, may_lose)
                run = ProvenRun.of(outcome, substitute, followed, prompt=history.prompt)
                known |= {} if run is None else {place: run}
            outcomes.append(outcome)
        except REJECTIONS as error:
            errors.append(describe_error(error, len(history.sample.messages)))
    return Proof(tuple(outcomes), tuple(map(_quote, suffixes)), (*errors, *history_errors))


def _known_runs(context: BridgeContext, sample: Sample, *, calls: int | None, may_lose: bool) -> dict[int, ProvenRun]:
    """Return the runs of proofs that samples of the same shape share, by the place of their history."""
    if context.text_uses.compares_messages:
        # The histories depend on the texts of the new messages.
        return {}
    known: dict[int, ProvenRun] = context.remember(("runs", may_lose, calls, sample.shape), dict)
    return known


def describe_error(error: MessageError | TemplateError, turn: int) -> str:
    """Return the text of an error, with the number of its message among the new ones, which follow message `turn`.

    >>> describe_error(MessageError("is a set, which is not JSON data", message=3, path=("content",)), 1)
    'new message 1: content is a set, which is not JSON data'
    """
    if isinstance(error, TemplateRefusalError):
        text = error.reason
    else:
        text = str(MessageError(error.fault, path=error.path) if isinstance(error, MessageError) else error)
    text = hide_probe_words(text)
    text = text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} ..."
    return text if error.message is None or error.message <= turn else f"new message {error.message - turn - 1}: {text}"


def _quote(text: str) -> str:
    """Return a text of a sample conversation in quotes, without its probe words."""
    return quote_short(hide_probe_words(text))


def _prove_history(
    context: BridgeContext,
    history: _History,
    sample: Sample,
    substitute: JsonObject,
    followed: RenderedTurn,
    suffixes: dict[str, int],
    may_lose: bool,
) -> Outcome:
    messages, index = [*history.sample.messages, substitute], followed.message
    moves_content = _moves_content(followed)
    if moves_content:
        # The completion contains the content, so it is not written again.
        messages[-1] = {**substitute, "content": ""}
        followed = context.render([*messages, *sample.new], turn=index, prompt=True)
    alone = context.render(messages, turn=index, prompt=False)
    stop = last_stop = followed.stop
    fault = find_fault(followed, sample.new, may_lose=may_lose)
    (field, tail), (followed_field, followed_tail) = _tail(alone, stop), _tail(followed, stop)
    if field == followed_field and tail != followed_tail:
        last_stop = alone.stop
        if fault is None and not (stop and last_stop and tail == followed_tail + last_stop):
            ends = f"with {_quote(tail)} if nothing follows it, and with {_quote(followed_tail)} if messages follow"
            fault = refuse(BridgeReason.NO_STOP_TOKEN, f"the template ends an assistant's turn {ends}")
    elif not (field or followed_field) and stop and alone.stop:
        # An empty turn has no field that its tail could follow.
        last_stop = alone.stop
    end = followed.end
    stop_is_next = any(span.message > index for span in followed.trace.spans_in(end - len(stop), end))
    suffix = suffixes.setdefault(followed.trace.text[end:], len(suffixes))
    if moves_content:
        change: str | None = f"the template moves the content of that turn after {describe_new(sample.new)}"
    else:
        change = _describe_change(context, history.prompt, alone, followed, sample.turn, last_stop)
    return Outcome(
        history.sample,
        history.required,
        stop,
        last_stop,
        stop_is_next,
        followed.scaffold_digest(),
        suffix,
        change,
        fault,
        history.end,
        moves_content,
    )


def _moves_content(followed: RenderedTurn) -> bool:
    """Return True if the content of the turn is written, but only after the turn."""
    starts = [
        span.start
        for span in followed.trace.spans
        if span.message == followed.message and span.path[:1] == ("content",) and span.start < span.end
    ]
    return bool(starts) and 0 < followed.end <= min(starts)


def _tail(turn: RenderedTurn, stop: str) -> tuple[Path, str]:
    """Return the last field of a turn, and the text between it and the stop token."""
    for label in reversed(turn.own_labels):
        # A later message may repeat a field, such as the name of a called tool.
        if label.start < label.end <= turn.end and label.channel is not Channel.SCAFFOLD:
            return label.path, turn.trace.text[label.end : turn.end].removesuffix(stop)
    return (), ""


def find_fault(followed: RenderedTurn, new: Sequence[JsonObject], *, may_lose: bool) -> BridgeRefusal | None:
    """Return the refusal if new messages are not rendered after the turn; None if they are.

    With `may_lose`, a message of which nothing is rendered is not a fault.
    """
    trace, turn, end = followed.trace, followed.message, followed.end
    if not end:
        detail = f"the template writes nothing for the assistant's turn if {describe_new(new)} follow"
        return refuse(BridgeReason.NO_STOP_TOKEN, detail if len(new) > 1 else f"{detail}s")
    owners = {span.message for span in trace.spans}
    for number, message in enumerate(new):
        if not may_lose and turn + 1 + number not in owners:
            name = f"new message {number} ({message['role']})"
            detail = f"{name}: the template writes nothing for a message of this role after an assistant's turn"
            return refuse(BridgeReason.UNSUPPORTED_ROLE, detail)
    for span in trace.spans:
        if span.path[:1] == ("tools",) and followed.rendered.tools is STAND_IN_TOOLS and end < span.end > span.start:
            return refuse(BridgeReason.SUFFIX_VARIES, f"{describe_new(new)}: the template writes the tools after them")
        if span.message > turn and span.path and span.start < min(span.end, end):
            number = span.message - turn - 1
            name = f"new message {number} ({new[number]['role']})"
            detail = f"{name}: the template writes it before the assistant's turn that it follows"
            return refuse(BridgeReason.UNSUPPORTED_ROLE, detail)
        # Names and ids of calls are those of the model. Its content is replaced with a probe word.
        if span.message == turn and span.path and span.path[0] != "tool_calls" and end < span.end > span.start:
            field = str(span.path[0]).removesuffix("_content")
            detail = f"{describe_new(new)}: the template repeats the {field} of the assistant's turn after it"
            return refuse(BridgeReason.SUFFIX_VARIES, detail)
    return None


def _describe_change(
    context: BridgeContext, prompt: str, alone: RenderedTurn, followed: RenderedTurn, turn: Turn, last_stop: str
) -> str | None:
    """Return how a template changes a prompt and its turn, without the stop token, if messages follow; else None."""
    own_text, text, markers = alone.trace.text, followed.trace.text, context.turn_format.think_markers
    if turn.reasoning is ReasoningState.SOME and PROBE_REASONING not in text:
        return "the template drops the reasoning of that turn"
    if not text.startswith(prompt):
        dropped = _quote(prompt[first_difference(prompt, text) :])
        return f"the template no longer writes {dropped}, with which the prompt ends"
    # The last turn may begin in another way than the prompt ends.
    sampled = min((label.start for label in alone.own_labels if label.sampled), default=alone.end)
    start = len(prompt) if own_text.startswith(prompt) else sampled
    before = own_text[start : alone.end].removesuffix(last_stop)
    after = text[len(prompt) : followed.end].removesuffix(followed.stop)
    if turn.reasoning is ReasoningState.NONE and markers is not None:
        # The template may write markers around empty reasoning, which this turn does not contain.
        before = re.sub(rf"{re.escape(markers[0])}\s*{re.escape(markers[1])}\s*", "", before, count=1)
    if turn.content.strip() not in after:
        return "the template changes or drops the content of that turn"
    if turn.reasoning is ReasoningState.SOME and PROBE_REASONING not in after:
        return "the template moves the reasoning of that turn"
    return None if before == after else _describe_rewriting(before, after)


def _describe_rewriting(before: str, after: str) -> str:
    start = min(first_difference(before, after), first_difference(after, before))
    before, after = before[start:], after[start:]
    same = common_prefix_length(before[::-1], after[::-1])
    old, new = before[: len(before) - same], after[: len(after) - same]
    if not new:
        return f"the template drops {_quote(old)} in that turn"
    if not old:
        return f"the template adds {_quote(new)} to that turn"
    return f"the template writes {_quote(new)} in place of {_quote(old)} in that turn"


def closing_text(context: BridgeContext, sample: Sample, outcome: Outcome, region: Region) -> str | None:
    """Return the text that closes a turn which was cut off in a region; None if the template renders no such turn."""
    in_reasoning = region is Region.REASONING
    if region in (Region.CALL, Region.CALLS) or any(message["role"] == "tool" for message in sample.new):
        # The end of the turn may close a call, and a result shows that there was one.
        return None if in_reasoning else outcome.stop
    if in_reasoning:
        cut, channel = Turn(ReasoningState.SOME, content="", calls=()), Channel.REASONING
    else:
        cut, channel = Turn(sample.turn.reasoning, content=PROBE_CONTENT, calls=()), Channel.CONTENT
    # The template may leave out reasoning if messages follow.
    messages = [*outcome.history.messages, substitute_turn(cut, ()), *(() if in_reasoning else sample.new)]
    closed = context.render(messages, turn=len(outcome.history.messages), prompt=not in_reasoning)
    ends = [label.end for label in closed.own_labels if label.channel is channel and label.start < label.end]
    if not ends or not closed.end:
        return None
    # A token that the model is known to stop with is not part of the text that closes the turn.
    stop = closed.stop_among(context.pipeline.settings.stop_texts | {outcome.stop} - {""})
    return closed.trace.text[ends[-1] : closed.end].removesuffix(stop) + outcome.stop
