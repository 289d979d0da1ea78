"""Extend a rollout: keep the token ids of its prompt and completion, and append those of new messages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.bridging.context import BridgeContext
from renderers.bridging.last_speaker import ends_with_assistant_message
from renderers.bridging.message_kind import SampleTexts, classify_call, classify_message
from renderers.bridging.proofs import (
    Outcome,
    Proof,
    choose_outcome,
    closing_text,
    describe_error,
    end_of_turn,
    find_fault,
    prove,
    scaffold_from_turn,
)
from renderers.bridging.refusal import BridgeEvidence, BridgeReason, BridgeRefusal
from renderers.bridging.sample_histories import Turn, substitute_turn
from renderers.core.completions import CompletionState, Region
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import extract_message_tool_names
from renderers.core.options import ThinkingRetention
from renderers.core.probe_words import PROBE_CONTENT
from renderers.core.spans import Channel, LabelledSpan, Span, Trace
from renderers.core.text import compile_alternation, quote_short
from renderers.core.tokens import RenderedTokens, TokenRun
from renderers.programs.base import REJECTIONS

__all__ = ["Bridge", "Prior", "extend"]

_NO_MESSAGE = (-1, Channel.SCAFFOLD, False, False)
_BOUNDARY = 8
"""The number of tokens that are decoded to check whether a text after them changes the last one."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A rollout that is extended by new messages."""

    tokens: RenderedTokens
    """All tokens, up to the start of the next assistant turn."""
    matches_rerender: bool
    """True if rendering the whole conversation is proven to give these ids, provided that the model wrote its turn
    exactly as the template would."""
    evidence: tuple[BridgeEvidence, ...]

    @property
    def keeps(self) -> bool:
        """The name of `matches_rerender` in earlier releases."""
        return self.matches_rerender


class Prior(NamedTuple):
    """A rollout to extend."""

    prompt: list[Any]
    completion: list[Any]
    state: CompletionState
    content: str
    """The content of the completion, beside reasoning and calls."""

    @property
    def around_stop(self) -> tuple[list[Any], list[Any]]:
        """The ids of the completion before its stop token, and those after it."""
        stop, place = self.state.stop, len(self.completion)
        if stop is not None:
            places = (at for at, token in enumerate(self.completion) if type(token) is int and token == stop)
            place = next(places, place)
        return self.completion[:place], self.completion[place + 1 :]

    def has(self, token: int | None) -> bool:
        """Return True if a token is in the rollout."""
        return token is not None and (_contains(self.completion, token) or _contains(self.prompt, token))


def _contains(ids: Sequence[Any], token: int) -> bool:
    try:
        return token in ids
    except Exception:
        # An object that is not an id may raise anything when it is compared.
        return any(type(other) is int and other == token for other in ids)


def extend(
    context: BridgeContext, prior: Prior, new: Sequence[JsonObject], *, retention: ThinkingRetention | None
) -> Bridge | BridgeRefusal:
    """Extend a rollout by new messages, or return the refusal.

    The result depends on the arguments alone: a proof is made with sample messages that are determined by the kinds of
    the real ones, so it does not matter which messages of a kind were bridged first.
    """
    state = prior.state
    for at, message in enumerate(new):
        if message["role"] == "assistant":
            detail = f"new message {at} is the assistant's. Pass the tokens of the model as the completion instead."
            return BridgeRefusal(BridgeReason.ASSISTANT_MESSAGE, detail)
    if state.region is Region.REASONING and state.stop is not None:
        return BridgeRefusal(BridgeReason.REASONING_OPEN, "the model stopped within its reasoning")
    suffixes: list[_Suffix] = []
    for turn in _possible_turns(context, prior, new):
        suffix = _find_suffix(context, prior, turn, new, retention=retention)
        if isinstance(suffix, BridgeRefusal):
            return suffix
        suffixes.append(suffix)
    texts = {suffix.trace.text: quote_short(suffix.trace.text) for suffix in suffixes}
    if len(texts) > 1:
        detail = "{} if the turn consists of calls alone, else {}".format(*texts.values())
        return BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)
    first = suffixes[0]
    boundary = [*prior.prompt[-_BOUNDARY:], *prior.completion[-_BOUNDARY:]][-_BOUNDARY:]
    if not first.begins_with_stop and not _keeps_last_token(context, boundary, first.trace.text):
        detail = "the turn ends with text, and the text after it would change its last token"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    evidence = tuple(item for suffix in suffixes for item in suffix.evidence)
    # No template renders a call that was cut off.
    complete = state.stop is not None or state.region not in (Region.CALL, Region.CALLS)
    matches = complete and all(item.change is None for item in evidence)
    return Bridge(_join_tokens(context, prior, new, first), matches, evidence)


