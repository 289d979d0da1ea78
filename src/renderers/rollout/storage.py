"""Save and load many rollouts in one file."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable

from renderers.core.protocols import Renderer
from renderers.rollout.files import read_rollouts, write_records
from renderers.rollout.records import to_record
from renderers.rollout.rollout import Rollout
from renderers.rollout.sampler import RolloutClient, check_client


def save_rollouts(rollouts: Iterable[Rollout], path: str | os.PathLike[str]) -> None:
    """Write rollouts, each with its forks, to a file of JSON lines.

    Raises:
        MessageError: A value of a rollout is not JSON data. Names its place.
        OSError: The file cannot be written.
    """
    write_records(path, map(to_record, rollouts))


def load_rollouts(
    path: str | os.PathLike[str], renderer: Renderer | None = None, client: RolloutClient | None = None
) -> list[Rollout]:
    """Read the rollouts of a file, as `Rollout.load` reads one.

    Raises:
        RolloutFileError: The file is cut off within a line, or is not a file of rollouts. Names the line.
        RolloutError: The renderer is for another model: it has other stop tokens.
        TypeError: The client cannot sample, or is synchronous.
        OSError: The file cannot be read.
    """
    return list(read_rollouts(path, functools.partial(Rollout._create, renderer, check_client(client))))
