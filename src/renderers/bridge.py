"""`Bridge`: a rollout whose tokens stay as they are, with what the next turn adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.errors import MessageError, TemplateError, TemplateLimitError
from renderers.forms import Data
from renderers.messages import extract_message_tool_names
from renderers.parse.response import CompletionState, Region
from renderers.program import Program
from renderers.proofs import (
    BridgeReason,
    BridgeRefusal,
    Evidence,
    Outcome,
    Proof,
    ThinkingRetention,
    choose,
    closing_of,
    end_of_turn,
    histories_of,
    kind_of,
    prove,
    words_of,
)
from renderers.questions import ask
from renderers.rendered import RenderedTokens, TokenRun
from renderers.skeletons import SAID, Turn, stand_in
from renderers.spans import Channel, Labelled, Span, Trace

__all__ = ["Bridge", "Prior", "extend_prior"]

_NOBODYS = (-1, Channel.SCAFFOLD, False, False)


@dataclass(frozen=True, slots=True)
class Bridge:
    """A rollout with what the next turn adds to it."""

    tokens: RenderedTokens
    """All tokens, up to where the assistant's next turn begins."""
    keeps: bool
    """Whether rendering the whole conversation is known to keep what was there, and so to give the same text."""
    evidence: tuple[Evidence, ...]


class Prior(NamedTuple):
    """A rollout as far as it goes, and what its completion is."""

    prompt: list[Any]
    completion: list[Any]
    state: CompletionState
    said: str
    """The completion's content, beside reasoning and calls."""

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
    kinds = tuple(kind_of(message, program.searched) for message in new)
    own = kind_of({"role": "assistant", "content": prior.said}, program.searched)
    # Its words count where the template looks for something in them; those of calls that are not read as such do not.
    said = prior.said if own.words else "" if own.blank else SAID
    if not state.calls and any(kind.role == "tool" for kind in kinds):
        said = ""
    turn = Turn(state.thought, said, state.calls)
    known = tuple((call.id is None, call.name is None) for call in turn.calls)
    proof = ask(("proof", program.key, turn.thought, own, known, kinds), lambda: _proof(program, turn, new))
    chosen = choose(proof, has=lambda text: prior.has(program.token_of.get(text)), new=new, retention=retention)
    if isinstance(chosen, BridgeRefusal):
        return chosen
    outcome, evidence = chosen
    try:
        closing = _closing(program, outcome, turn, prior)
        if isinstance(closing, BridgeRefusal):
            return closing
        added = _added(program, outcome, turn, new, closing=closing)
    except TemplateLimitError:
        raise
    except (MessageError, TemplateError) as error:
        return BridgeRefusal(BridgeReason.MESSAGE_REFUSED, words_of(error, len(outcome.skeleton.messages)))
    tokens = _joined(program, prior, new, *added)
    return Bridge(tokens, all(one.change is None for one in evidence), evidence)


def _proof(program: Program, turn: Turn, new: Sequence[Data]) -> Proof:
    # What is written of a history alone is the same for all proofs; the words of tools are in it.
    histories = ask(
        ("histories", program.key, repr(program.tools)), lambda: histories_of(program.write, control=program.control)
    )
    return prove(program.write, histories, turn, new, markers=program.think_markers, control=program.control)


def _closing(program: Program, outcome: Outcome, turn: Turn, prior: Prior) -> str | BridgeRefusal:
    """Returns what a turn has to be closed with."""
    stop, token_of = prior.state.stop, program.token_of
    ends = {token_of[text] for text in (outcome.stop, outcome.last_stop) if text in token_of}
    if stop in ends or any(_holds(prior.completion[-1:], one) for one in ends):
        return ""
    if stop is not None:
        if not outcome.stop:
            return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, f"the template does not write the stop token {stop}")
        return outcome.stop
    region, features = prior.state.region, outcome.skeleton.features
    closing = ask(
        ("closing", program.key, features, outcome.stop, outcome.last_stop, turn.thought, region),
        lambda: closing_of(program.write, outcome, turn, region),
    )
    if closing is None:
        return BridgeRefusal(BridgeReason.REASONING_OPEN, "the template writes no such turn, so it cannot be closed")
    if closing and not outcome.stop:
        detail = f"the template ends a turn with {closing!r}, which is no token: whether it is there cannot be told"
        return BridgeRefusal(BridgeReason.NO_STOP_TOKEN, detail)
    return closing


def _added(
    program: Program, outcome: Outcome, turn: Turn, new: Sequence[Data], *, closing: str
) -> tuple[Trace, list[Labelled], bool]:
    """Returns what new messages add, and whose it is, after a token that stands for what is before, if there is one."""
    at = len(outcome.skeleton.messages)
    whole = program.write([*outcome.skeleton.messages, stand_in(turn, new), *new], True)
    end = end_of_turn(whole, at)
    assert end is not None
    # What follows a control token does not depend on what is before it.
    lead = outcome.stop + closing
    moved = len(lead) - end
    spans = [_relative(span, at, end, moved) for span in whole.trace.spans if span.end > end]
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
        labels.insert(0, Labelled(0, len(lead), -1, (), Channel.SCAFFOLD, sampled=False, content=False))
    return Trace(lead + whole.trace.text[end:], tuple(spans)), labels, bool(outcome.stop)


def _relative(span: Span, at: int, end: int, moved: int) -> Span:
    """Returns a span of what follows a message's turn, by the messages after it; those before are nobody's."""
    message = max(span.message - at - 1, -1)
    return Span(max(span.start, end) + moved, span.end + moved, message, () if 0 <= span.message <= at else span.path)


def _joined(
    program: Program, prior: Prior, new: Sequence[Data], trace: Trace, labels: Sequence[Labelled], led: bool
) -> RenderedTokens:
    """Returns the tokens of a rollout and what is added; `led` says that the first of that is there already."""
    ids, runs, injected = program.encode(trace, labels)
    first = int(led)
    before = len(prior.prompt) + len(prior.completion)
    added = [*prior.completion, *ids[first:]]
    # Adding two lists makes one of just the right size: a long prompt is copied once, and not moved again.
    all_ids = prior.prompt + added
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
    )


def _tool_names(state: CompletionState, new: Sequence[Data]) -> list[str | None]:
    """Returns the name of the tool of each new message that is a result, if it or the model's call says so."""
    calls = [{"id": call.id, "function": {"name": call.name}} for call in state.calls if call.id and call.name]
    return extract_message_tool_names([{"role": "assistant", "tool_calls": calls}, *new])[1:]
