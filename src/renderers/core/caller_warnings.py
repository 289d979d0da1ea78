"""`warn_caller`: issue a warning that names the caller's line."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_PACKAGE = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost line of code that is not in this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
