"""What is sampled agrees with tags that were placed by hand, but for differences that are known."""

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
    # A turn whose head the template forgets, so that nothing around its bodies counts as sampled.
    "\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
}
"""What generation prompts write, and tags have in them."""

TAILS = {
    " ",
    "\n",
    "\n<|endoftext|>",
    # A turn without any text: what tags have in them of its head follows the turn before it.
    "\n<assistant></think>",
    "\n<assistant>\n</think>",
    "<|start|>assistant",
    "<｜Assistant｜>",
}
"""What follows a stop token, and tags have in them."""


@pytest.mark.parametrize("path", TAGGED, ids=lambda path: path.stem)
def test_sampled_text_equals_the_tags_except_for_the_prompt_and_text_after_the_stop_token(path: Path) -> None:
    found = compare_with_tags(path)
    assert found.renders > 30
    assert found.other == KNOWN.get(path.stem, Counter())
    assert found.head.keys() <= HEADS
    assert found.tail.keys() <= TAILS


def test_every_known_difference_is_of_an_available_template() -> None:
    if TAGGED:
        assert KNOWN.keys() <= {path.stem for path in TAGGED}
