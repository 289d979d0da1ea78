"""`UsageError`, in a module of its own so that `renderers --help` loads no tokenizer."""

from __future__ import annotations


class UsageError(ValueError):
    """The arguments of a command have the wrong form, or do not fit together."""
