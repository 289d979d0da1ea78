"""Make rendered tokens from runs."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from renderers.core.tokens import Attribution, RenderedTokens, TokenRun


def tokens_of_runs(
    ids: array[int] | list[int], runs: Iterable[TokenRun], straddling: tuple[int, ...] = (), **fields: Any
) -> RenderedTokens:
    """Return tokens in the form in which a renderer returns them."""
    attribution = Attribution(tuple(runs), straddling, tool_names=fields.pop("message_tool_names"))
    return RenderedTokens.of_encoded(array("I", ids), lambda: attribution, **fields)
