"""The compiled functions of the package, if the extension was built. Each has a twin in Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

NATIVE_VERSION = 37
"""The interface of the C extension. An extension that was built for another version is not used."""

if TYPE_CHECKING:
    from renderers.core import _native as native
else:
    native = None
    """The C extension; None if it is not used."""
    if not os.environ.get("RENDERERS_PURE_PYTHON"):
        try:
            from renderers.core import _native
        except ImportError:
            pass
        else:
            native = _native if _native.VERSION == NATIVE_VERSION else None

COMPILED = native is not None

__all__ = ["COMPILED", "NATIVE_VERSION", "native"]
