"""Each normalisation changes what its name says, and nothing else."""

from __future__ import annotations

import pytest

from renderers.parse.normalise import NORMALISATIONS, Said, normalised

TURN = Said("\n  said </think> on \n", " \nthought\n ", (("f", {"x": 1}), ("g", {})))
PLAIN = Said("said", "thought")

EXPECTED: dict[str, Said] = {
    "trims_content": Said("said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_content_before_calls": Said("said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_end_of_content": Said("\n  said </think> on", TURN.reasoning_content, TURN.tool_calls),
    "trims_lines_before_content": Said("  said </think> on \n", TURN.reasoning_content, TURN.tool_calls),
    "trims_reasoning": Said(TURN.content, "thought", TURN.tool_calls),
    "trims_lines_around_reasoning": TURN,
    "drops_blank_reasoning": TURN,
    "drops_reasoning": Said(TURN.content, "", TURN.tool_calls),
    "drops_reasoning_without_calls": TURN,
    "drops_content_with_calls": Said("", TURN.reasoning_content, TURN.tool_calls),
    "keeps_first_call": Said(TURN.content, TURN.reasoning_content, TURN.tool_calls[:1]),
    "calls_content_reasoning": Said("", TURN.content, TURN.tool_calls),
    "drops_calls": Said(TURN.content, TURN.reasoning_content),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_it_does_what_it_says(name: str) -> None:
    assert NORMALISATIONS[name](TURN) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted({*NORMALISATIONS} - {"drops_reasoning", "drops_reasoning_without_calls"}))
def test_a_plain_turn_is_left_alone(name: str) -> None:
    assert NORMALISATIONS[name](PLAIN) == PLAIN


def test_only_those_that_changed_something_are_named() -> None:
    assert normalised(PLAIN, ["trims_content", "drops_reasoning"]) == (Said("said"), ["drops_reasoning"])
    assert NORMALISATIONS["trims_lines_around_reasoning"](Said("", "\n a \n")) == Said("", " a ")
    assert NORMALISATIONS["drops_blank_reasoning"](Said("", " \n")) == Said()
    assert NORMALISATIONS["drops_reasoning_without_calls"](Said("a", "b")) == Said("a")