class _Suffix(NamedTuple):
    """The text that new messages add, with its labels."""

    trace: Trace
    labels: list[LabelledSpan]
    begins_with_stop: bool
    """True if the first token is the stop token of the turn, which the completion contains."""
    evidence: tuple[BridgeEvidence, ...]


def _possible_turns(context: BridgeContext, prior: Prior, new: Sequence[JsonObject]) -> Iterator[Turn]:
    """Yield the turns that a completion may be."""
    state = prior.state
    if not state.calls and any(message["role"] == "tool" for message in new):
        # Calls that could not be parsed may be the whole turn, or follow other content.
        yield Turn(state.thought, "", ())
        content = prior.content.strip()
        if not content or context.call_delimiters.encloses(content):
            return
    yield Turn(state.thought, prior.content, state.calls)


class _Sample(NamedTuple):
    """A turn and new messages as they are rendered in a proof."""

    turn: Turn
    new: list[JsonObject]
    key: tuple[str, ...] | None
    """The key of the sample; None for the real messages: a proof with them is not kept."""


def _sample_of(context: BridgeContext, turn: Turn, new: Sequence[JsonObject]) -> _Sample:
    """Return a turn and messages of the same kinds."""
    rules, texts = context.field_rules, SampleTexts()
    calls = tuple(classify_call(call, rules, texts) for call in turn.calls)
    kinds = [classify_message(message, rules, texts) for message in new]
    sample = turn._replace(calls=calls)
    return _Sample(sample, [kind.sample for kind in kinds], (repr(sample), *(kind.key for kind in kinds)))


def _find_suffix(
    context: BridgeContext, prior: Prior, turn: Turn, new: Sequence[JsonObject], *, retention: ThinkingRetention | None
) -> _Suffix | BridgeRefusal:
    if not context.field_rules.literals.may_match(turn.content):
        turn = turn._replace(content=PROBE_CONTENT if turn.content.strip() else "")
    sample = _sample_of(context, turn, new)
    proof = context.remember(("proof", sample.key), lambda: _prove_sample(context, sample))
    suffix = _suffix_by_proof(context, prior, turn, new, sample, proof, retention=retention)
    if isinstance(suffix, _Suffix) or (suffix and suffix.reason is BridgeReason.HISTORY_REWRITTEN):
        return suffix
    # The template renders these messages otherwise than the samples, or a refusal has to quote the real messages.
    real = _Sample(turn, list(new), None)
    proof = _prove_sample(context, real)
    return _suffix_by_proof(context, prior, turn, new, real, proof, retention=retention) or BridgeRefusal(
        BridgeReason.SUFFIX_VARIES, "the template renders the same messages in different ways"
    )


def _prove_sample(context: BridgeContext, sample: _Sample) -> Proof:
    return prove(
        context.render,
        context.histories,
        sample.turn,
        sample.new,
        markers=context.think_markers,
        control=context.pipeline.settings.tokenizer.vocab.reserved_texts,
    )


