"""Copy exceptions."""

from __future__ import annotations

import copy


def copy_exception(error: Exception) -> Exception:
    """Return a copy of an exception, without its traceback."""
    try:
        return copy.copy(error)
    except Exception:
        # The constructor takes other arguments than `args`.
        copied = type(error).__new__(type(error), *error.args)
        copied.__dict__.update(vars(error))
        return copied
