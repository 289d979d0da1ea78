"""What of a turn the prompt already holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.parse.lexicon import cut_at_marks
from renderers.parse.tables import Tables

__all__ = ["prefill_of"]


def prefill_of(tables: Tables, prompt_ids: Sequence[Any]) -> list[str]:
    """Returns the beginning of the assistant's turn that a prompt holds, without its header, in pieces.

    The turn begins at the last control token that is no marker within a turn. Where that is not the end of
    a header, the prompt only counts if it opens reasoning there.
    """
    anchored = _last_anchor(tables, prompt_ids)
    if anchored is None:
        return []
    anchor, *rest = tables.lexicon.pieces(list(prompt_ids[anchored:]))
    turn = "".join(rest)
    _, mark, role = tables.header.rpartition(anchor) if anchor else ("", "", "")
    if mark:
        # Where it is not the assistant's, it is another's turn.
        return cut_at_marks(turn.removeprefix(role)) if turn.startswith(role) else []
    opened = turn.find(tables.think) if tables.think else -1
    return cut_at_marks(turn[opened:]) if opened >= 0 else []


def _last_anchor(tables: Tables, prompt_ids: Sequence[Any]) -> int | None:
    for at in range(len(prompt_ids) - 1, -1, -1):
        try:
            if prompt_ids[at] in tables.anchors:
                return at
        except Exception:
            # What cannot even be looked up is no id.
            continue
    return None
