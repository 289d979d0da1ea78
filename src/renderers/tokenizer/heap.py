"""Giving memory back to the system after a tokenizer was built.

Parsing a vocabulary leaves tens of megabytes of freed blocks in the C library's hands, as much again as the
tokenizer itself. A machine runs many processes that load one, so what they do not need should not stay with them.
"""

from __future__ import annotations

import sys

__all__ = ["give_back_freed_memory"]


def give_back_freed_memory() -> None:
    """Asks glibc to return freed blocks to the system; does nothing where there is another C library."""
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes
    except ImportError:  # an interpreter that was built without it
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
