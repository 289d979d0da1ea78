"""Save and load many rollouts in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from renderers.core.jsontypes import JsonObject
from renderers.core.protocols import Renderer
from renderers.core.text import describe_type
from renderers.rollout.files import write_records
from renderers.rollout.records import to_record
from renderers.rollout.rollout import Rollout
from renderers.rollout.sampler import RolloutClient


def save_rollouts(rollouts: Iterable[Rollout], path: str | os.PathLike[str]) -> None:
    """Write rollouts, each with its forks, to a file of JSON lines.

    Raises:
        TypeError: The rollouts are not an iterable of rollouts.
        ValueError: A value of a rollout is not JSON data. Names its place.
        OSError: The file cannot be written.
    """
    write_records(path, _records_of(rollouts))


def _records_of(rollouts: object) -> Iterator[JsonObject]:
    if not isinstance(rollouts, Iterable):
        remedy = ": put it into a list" if isinstance(rollouts, Rollout) else ""
        raise TypeError(f"rollouts must be a list of rollouts, not {describe_type(rollouts)}{remedy}")
    for rollout in rollouts:
        if not isinstance(rollout, Rollout):
            raise TypeError(f"rollouts must be a list of rollouts, and one is {describe_type(rollout)}")
        yield to_record(rollout)


def load_rollouts(
    path: str | os.PathLike[str], renderer: Renderer | None = None, client: RolloutClient | None = None
) -> list[Rollout]:
    """Read the rollouts of a file, as `Rollout.load` reads one.

    Raises:
        RolloutFileError: The file is cut off within a line, or is not a file of rollouts. Names the line.
        RolloutError: The renderer is for another model, or has other options.
        TypeError: The client cannot sample, or is synchronous. Or the renderer is none.
        OSError: The file cannot be read.
    """
    return list(Rollout._read(path, renderer, client))
