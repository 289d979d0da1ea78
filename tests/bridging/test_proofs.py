"""Proofs render sample histories; their errors use the indices of the new messages."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import MessageError, TemplateRefusalError, TemplateRunError
from renderers.bridging.proofs import describe_error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TemplateRefusalError("No roles!", message=3), "new message 1: No roles!"),
        (TemplateRefusalError("No roles!", message=0), "No roles!"),
        (TemplateRefusalError("No roles!"), "No roles!"),
        (MessageError("is a set", message=2, path=("content",)), "new message 0: content is a set"),
        (TemplateRunError("the chat template fails", 2), "new message 0: the chat template fails"),
    ],
)
def test_errors_use_the_indices_of_the_new_messages(error: Any, words: str) -> None:
    assert describe_error(error, 1) == words
