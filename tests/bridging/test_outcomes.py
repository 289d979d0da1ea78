"""The outcomes of a proof must agree for all histories that the real one may be like."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import BridgeReason, BridgeRefusal
from renderers.bridging.outcomes import Outcome, Proof, choose_outcome, histories_of
from renderers.bridging.sample_histories import HistoryFeature, sample_histories

USER: list[dict[str, Any]] = [{"role": "user", "content": "Bye"}]
TOOL: list[dict[str, Any]] = [{"role": "tool", "content": "R"}]
HISTORIES = {history.features: history for history in sample_histories()}
PLAIN, CYCLE = HISTORIES[frozenset()], HISTORIES[frozenset({HistoryFeature.RESULT})]
TWICE = HISTORIES[frozenset({HistoryFeature.OWN})]


def outcome(
    history: Any = PLAIN, *, suffix: int = 0, change: str | None = None, tokens: str = "", end: str = ""
) -> Outcome:
    return Outcome(history, frozenset(tokens.split()), "<end>", "<end>", False, b"", suffix, change, None, end)


def chosen(*outcomes: Outcome, prior: str = "", doubled: bool = False, new: Any = USER, retention: Any = None) -> Any:
    proof = Proof(outcomes, ("one", "other"), ("No.",))
    return choose_outcome(
        proof,
        has_token=lambda text: text in prior.split(),
        after_assistant=lambda: doubled,
        ends_with=prior.endswith,
        new=new,
        retention=retention,
    )


def test_histories_that_agree_are_evidence() -> None:
    first, evidence, _ = chosen(outcome(), outcome(CYCLE))
    assert first.history is PLAIN
    assert [(item.history, item.change) for item in evidence] == [("a question", None), ("a tool result", None)]


def test_the_error_of_the_template_is_the_reason_if_it_rejects_every_history() -> None:
    assert chosen() == BridgeRefusal(
        BridgeReason.MESSAGE_REFUSED, "the template rejects new message 0 (user): No. Fix the messages."
    )


def test_messages_are_refused_if_the_template_accepts_them_only_after_other_histories() -> None:
    """Roles that must alternate may do so after two assistant messages, and not after a question."""
    refused = chosen(outcome(TWICE), retention="all")
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.MESSAGE_REFUSED
    assert chosen(outcome(TWICE), doubled=True).outcome.history is TWICE


def test_a_difference_between_histories_is_shown() -> None:
    refusal = chosen(outcome(), outcome(CYCLE, suffix=1))
    detail = "the template writes one if the turn follows a question, and other if it follows a tool result"
    detail = f"{detail}, and a bridge does not know the earlier messages"
    detail = f"new message 0 (user): {detail}. Render the whole conversation."
    assert refusal == BridgeRefusal(BridgeReason.SUFFIX_VARIES, detail)


def test_a_difference_between_possible_calls_is_shown() -> None:
    refusal = chosen(outcome(), outcome(suffix=1))
    assert "writes one or other, depending on names or ids of calls that are not known." in refusal.detail


def test_the_end_of_the_prompt_rules_out_histories() -> None:
    outcomes = outcome(end="<ask>"), outcome(CYCLE, suffix=1, end="<result>")
    assert chosen(*outcomes, prior="<ask> <result>")[0].history is CYCLE
    assert chosen(*outcomes, prior="<result> <ask>")[0].history is PLAIN
    # Another end shows nothing, and neither does a history without a special token at its end.
    assert isinstance(chosen(*outcomes, prior="<other>"), BridgeRefusal)
    assert isinstance(chosen(outcomes[0]._replace(prompt_end=""), outcomes[1], prior="<result>"), BridgeRefusal)


def test_a_history_without_the_tokens_of_the_turn_is_ignored() -> None:
    both = outcome(), outcome(CYCLE, suffix=1, tokens="<call>")
    assert isinstance(chosen(*both, prior="<call>"), BridgeRefusal)
    assert len(chosen(*both, prior="<other>").evidence) == 1


def test_a_history_that_ends_with_a_turn_is_used_if_the_real_one_does() -> None:
    both = outcome(), outcome(TWICE, suffix=1)
    assert isinstance(chosen(*both, doubled=True), BridgeRefusal)
    assert histories_of(chosen(*both).likely) == (PLAIN,)


@pytest.mark.parametrize(
    ("retention", "new", "accepted"),
    [
        (None, USER, False),
        (None, TOOL, False),
        ("tool_cycle", USER, False),
        ("tool_cycle", TOOL, True),
        ("all", USER, True),
    ],
)
def test_a_history_that_would_be_rewritten_is_kept_if_the_retention_covers_it(
    retention: Any, new: Any, accepted: bool
) -> None:
    choice = chosen(outcome(change="x would become y"), new=new, retention=retention)
    assert isinstance(choice, BridgeRefusal) != accepted
    if not accepted:
        detail = f"if new message 0 ({new[0]['role']}) follows the assistant's turn, x would become y."
        remedy = (
            'Create the renderer with thinking_retention="all" to keep all tokens, '
            "not only reasoning, or render the whole conversation."
        )
        assert choice == BridgeRefusal(BridgeReason.HISTORY_REWRITTEN, f"{detail} {remedy}")


def test_a_stop_token_that_is_rewritten_counts_only_if_the_completion_ends_with_it() -> None:
    proof = Proof((outcome()._replace(last_stop="<return>"),), ("one",), ())
    assert proof.with_stop(lambda text: text == "<end>") is proof
    assert not proof.rewrites
    (changed,) = proof.with_stop(lambda text: text == "<return>").outcomes
    assert changed.change == "the template ends that turn with '<end>' in place of '<return>'"
    refusal = chosen(changed)
    assert refusal.reason is BridgeReason.HISTORY_REWRITTEN
    assert "Remove '<return>' from the completion, so that the bridge adds '<end>'." in refusal.detail
    assert chosen(changed, retention="all")[0] == changed
