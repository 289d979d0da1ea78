"""`Bridge`: a rollout whose tokens stay as they are, with what the next turn adds to it."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.bridging.context import Program
from renderers.bridging.last_speaker import follows_itself
from renderers.bridging.message_kind import kind_of
from renderers.bridging.proofs import (
    BridgeReason,
    BridgeRefusal,
    Evidence,
    Outcome,
    Proof,
    choose,
    closing_of,
    end_of_turn,
    fault_in,
    histories_of,
    prove,
    turn_in,
    words_of,
)
from renderers.bridging.sample_histories import SAID, Turn, stand_in
from renderers.core.messages import extract_message_tool_names
from renderers.core.options import ThinkingRetention
from renderers.core.patterns import compile_alternation
from renderers.core.spans import Channel, LabelledSpan, Span, Trace
from renderers.core.text import quote_short
from renderers.core.tokens import RenderedTokens, TokenRun
from renderers.parse.response import CompletionState, Region
from renderers.programs.input_formats import NOT_TAKEN, Data
from renderers.questions import ask

__all__ = ["Bridge", "Prior", "extend_prior"]

_NOBODYS = (-1, Channel.SCAFFOLD, False, False)
_NEAR = 8
"""How many tokens are looked at where a text is joined to them."""
_OTHERWISE = BridgeRefusal(BridgeReason.SUFFIX_VARIES, "the template writes the same messages in several ways")


@dataclass(frozen=True, slots=True)
class Bridge:
    """A rollout with what the next turn adds to it."""

    tokens: RenderedTokens
    """All tokens, up to where the assistant's next turn begins."""
    keeps: bool
    """Whether the template is known to keep a history of this kind as it is, and the turn as it would write it itself.

    A model may write otherwise than its template would: other spaces, other JSON, markers in other tokens.
    """
    evidence: tuple[Evidence, ...]


class Prior(NamedTuple):
    """A rollout as far as it goes, and what its completion is."""

    prompt: list[Any]
    completion: list[Any]
    state: CompletionState
    said: str
    """The completion's content, beside reasoning and calls."""

    @property
    def at_stop(self) -> tuple[list[Any], list[Any]]:
        """What of the completion is before the stop token that ended it, and what is after it."""
        stop, place = self.state.stop, len(self.completion)
        if stop is not None:
            place = next((at for at, one in enumerate(self.completion) if type(one) is int and one == stop), place)
        return self.completion[:place], self.completion[place + 1 :]

    def has(self, token: int | None) -> bool:
        """Says whether a token is in it."""
        return token is not None and (_holds(self.completion, token) or _holds(self.prompt, token))


def _holds(ids: Sequence[Any], token: int) -> bool:
    try:
        return token in ids
    except Exception:
        # What is no id may raise anything when it is compared.
        return any(type(one) is int and one == token for one in ids)


def extend_prior(
    program: Program, prior: Prior, new: Sequence[Data], *, retention: ThinkingRetention | None
) -> Bridge | BridgeRefusal:
    """Extends a rollout with new messages, or says why not."""
    state = prior.state
    for at, message in enumerate(new):
        if message["role"] == "assistant":
            return BridgeRefusal(BridgeReason.ASSISTANT_MESSAGE, f"new message {at}")
    if state.region is Region.REASONING and state.stop is not None:
        return BridgeRefusal(BridgeReason.REASONING_OPEN, "the model stopped within its reasoning")
    found: list[_Added] = []
    for turn in _turns(program, prior, new):
        added = _added(program, prior, turn, new, retention=retention)
        if isinstance(added, BridgeRefusal):
            return added
        found.append(added)
    texts = {added.trace.text: quote_short(added.trace.text) for added in found}
    if len(texts) > 1:
        detail = "{} if the turn is but a call; else {}".format(*texts.values())
        return BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)
    near = [*prior.prompt[-_NEAR:], *prior.completion[-_NEAR:]][-_NEAR:]
    if not found[0].led and not program.joins(near, found[0].trace.text):
        detail = "a turn ends with text, and with what follows its last token would be another one"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    evidence = tuple(one for added in found for one in added.evidence)
    # No template writes a call that was cut off.
    whole = state.stop is not None or state.region not in (Region.CALL, Region.CALLS)
    keeps = whole and all(one.change is None for one in evidence)
    return Bridge(_joined(program, prior, new, found[0]), keeps, evidence)


class _Added(NamedTuple):
    """What new messages add, and whose it is, after a token that stands for what is before, if there is one."""

    trace: Trace
    labels: list[LabelledSpan]
    led: bool
    evidence: tuple[Evidence, ...]


