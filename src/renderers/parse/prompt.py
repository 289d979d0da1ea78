"""What of a turn the prompt already holds."""

from __future__ import annotations

from typing import Any

from renderers.parse.lexicon import cut_at_marks
from renderers.parse.tables import Tables

__all__ = ["prefill_of"]

_NEAR = 16
"""How many tokens from the end a header is looked for first."""


def prefill_of(tables: Tables, prompt_ids: list[Any]) -> list[str]:
    """Returns what a prompt holds after the last header of an assistant's turn, in pieces.

    A turn that is over by then is in it as well, with what follows it.
    """
    header = tables.header
    for size in (_NEAR, len(prompt_ids)) if header else ():
        wire = tables.lexicon.pieces(prompt_ids[-size:]).wire
        found = wire.rfind(header)
        if found >= 0:
            rest = wire[found + len(header) :]
            return cut_at_marks(rest) if rest else []
    return []