def _suffix_by_proof(
    context: BridgeContext,
    prior: Prior,
    turn: Turn,
    new: Sequence[JsonObject],
    sample: _Sample,
    proof: Proof,
    *,
    retention: ThinkingRetention | None,
) -> _Suffix | BridgeRefusal | None:
    """Return the suffix by a proof; None if the template renders the real messages otherwise than the sample."""
    token_ids = context.pipeline.settings.tokenizer.added_tokens

    def after_assistant() -> bool:
        headers = context.role_headers
        return headers is not None and ends_with_assistant_message(prior.prompt, headers)

    chosen = choose_outcome(
        proof,
        has_token=lambda text: prior.has(token_ids.get(text)),
        after_assistant=after_assistant,
        new=new,
        retention=retention,
    )
    if isinstance(chosen, BridgeRefusal):
        return chosen
    outcome, evidence = chosen
    try:
        closing = _closing(context, outcome, sample, prior)
        if isinstance(closing, BridgeRefusal):
            return closing
        rendered = _render_suffix(context, outcome, turn, new, closing=closing)
    except REJECTIONS as error:
        return BridgeRefusal(BridgeReason.MESSAGE_REFUSED, describe_error(error, len(outcome.history.messages)))
    return rendered and _Suffix(*rendered, outcome.stop in token_ids, evidence)


def _closing(context: BridgeContext, outcome: Outcome, sample: _Sample, prior: Prior) -> str | BridgeRefusal:
    """Return the text that the turn has to be closed with; empty if it is closed."""
    stop, region, token_ids = prior.state.stop, prior.state.region, context.pipeline.settings.tokenizer.added_tokens
    ends = {token_ids[text] for text in (outcome.stop, outcome.last_stop) if text in token_ids}
    if any(_contains(prior.completion[-1:], token) for token in ends):
        return ""
    if stop is not None:
        if not outcome.stop:
            return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, f"the template does not write the stop token {stop}")
        before, _ = prior.around_stop
        if stop not in ends and outcome.stop in token_ids and _contains(before[-1:], token_ids[outcome.stop]):
            detail = (
                f"the turn ends with {outcome.stop!r}, and the template does not write the stop token {stop} after it"
            )
            return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
        # Text after a stop token that begins the next message would belong to that message.
        return "" if stop in ends and not outcome.stop_is_next else outcome.stop
    if not outcome.stop and any(message["role"] == "tool" for message in sample.new):
        detail = "the turn that called the tool was cut off, and the template does not end a turn with a special token"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    closing = _closing_text(context, outcome, sample, region)
    if closing is None:
        return BridgeRefusal(BridgeReason.REASONING_OPEN, "the template renders no such turn, so it cannot be closed")
    if closing and not outcome.stop:
        detail = f"the template ends a turn with {closing!r}, which is not a special token and may be in the completion"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    return closing


def _closing_text(context: BridgeContext, outcome: Outcome, sample: _Sample, region: Region) -> str | None:
    def compute() -> str | None:
        stops = context.pipeline.settings.tokenizer.vocab.stop_texts
        return closing_text(context.render, outcome, sample.turn, sample.new, region, stops=stops)

    if sample.key is None:
        return compute()
    return context.remember(("closing", sample.key, outcome.history.features, outcome.stop, region), compute)


