"""The sampled mask agrees with hand-placed generation tags, except for known differences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.sampling import KNOWN, TAGGED, compare_with_tags

HEADS = {
    "\n",
    "\n<think></think>",
    "<assistant></think>",
    "<assistant><think>",
    "<assistant>\n</think>",
    "<assistant>\n<think>",
    "<think></think>",
    "<think>\n",
    "<think>\n\n</think>\n\n",
    "<|channel>thought\n",
    "<|start|>assistant",
    "<｜Assistant｜>",
    "<｜tool▁outputs▁end｜>",
}
"""Texts of the generation prompt that tags contain."""

TAILS = {
    " ",
    "\n",
    "\n<|endoftext|>",
    # An empty turn: the part of its header in the tags follows the previous turn.
    "\n<assistant></think>",
    "\n<assistant>\n</think>",
    "<|start|>assistant",
    "<｜Assistant｜>",
}
"""Texts after a stop token that tags contain."""


@pytest.mark.parametrize("path", TAGGED, ids=lambda path: path.stem)
def test_sampled_text_equals_the_tags_except_for_the_prompt_and_text_after_the_stop_token(path: Path) -> None:
    agreement = compare_with_tags(path)
    assert agreement.renders > 30
    assert agreement.other == KNOWN.get(path.stem, Counter())
    assert agreement.head.keys() <= HEADS
    assert agreement.tail.keys() <= TAILS


def test_every_known_difference_is_of_an_available_template() -> None:
    if TAGGED:
        assert KNOWN.keys() <= {path.stem for path in TAGGED}
