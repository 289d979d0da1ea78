"""What of a turn the prompt already holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.parse.tables import Tables

__all__ = ["prefill_of"]


def prefill_of(tables: Tables, prompt_ids: Sequence[Any]) -> list[str]:
    """Returns the pieces of a prompt that are the beginning of the assistant's turn, without its header.

    The turn begins at the last control token that is no marker within a turn. Where that is not the end of
    a header, the prompt only counts if it opens reasoning there.
    """
    anchored = next((at for at in range(len(prompt_ids) - 1, -1, -1) if prompt_ids[at] in tables.anchors), None)
    if anchored is None:
        return []
    anchor, *rest = tables.lexicon.pieces(list(prompt_ids[anchored:]))
    turn = "".join(rest)
    _, mark, role = tables.header.rpartition(anchor)
    if mark:
        # Where it is not the assistant's, it is another's turn.
        return [turn.removeprefix(role)] if turn.startswith(role) and turn != role else []
    opened = turn.find(tables.think) if tables.think else -1
    return [turn[opened:]] if opened >= 0 else []
