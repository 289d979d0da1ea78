"""Texts that are compared and shown."""

from __future__ import annotations

__all__ = ["alike", "shown"]

_SHOWN = 60
"""How many characters of each end of a text are shown."""


def alike(one: str, other: str) -> int:
    """Returns how many characters two texts begin with alike.

    >>> alike("river", "rift")
    2
    """
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def shown(text: str) -> str:
    r"""Returns a text in quotes, without its middle where it is long.

    >>> shown("a\n")
    "'a\\n'"
    """
    return repr(text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}")
