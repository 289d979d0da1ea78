"""A warning names the caller's line, however deep in the package it is issued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers.core.caller_warnings import warn_caller

INNER = "def inner():\n    warn_caller('careful', UserWarning)\ndef outer():\n    inner()\n"


def test_frames_of_the_package_are_skipped() -> None:
    module: dict[str, Any] = {"__name__": "renderers.somewhere", "warn_caller": warn_caller}
    exec(INNER, module)
    with pytest.warns(UserWarning, match="careful") as caught:
        module["outer"]()
    assert Path(caught[0].filename) == Path(__file__)


def test_a_direct_call_names_its_own_line() -> None:
    with pytest.warns(UserWarning, match="careful") as caught:
        warn_caller("careful", UserWarning)
    assert Path(caught[0].filename) == Path(__file__)