def _render_suffix(
    context: BridgeContext, outcome: Outcome, turn: Turn, new: Sequence[JsonObject], *, closing: str
) -> tuple[Trace, list[LabelledSpan]] | None:
    """Return the text and the labels from the stop token of the turn on.

    None if the scaffold differs from the one that was proven.
    """
    at = len(outcome.history.messages)
    rendered = context.render([*outcome.history.messages, substitute_turn(turn, new), *new], True)
    end = end_of_turn(rendered, at)
    if end is None or find_fault(rendered, at, end, new) is not None:
        return None
    if scaffold_from_turn(rendered, at, end) != outcome.scaffold:
        return None
    # The tokens after a special token do not depend on the text before it.
    lead = outcome.stop + closing
    moved = len(lead) - end
    spans = [
        Span(max(span.start, end) + moved, span.end + moved, max(span.message - at - 1, -1), span.path)
        for span in rendered.trace.spans
        if span.end > end
    ]
    labels = [
        label._replace(
            start=max(label.start, end) + moved,
            end=label.end + moved,
            message=max(label.message - at - 1, -1),
            sampled=False,
            content=label.content and label.message > at,
        )
        for label in rendered.labels
        if label.end > end
    ]
    if lead:
        spans.insert(0, Span(0, len(lead), -1, ()))
        labels.insert(0, LabelledSpan(0, len(lead), -1, (), Channel.SCAFFOLD, sampled=False, content=False))
    return Trace(lead + rendered.trace.text[end:], tuple(spans)), labels


def _keeps_last_token(context: BridgeContext, ids: Sequence[Any], text: str) -> bool:
    """Return True if the last of some ids stay the same with a text after them."""
    if not all(type(token) is int and token >= 0 for token in ids):
        return False
    joined = [*ids[-2:], *context.encode(text)]
    return context.encode(context.pipeline.settings.tokenizer.decode(ids) + text)[-len(joined) :] == joined


def _join_tokens(context: BridgeContext, prior: Prior, new: Sequence[JsonObject], suffix: _Suffix) -> RenderedTokens:
    """Return the tokens of a rollout and its suffix."""
    encoded, injected = context.pipeline.encode(suffix.trace, suffix.labels)
    first = 1 + _tokens_after_stop(context, prior, suffix.trace.text, encoded.ids) if suffix.begins_with_stop else 0
    before = len(prior.prompt) + len(prior.completion)
    # The sum of two lists has exactly the right size, so a long prompt is copied only once.
    new_ids = [*prior.completion, *encoded.ids[first:]]
    all_ids = prior.prompt + new_ids
    roles, names = [message["role"] for message in new], _tool_names(prior.state, new)
    if not encoded.runs:
        return RenderedTokens(token_ids=all_ids, message_roles=roles, message_tool_names=names)
    moved = before - first
    return RenderedTokens.of_runs(
        all_ids,
        [
            TokenRun(before, *_NO_MESSAGE),
            *(run._replace(end=run.end + moved) for run in encoded.runs if run.end > first),
        ],
        injected=[text._replace(start=text.start + moved, end=text.end + moved) for text in injected],
        message_roles=roles,
        message_tool_names=names,
        decode=context.pipeline.settings.tokenizer.decode,
    )


def _tokens_after_stop(context: BridgeContext, prior: Prior, added: str, ids: Sequence[int]) -> int:
    """Return how many tokens of the suffix after the stop token the completion already contains.

    A completion that was cut out of a render contains the line break that the template writes after the stop token. It
    must be all the text up to the next special token, as the text would otherwise have other tokens. `ids` are those
    of the suffix, from the stop token on.
    """
    if prior.state.stop is None or _contains(prior.completion[-1:], prior.state.stop):
        return 0
    pattern = compile_alternation(context.pipeline.settings.tokenizer.vocab.reserved_texts)
    tokens = [match.span() for match in itertools.islice(pattern.finditer(added), 2)] if pattern else []
    between = context.encode(added[tokens[0][1] : tokens[1][0]]) if len(tokens) == 2 else []
    _, after = prior.around_stop
    return len(between) if after == between and list(ids[1 : 1 + len(between)]) == between else 0


def _tool_names(state: CompletionState, new: Sequence[JsonObject]) -> list[str | None]:
    """Return the tool name of each new message that is a result, from the message or from the call of the model."""
    calls = [{"id": call.id, "function": {"name": call.name}} for call in state.calls if call.id and call.name]
    return extract_message_tool_names([{"role": "assistant", "tool_calls": calls}, *new])[1:]
