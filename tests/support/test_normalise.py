"""Each normalisation changes the fields in its name, and nothing else."""

from __future__ import annotations

import pytest

from tests.support.normalise import NORMALISATIONS, AssistantTurn, normalised

TURN = AssistantTurn("\n  said </think> on \n", " \nthought\n ", (("f", {"x": 1}), ("g", {})))
PLAIN = AssistantTurn("said", "thought")

EXPECTED: dict[str, AssistantTurn] = {
    "trims_content": AssistantTurn("said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_content_before_calls": AssistantTurn("said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_end_of_content": AssistantTurn("\n  said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_lines_before_content": AssistantTurn("  said </think> on \n", TURN.reasoning_content, TURN.tool_calls),
    "trims_reasoning": AssistantTurn(TURN.content, "thought", TURN.tool_calls),
    "trims_lines_around_reasoning": TURN,
    "drops_blank_reasoning": TURN,
    "drops_reasoning": AssistantTurn(TURN.content, "", TURN.tool_calls),
    "drops_reasoning_without_calls": TURN,
    "drops_content_with_calls": AssistantTurn("", TURN.reasoning_content, TURN.tool_calls),
    "drops_calls": AssistantTurn(TURN.content, TURN.reasoning_content),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_each_normalisation_gives_its_expected_turn(name: str) -> None:
    assert NORMALISATIONS[name](TURN) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted({*NORMALISATIONS} - {"drops_reasoning", "drops_reasoning_without_calls"}))
def test_a_plain_turn_is_unchanged(name: str) -> None:
    assert NORMALISATIONS[name](PLAIN) == PLAIN


def test_only_normalisations_that_changed_the_turn_are_listed() -> None:
    assert normalised(PLAIN, ["trims_content", "drops_reasoning"]) == (AssistantTurn("said"), ["drops_reasoning"])
    assert NORMALISATIONS["trims_lines_around_reasoning"](AssistantTurn("", "\n a \n")) == AssistantTurn("", " a ")
    assert NORMALISATIONS["drops_blank_reasoning"](AssistantTurn("", " \n")) == AssistantTurn()
    assert NORMALISATIONS["drops_reasoning_without_calls"](AssistantTurn("a", "b")) == AssistantTurn("a")
