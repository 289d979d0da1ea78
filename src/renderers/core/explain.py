"""Format rendered tokens for a terminal: message, channel, sampling flag and text of each run."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.core.text import align_columns
from renderers.core.tokens import Decode, TokenRun

_SAMPLED = ("\x1b[1m", "\x1b[0m")


def explain_runs(
    ids: Sequence[int], runs: Sequence[TokenRun], roles: Sequence[str], decode: Decode, *, colours: bool = False
) -> str:
    """Return a line per run of tokens: positions, message, channel, and text.

    Sampled runs have an asterisk, and are bold with `colours`.

    >>> from renderers.core.spans import Channel
    >>> print(explain_runs([72, 105], [TokenRun(2, 0, Channel.CONTENT, False, True)], ["user"], lambda _: "Hi"))
    0-1  0 user  content    'Hi'
    """
    starts = [0, *(run.end for run in runs)]
    rows = [
        (
            f"{start}-{run.end - 1}" if run.end - start > 1 else str(start),
            f"{run.message} {roles[run.message] if run.message < len(roles) else '?'}" if run.message >= 0 else "-",
            str(run.channel),
            f"{'*' if run.sampled else ' '} {decode(list(ids[start : run.end]))!r}",
        )
        for start, run in zip(starts, runs, strict=False)
    ]
    lines = align_columns(rows)
    if colours:
        lines = [line.join(_SAMPLED) if run.sampled else line for line, run in zip(lines, runs, strict=True)]
    return "\n".join(lines)