def _turns(program: Program, prior: Prior, new: Sequence[Data]) -> Iterator[Turn]:
    """Yields the turns that a completion may be."""
    state = prior.state
    if not state.calls and any(message["role"] == "tool" for message in new):
        # Calls that are not read as such may be all that there is, or not.
        yield Turn(state.thought, "", ())
        said = prior.said.strip()
        if not said or program.call_edges.around(said):
            return
    yield Turn(state.thought, prior.said, state.calls)


def _added(
    program: Program, prior: Prior, turn: Turn, new: Sequence[Data], *, retention: ThinkingRetention | None
) -> _Added | BridgeRefusal:
    kinds = tuple(kind_of(message, program.searches) for message in new)
    own = kind_of({"role": "assistant", "content": turn.said}, program.searches)
    if not own.words:
        # Its words only count where the template looks for something in them.
        turn = turn._replace(said="" if own.blank else SAID)
    made: list[Proof] = []

    def find() -> Proof:
        made.append(_proof(program, turn, new))
        return made[0]

    proof = ask(("proof", program.key, turn.thought, own, _known(turn, new), kinds), find)
    added = _extended(program, prior, turn, new, proof, kinds=kinds, retention=retention)
    if made or isinstance(added, _Added) or (added and added.reason is BridgeReason.HISTORY_REWRITTEN):
        return added or _OTHERWISE
    # It was proven with other words: those of a refusal are to be these, and a template may go by more than is known.
    proof = _proof(program, turn, new)
    return _extended(program, prior, turn, new, proof, kinds=kinds, retention=retention) or _OTHERWISE


def _known(turn: Turn, new: Sequence[Data]) -> Hashable:
    """Returns what is known of calls and their results, beside names and ids themselves."""
    results = [message for message in new if message["role"] == "tool"]
    return tuple(
        (
            (call.id is None, call.name is None),
            *((call.id == one.get("tool_call_id"), call.name == one.get("name")) for one in results),
        )
        for call in turn.calls
    )


def _extended(
    program: Program,
    prior: Prior,
    turn: Turn,
    new: Sequence[Data],
    proof: Proof,
    *,
    kinds: Hashable,
    retention: ThinkingRetention | None,
) -> _Added | BridgeRefusal | None:
    """Extends a turn by a proof; None where what is written now is not as it was proven."""
    chosen = choose(
        proof,
        has=lambda text: prior.has(program.token_of.get(text)),
        doubled=lambda: program.heads is not None and follows_itself(prior.prompt, program.heads),
        new=new,
        retention=retention,
    )
    if isinstance(chosen, BridgeRefusal):
        return chosen
    outcome, evidence = chosen
    try:
        closing = _closing(program, outcome, turn, new, prior, kinds=kinds)
        if isinstance(closing, BridgeRefusal):
            return closing
        written = _written(program, outcome, turn, new, closing=closing)
    except NOT_TAKEN as error:
        return BridgeRefusal(BridgeReason.MESSAGE_REFUSED, words_of(error, len(outcome.skeleton.messages)))
    return written and _Added(*written, outcome.stop in program.token_of, evidence)


def _proof(program: Program, turn: Turn, new: Sequence[Data]) -> Proof:
    # What is written of a history alone is the same for all proofs; the words of tools are in it.
    histories = ask(
        ("histories", program.key, repr(program.tools)), lambda: histories_of(program.write, control=program.control)
    )
    return prove(program.write, histories, turn, new, markers=program.think_markers, control=program.control)


def _closing(
    program: Program, outcome: Outcome, turn: Turn, new: Sequence[Data], prior: Prior, *, kinds: Hashable
) -> str | BridgeRefusal:
    """Returns what a turn has to be closed with."""
    stop, region, token_of = prior.state.stop, prior.state.region, program.token_of
    ends = {token_of[text] for text in (outcome.stop, outcome.last_stop) if text in token_of}
    if any(_holds(prior.completion[-1:], one) for one in ends):
        return ""
    if stop is not None:
        if not outcome.stop:
            return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, f"the template does not write the stop token {stop}")
        if stop not in ends and outcome.stop in token_of and _holds(prior.at_stop[0][-1:], token_of[outcome.stop]):
            detail = (
                f"the turn ends with {outcome.stop!r}, and the template does not write the stop token {stop} after it"
            )
            return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
        # What follows a stop token that begins the next message would be of that message.
        return "" if stop in ends and not outcome.stop_is_next else outcome.stop
    if not outcome.stop and any(message["role"] == "tool" for message in new):
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, "where the turn ends that called the tool cannot be told")
    closing = ask(
        ("closing", program.key, outcome.skeleton.features, outcome.stop, turn.thought, region, kinds),
        lambda: closing_of(program.write, outcome, turn, new, region, stops=program.stops),
    )
    if closing is None:
        return BridgeRefusal(BridgeReason.REASONING_OPEN, "the template writes no such turn, so it cannot be closed")
    if closing and not outcome.stop:
        detail = f"the template ends a turn with {closing!r}, which is no token: whether it is there cannot be told"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    return closing


