"""Format rendered tokens for a terminal: message, channel, sampling flag and text of each run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from renderers.core.tokens import TokenRun

__all__ = ["explain_runs"]

_SAMPLED = ("\x1b[1m", "\x1b[0m")


def explain_runs(
    ids: Sequence[int],
    runs: Sequence[TokenRun],
    roles: Sequence[str],
    decode: Callable[[list[int]], str],
    *,
    colours: bool = False,
) -> str:
    """Return a line per run of tokens: positions, message, channel, and text.

    Sampled runs have an asterisk, and are bold with `colours`.

    >>> from renderers.core.spans import Channel
    >>> print(explain_runs([72, 105], [TokenRun(2, 0, Channel.CONTENT, False, True)], ["user"], lambda _: "Hi"))
    0-1  0 user  content    'Hi'
    """
    if not runs:
        return ""
    starts = [0, *(run.end for run in runs[:-1])]
    rows = [
        (
            f"{start}-{run.end - 1}" if run.end - start > 1 else str(start),
            f"{run.message} {roles[run.message] if run.message < len(roles) else '?'}" if run.message >= 0 else "-",
            str(run.channel),
            "*" if run.sampled else " ",
            repr(decode(list(ids[start : run.end]))),
        )
        for start, run in zip(starts, runs, strict=True)
    ]
    widths = [max(map(len, column)) for column in itertools.islice(zip(*rows, strict=True), 4)]
    lines = []
    for row in rows:
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        line = "  ".join((*padded[:3], f"{padded[3]} {row[4]}"))
        lines.append(line if not (colours and row[3] == "*") else line.join(_SAMPLED))
    return "\n".join(lines)
