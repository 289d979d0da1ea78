"""Files of rollouts: JSON lines with a rollout and its forks in each line."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from renderers.core.jsontypes import JsonObject
from renderers.errors import RolloutFileError
from renderers.rollout.records import FORMAT, VERSION, R, from_record
from renderers.rollout.strict_json import dump_json, load_json


def write_records(path: str | os.PathLike[str], records: Iterable[JsonObject]) -> None:
    """Write records to a file, which is replaced only when all of them are written."""
    target = Path(path)
    # Other processes may write to the same path.
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("x", encoding="utf-8") as file:
            for record in records:
                file.write(dump_json(record) + "\n")
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_rollouts(path: str | os.PathLike[str], create: Callable[..., R]) -> Iterator[R]:
    """Yield the rollouts of a file. `create` makes a rollout from the arguments of `RecordedRollout`.

    Raises:
        RolloutFileError: The file is cut off within a line, is not a file of rollouts, or has another version. Names
            the line.
    """
    with Path(path).open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield _read_line(line, f"{os.fspath(path)}, line {number}", create)
        except UnicodeDecodeError as error:
            raise RolloutFileError(f"{os.fspath(path)} is not a file of rollouts: {error}") from error


def _read_line(line: str, place: str, create: Callable[..., R]) -> R:
    try:
        record = load_json(line)
    except ValueError as error:
        cut = "" if line.endswith("\n") else " The file was cut off: save the rollouts again."
        raise RolloutFileError(f"{place} is not JSON: {error}.{cut}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise RolloutFileError(f"{place} is not a rollout. Pass a file that Rollout.save or save_rollouts has written.")
    if record.get("version") != VERSION:
        raise RolloutFileError(
            f"{place} has version {record.get('version')!r} of the format, and this package reads version {VERSION}"
        )
    try:
        return from_record(record, create)
    except (TypeError, ValueError) as error:
        raise RolloutFileError(f"{place} is damaged: {error}") from error