def _written(
    program: Program, outcome: Outcome, turn: Turn, new: Sequence[Data], *, closing: str
) -> tuple[Trace, list[LabelledSpan]] | None:
    """Returns what is written after a turn, and whose it is, after the token that it ends with, if there is one.

    None where the template does not write the turn as it was proven.
    """
    at = len(outcome.skeleton.messages)
    whole = program.write([*outcome.skeleton.messages, stand_in(turn, new), *new], True)
    end = end_of_turn(whole, at)
    if end is None or fault_in(whole, at, end, new) is not None or turn_in(whole, at) != outcome.turn:
        return None
    # What follows a control token does not depend on what is before it.
    lead = outcome.stop + closing
    moved = len(lead) - end
    spans = [
        Span(max(span.start, end) + moved, span.end + moved, max(span.message - at - 1, -1), span.path)
        for span in whole.trace.spans
        if span.end > end
    ]
    labels = [
        one._replace(
            start=max(one.start, end) + moved,
            end=one.end + moved,
            message=max(one.message - at - 1, -1),
            sampled=False,
            content=one.content and one.message > at,
        )
        for one in whole.labels
        if one.end > end
    ]
    if lead:
        spans.insert(0, Span(0, len(lead), -1, ()))
        labels.insert(0, LabelledSpan(0, len(lead), -1, (), Channel.SCAFFOLD, sampled=False, content=False))
    return Trace(lead + whole.trace.text[end:], tuple(spans)), labels


def _joined(program: Program, prior: Prior, new: Sequence[Data], added: _Added) -> RenderedTokens:
    """Returns the tokens of a rollout and what is added to it."""
    ids, runs, injected = program.encode(added.trace, added.labels)
    first = 1 + _already_there(program, prior, added.trace.text, ids) if added.led else 0
    before = len(prior.prompt) + len(prior.completion)
    # Adding two lists makes one of just the right size: a long prompt is copied once, and not moved again.
    new_ids = [*prior.completion, *ids[first:]]
    all_ids = prior.prompt + new_ids
    roles, names = [message["role"] for message in new], _tool_names(prior.state, new)
    if not runs:
        return RenderedTokens(token_ids=all_ids, message_roles=roles, message_tool_names=names)
    moved = before - first
    return RenderedTokens.of_runs(
        all_ids,
        [TokenRun(before, *_NOBODYS), *(run._replace(end=run.end + moved) for run in runs if run.end > first)],
        injected=[one._replace(start=one.start + moved, end=one.end + moved) for one in injected],
        message_roles=roles,
        message_tool_names=names,
        decode=program.decode,
    )


def _already_there(program: Program, prior: Prior, added: str, ids: Sequence[int]) -> int:
    """Returns how many of the tokens that are added after a stop token the completion has after its own.

    A completion that was cut out of a render has the line break that the template writes there. It has to be all that
    stands between that stop token and the next control token, as it would otherwise be in other tokens. `ids` are
    those of what is added, from the stop token on.
    """
    if prior.state.stop is None or _holds(prior.completion[-1:], prior.state.stop):
        return 0
    tokens = compile_alternation(program.control)
    places = [found.span() for found in itertools.islice(tokens.finditer(added), 2)] if tokens else []
    between = program.ids(added[places[0][1] : places[1][0]]) if len(places) == 2 else []
    there = prior.at_stop[1] == between and list(ids[1 : 1 + len(between)]) == between
    return len(between) if there else 0


def _tool_names(state: CompletionState, new: Sequence[Data]) -> list[str | None]:
    """Returns the name of the tool of each new message that is a result, if it or the model's call says so."""
    calls = [{"id": call.id, "function": {"name": call.name}} for call in state.calls if call.id and call.name]
    return extract_message_tool_names([{"role": "assistant", "tool_calls": calls}, *new])[1:]
