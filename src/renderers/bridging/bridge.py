"""Extend a rollout: keep the token ids of its prompt and completion, and append those of new messages."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from renderers.bridging.call_ids import find_other_id, with_call_names, with_some_ids
from renderers.bridging.call_shape import call_delimiters
from renderers.bridging.context import BridgeContext, RenderedTurn
from renderers.bridging.earlier_calls import count_calls, cycle_markers
from renderers.bridging.join import join_tokens, keeps_last_token
from renderers.bridging.last_speaker import ends_with_assistant_message, role_headers
from renderers.bridging.outcomes import Choice, Outcome, Proof, choose_outcome, histories_of, likely_outcomes
from renderers.bridging.prior import Prior, has_known_ids
from renderers.bridging.proofs import Sample, classify_sample, closing_text, describe_error, find_fault, prove
from renderers.bridging.refusal import BridgeEvidence, BridgeReason, BridgeRefusal, describe_new, refuse, refuse_message
from renderers.bridging.rerender import matches_renders
from renderers.bridging.result import Bridge
from renderers.bridging.sample_histories import Turn, substitute_turn
from renderers.bridging.suffix import Suffix
from renderers.bridging.turn_ends import turn_ends
from renderers.bridging.written_turn import Rollout, find_written_turn, parsed_turn
from renderers.core.completions import ReasoningState, Region
from renderers.core.jsontypes import JsonObject
from renderers.core.options import ThinkingRetention
from renderers.core.probe_words import PROBE_CONTENT
from renderers.core.text import quote_short
from renderers.errors import TemplateRefusalError, TemplateRunError
from renderers.programs.base import REJECTIONS
from renderers.programs.encoders.piece_program import PieceProgram
from renderers.rendering.loss_reports import LossReporter

_OF_THE_TURN = (BridgeReason.HISTORY_REWRITTEN, BridgeReason.NO_STOP_TOKEN, BridgeReason.SUFFIX_VARIES)
"""The reasons that may not hold for the turn itself, although they hold for its sample."""
_PROMPT_END = 64
"""The number of tokens at the end of a prompt that may be a generation prompt."""
_LONGEST_NAME = 64
"""How many characters of the name of a call are part of a key."""


def _no_stop_token(detail: str) -> BridgeRefusal:
    return refuse(BridgeReason.NO_STOP_TOKEN, detail)


def _short_names(turn: Turn) -> tuple[str | None, ...]:
    """Return the names of the calls of a turn, for a key, which must not keep long texts."""
    return tuple([call.name[:_LONGEST_NAME] if call.name else None for call in turn.calls])


@dataclass(frozen=True, slots=True)
class Extension:
    """A rollout and the messages to extend it by."""

    context: BridgeContext
    prior: Prior
    new: Sequence[JsonObject]
    given: Sequence[JsonObject]
    """The new messages of the caller, without the ids and names that `new` has from the completion."""
    retention: ThinkingRetention | None
    losses: LossReporter
    keeping_switch: Callable[[], str | None]
    """Returns the template argument that keeps the reasoning of earlier turns, such as `clear_thinking=False`."""
    may_lose: bool = False
    """True if new messages of which the template writes nothing are left out."""

    def bridge(self) -> Bridge | BridgeRefusal:
        """Extend the rollout by the new messages, or return the refusal.

        A proof is made with samples that depend on the kinds of the messages only, so earlier bridges do not matter.
        """
        bridged = self._bridge_with_names()
        if isinstance(bridged, BridgeRefusal) and isinstance(self.context.turn_format.key.program, PieceProgram):
            # The format is defined by a program, and the model may have no template.
            return replace(bridged, detail=bridged.detail.replace("the template", "the format"))
        return bridged

    def _bridge_with_names(self) -> Bridge | BridgeRefusal:
        bridged = self._bridge()
        if isinstance(bridged, Bridge) or bridged.reason is not BridgeReason.MESSAGE_REFUSED:
            return bridged
        # The template may require the names of called tools, which the completion contains.
        named = with_call_names(self.new, self.prior.state.calls)
        retried = replace(self, new=named)._bridge() if named != self.new else bridged
        return retried if isinstance(retried, Bridge) else bridged

    def _bridge(self) -> Bridge | BridgeRefusal:
        state = self.prior.state
        if "assistant" in self._roles:
            message = f"new message {self._roles.index('assistant')} is an assistant message"
            detail = f"{message}. A bridge adds none, because the model has to sample their tokens"
            return refuse(BridgeReason.ASSISTANT_MESSAGE, detail)
        if state.region is Region.REASONING and state.stop_token_id is not None:
            stop = self._name_token(state.stop_token_id)
            detail = (
                f"the completion ends with the stop token {stop} within its reasoning. No template writes such a turn"
            )
            return refuse(BridgeReason.REASONING_OPEN, detail)
        suffixes: list[Suffix] = []
        for turn in self._possible_turns():
            suffix = self._find_suffix(turn)
            if isinstance(suffix, BridgeRefusal):
                if suffix.reason is not BridgeReason.UNSUPPORTED_ROLE or self.may_lose:
                    return suffix
                if self.losses.accepts_lost_messages:
                    return replace(self, may_lose=True)._bridge()
                self._report_lost_messages(turn)
                return suffix
            suffixes.append(suffix)
        if len(suffixes) > 1 and len({suffix.text for suffix in suffixes}) > 1:
            calls, other = (quote_short(suffix.text) for suffix in suffixes)
            detail = f"the template writes {calls} if the assistant's turn consists of tool calls alone, else {other}"
            unknown = "The completion contains no call that could be parsed"
            return refuse(BridgeReason.SUFFIX_VARIES, f"{describe_new(self.new)}: {detail}. {unknown}")
        first = suffixes[0]
        if not first.begins_with_stop and not keeps_last_token(self.context, self.prior, first.text):
            detail = "the completion ends with text, and its last token would be another one with the text after it"
            return _no_stop_token(detail)
        if not self._writes_alike(first.followed, with_some_ids(self.new, state.calls)):
            detail = "the template writes the ids of calls, and the call of a result without tool_call_id is unknown"
            return refuse(BridgeReason.SUFFIX_VARIES, f"{describe_new(self.new)}: {detail}", hint="Set tool_call_id.")
        followed = first.followed
        if ids_differ := find_other_id(followed.trace, turn=followed.message, end=first.end, calls=state.calls):
            written, made_up = ids_differ
            detail = f"the template numbers calls itself: it writes the id {made_up!r} for the call {written!r}"
            return refuse(BridgeReason.SUFFIX_VARIES, f"{describe_new(self.new)}: {detail}")
        self.losses.report(first.followed.rendered, first=first.followed.message + 1)
        evidence = sum([suffix.evidence for suffix in suffixes], ())
        likely = sum([suffix.likely for suffix in suffixes], ())
        # The bridge keeps one copy of the ids, and the caller may change the lists.
        context, parsed, given, start = self.context, self.prior.parsed, self.given, len(self.prior.prompt)
        end = start + len(self.prior.completion)
        ids, tokens = join_tokens(self.context, self.prior, self.new, first)

        def matches() -> bool:
            return (
                all(item.change is None for item in evidence)
                and has_known_ids(ids[:end], context.tokenizer.vocab.token_texts)
                and matches_renders(context, histories_of(likely), parsed, given, prompt=ids[:start], rest=ids[start:])
            )

        return Bridge.checked_later(tokens, evidence, matches=matches)

    def _writes_alike(self, followed: RenderedTurn, others: Sequence[JsonObject]) -> bool:
        """Return True if the template writes other messages as it writes the new ones, which have all known ids."""
        if others == self.new:
            return True
        messages = [*followed.rendered.messages[: followed.message + 1], *others]
        try:
            return self.context.render_actual(messages, turn=followed.message).trace.text == followed.trace.text
        except REJECTIONS:
            return False

    def _report_lost_messages(self, turn: Turn) -> None:
        """Raise the error of `render` if the template writes nothing of a new message after any history."""
        sample = classify_sample(turn, self.new, self.context.field_rules)
        outcomes = self._proof(sample, self.context).outcomes
        faults = [outcome.fault for outcome in outcomes]
        if not faults or any(fault is None or fault.reason is not BridgeReason.UNSUPPORTED_ROLE for fault in faults):
            return
        history = outcomes[0].history.messages
        messages = [*history, substitute_turn(turn, self.new), *self.new]
        with contextlib.suppress(TemplateRefusalError, TemplateRunError):
            followed = self.context.render_actual(messages, turn=len(history))
            self.losses.report(followed.rendered, first=len(history) + 1)

    @property
    def _roles(self) -> list[str]:
        return [message["role"] for message in self.new]

    def _possible_turns(self) -> Iterator[Turn]:
        state, content = self.prior.state, self.prior.parsed.content
        if not state.calls and "tool" in self._roles:
            # Calls that could not be parsed may be the whole turn, or follow other content.
            yield Turn(state.reasoning, "", ())
            if not content or self.context.learn(call_delimiters).encloses(content.strip()):
                return
        yield Turn(state.reasoning, content, state.calls)

    def _find_suffix(self, turn: Turn) -> Suffix | BridgeRefusal:
        sample = classify_sample(turn, self.new, self.context.field_rules)
        if sample.turn.content in ("", PROBE_CONTENT):
            turn = Turn(turn.reasoning, sample.turn.content, turn.calls)
        suffix = self._suffix_by_proof(turn, sample, self.context)
        if isinstance(suffix, BridgeRefusal) and suffix.reason in _OF_THE_TURN:
            suffix = self._suffix_of_written_turn(sample) or suffix
        if isinstance(suffix, Suffix) or (suffix and suffix.reason is BridgeReason.HISTORY_REWRITTEN):
            return suffix
        # The template renders these messages differently from the samples, or a refusal has to quote the real messages.
        return self._suffix_by_proof(turn, Sample(turn, self.new), self.context.exactly) or refuse(
            BridgeReason.SUFFIX_VARIES,
            f"{describe_new(self.new)}: their text depends on earlier messages, which a bridge does not know",
        )

    def _suffix_of_written_turn(self, sample: Sample) -> Suffix | None:
        """Return the suffix if the template writes the turn as the model did; None if it does not."""
        prior, vocab = self.prior, self.context.tokenizer.vocab
        # The end of a turn without a stop token is not known. Sample histories repeat samples, not the real messages.
        if prior.state.stop_token_id is None or self.context.text_uses.compares_messages:
            return None
        turn = parsed_turn(prior.parsed, self.new)
        if turn is None or not has_known_ids(prior.completion, vocab.token_texts):
            return None
        outcomes = likely_outcomes(
            self._proof(sample, self.context),
            has_token=self._has_token,
            after_assistant=self._after_assistant,
            ends_with=self._ends_with,
        )
        histories = histories_of(outcomes)
        completion = self.context.tokenizer.decode(prior.completion)
        written = find_written_turn(self.context, histories, turn, Rollout(prior.prompt, completion), self.new)
        if written is None:
            return None
        evidence = tuple(BridgeEvidence(history.name, None) for history in histories)
        last = self.context.tokenizer.decode(prior.completion[-1:])
        is_special = last in self.context.special_tokens
        return Suffix(last if is_special else "", is_special, evidence, outcomes, *written)

    def _proof(self, sample: Sample, context: BridgeContext, *, calls: int | None = None) -> Proof:
        key = "proof", self.may_lose, calls, sample.key
        proof = context.remember(key, lambda: prove(context, sample, calls=calls, may_lose=self.may_lose))
        return proof.with_stop(self._is_stop)

    def _is_stop(self, text: str) -> bool:
        """Return True if a special token ended the completion."""
        token = self.context.tokenizer.added_tokens.get(text)
        return token is not None and token in (self.prior.state.stop_token_id, *self.prior.completion[-1:])

    def _suffix_by_proof(self, turn: Turn, sample: Sample, context: BridgeContext) -> Suffix | BridgeRefusal | None:
        """Return the suffix by a proof; None if the template renders the real messages otherwise than the sample."""
        chosen = self._choose_outcome(self._proof(sample, context))
        if isinstance(chosen, BridgeRefusal) and chosen.reason is BridgeReason.SUFFIX_VARIES:
            # The template may number calls across the conversation.
            calls = self._count_earlier_calls()
            chosen = self._choose_outcome(self._proof(sample, context, calls=calls)) if calls else chosen
        if isinstance(chosen, BridgeRefusal):
            return chosen
        outcome = chosen.outcome
        try:
            closing = self._closing(outcome, sample)
            if isinstance(closing, BridgeRefusal):
                return closing
            followed = self._render_suffix(outcome, turn)
            if followed is None:
                return None
            begins_with_stop = outcome.stop in self.context.tokenizer.added_tokens
            lead = outcome.stop + closing
            return Suffix(lead, begins_with_stop, chosen.evidence, chosen.likely, followed, followed.end)
        except REJECTIONS as error:
            return refuse_message(describe_error(error, len(outcome.history.messages)), self.new)

    def _choose_outcome(self, proof: Proof) -> Choice | BridgeRefusal:
        return choose_outcome(
            proof,
            has_token=self._has_token,
            after_assistant=self._after_assistant,
            ends_with=self._ends_with,
            new=self.new,
            retention=self.retention,
            hint=self._hint,
        )

    def _count_earlier_calls(self) -> int | None:
        """Return the number of calls in the prompt; None if it is not known."""
        markers = self.context.learn(cycle_markers)
        return markers and count_calls(self.prior.prompt, markers)

    def _hint(self) -> str:
        """Return a remedy for a history that would be rewritten, apart from the common ones; empty if there is none."""
        turn_format, tokenizer = self.context.turn_format, self.context.tokenizer
        last = self.prior.prompt_end(_PROMPT_END)
        end = tokenizer.decode(last) if has_known_ids(last, tokenizer.vocab.token_texts) else ""
        headers = [header for role in ("user", "tool") for header in turn_format.headers(role)]
        matching = [header for header in headers if header.generation_prompt and end.endswith(header.generation_prompt)]
        if matching and not any(header.is_default for header in matching):
            return "The prompt was rendered with other template arguments: pass them to the bridge."
        switch = self.keeping_switch()
        is_read = switch is not None and turn_format.key.program.mentions(switch.partition("=")[0])
        if is_read and self.prior.state.reasoning is ReasoningState.SOME:
            return f"Render and bridge with {switch}, so that the template keeps the reasoning."
        return ""

    def _name_token(self, token: int) -> str:
        return f"{self.context.tokenizer.decode([token])!r} ({token})"

    def _has_token(self, text: str) -> bool:
        """Return True if the prompt contains a special token, or a text that begins and ends with one."""
        token = self.context.tokenizer.added_tokens.get(text)
        return self.prior.has(*([token] if token is not None else self.context.encode(text)))

    def _after_assistant(self) -> bool:
        headers = self.context.learn(role_headers)
        return headers is not None and ends_with_assistant_message(self.prior.prompt, headers)

    def _ends_with(self, text: str) -> bool:
        """Return True if the prompt ends with a text, which begins with a special token."""
        ids = self.context.encode(text)
        return self.prior.prompt_end(len(ids)) == ids

    def _refuse_other_end(self, stop: str) -> BridgeRefusal | None:
        """Return the refusal of a turn without the token `stop`, if it ends as another kind of turn does."""
        ends, state, last = self.context.learn(turn_ends), self.prior.state, self.prior.completion[-1:]
        new, text = describe_new(self.new), self.context.tokenizer.decode(last)
        if "tool" in self._roles and not state.calls:
            if text in ends.answers:
                detail = f"the completion ends with {self._name_token(*last)}, which ends a turn without calls"
                return _no_stop_token(f"{new}: {detail}")
            is_open = state.region in (Region.CALL, Region.CALLS, Region.REASONING)
            if not is_open and stop in ends.calls - ends.answers:
                return _no_stop_token(f"{new}: the completion contains no call, and does not end with {stop!r}")
        if not ends.has(text) or not ends.has(stop):
            return None
        detail = f"the completion ends with {self._name_token(*last)}, and the template ends such a turn with {stop!r}"
        remedy = f"Remove {text!r} from the completion, so that the bridge adds {stop!r}."
        return refuse(BridgeReason.NO_STOP_TOKEN, f"{new}: {detail}", hint=remedy)

    def _closing(self, outcome: Outcome, sample: Sample) -> str | BridgeRefusal:
        """Return the text that the turn has to be closed with; empty if it is closed."""
        prior, token_ids = self.prior, self.context.tokenizer.added_tokens
        stop = prior.state.stop_token_id
        ends = {token_ids[text] for text in (outcome.stop, outcome.last_stop) if text in token_ids}
        if not ends.isdisjoint(prior.completion[-1:]):
            return ""
        other_end = None if stop in ends or outcome.stop_is_next else self._refuse_other_end(outcome.stop)
        if other_end is not None:
            return other_end
        if stop is not None:
            if not outcome.stop:
                name = self._name_token(stop)
                return _no_stop_token(
                    f"the completion ends with the stop token {name}, which the template never writes"
                )
            before, _ = prior.around_stop
            if stop not in ends and outcome.stop in token_ids and token_ids[outcome.stop] in before[-1:]:
                end = f"the assistant's turn ends with {outcome.stop!r}"
                name = self._name_token(stop)
                return _no_stop_token(f"{end}, and the template does not write the stop token {name} after it")
            # Text after a stop token that begins the next message would belong to that message.
            return "" if stop in ends and not outcome.stop_is_next else outcome.stop
        if not outcome.stop and "tool" in self._roles:
            end = "the completion does not end with a stop token"
            detail = f"{end}, and the template ends an assistant's turn with text, so it may be complete or cut off"
            return _no_stop_token(detail)
        closing = self.context.remember(
            ("closing", sample.key, outcome.history.features, outcome.stop, prior.state.region),
            lambda: closing_text(self.context, sample, outcome, prior.state.region),
        )
        if closing is None:
            detail = (
                "the completion was cut off within its reasoning, and the template cannot write a turn without content"
            )
            return refuse(BridgeReason.REASONING_OPEN, detail)
        if closing and not outcome.stop:
            end = f"the template ends an assistant's turn with {closing!r}"
            return _no_stop_token(
                f"{end}, which is text and not a special token, so it may be in the completion or not"
            )
        return closing

    def _render_suffix(self, outcome: Outcome, turn: Turn) -> RenderedTurn | None:
        """Return the turn with the new messages; None if the scaffold is not the one of the proof.

        A run that is like one that was checked before has the same scaffold and no fault.
        """
        history, index = outcome.history.messages, len(outcome.history.messages)
        turn = turn._replace(content="") if outcome.moves_content else turn
        messages = [*history, substitute_turn(turn, self.new), *self.new]
        followed = self.context.render_actual(messages, turn=index)
        # A run that is like the checked one need not be of the same sample.
        key = outcome.history.name, outcome.scaffold, self.may_lose, len(self.new), _short_names(turn)
        checked = self.context.checked_runs.get(key, list)
        if checked and checked[0].is_like(followed.trace):
            followed.set_end(len(checked[0].before))
            return followed
        if (
            find_fault(followed, self.new, may_lose=self.may_lose) is not None
            or followed.scaffold_digest() != outcome.scaffold
        ):
            return None
        checked[:] = [] if (known := followed.as_checked()) is None else [known]
        return followed
