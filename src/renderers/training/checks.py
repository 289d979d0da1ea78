"""Check the arguments that all training functions share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sized
from typing import TypeVar

from renderers.core.text import describe_type

Row = TypeVar("Row")


def check_rows(rows: object, row_type: type[Row]) -> list[Row]:
    """Return rows as a list.

    Raises:
        TypeError: They are not an iterable of rows. Names the first other object.
    """
    if not isinstance(rows, Iterable):
        raise TypeError(f"rows must be a list of training samples, not {describe_type(rows)}")
    samples = list(rows)
    for index, row in enumerate(samples):
        if not isinstance(row, row_type):
            raise TypeError(f"row {index} must be a training sample, not {describe_type(row)}")
    return samples


def check_options(*, message_loss_mask: object, weights: object, content_sft_roles: object = None) -> None:
    """Raise a `TypeError` if an option of a training sample has a wrong type. None stands for no option."""
    roles = content_sft_roles
    if roles is not None and not (isinstance(roles, Collection) and all(isinstance(role, str) for role in roles)):
        raise TypeError(f"content_sft_roles must be a set of roles, such as {{'user'}}, not {roles!r}")
    if not isinstance(message_loss_mask, Sized | None):
        mask = describe_type(message_loss_mask)
        raise TypeError(f"message_loss_mask must be a list with an entry for each message, not {mask}")
    if not isinstance(weights, Mapping | None):
        raise TypeError(f"weights must be a dict of channels and roles, not {describe_type(weights)}")
