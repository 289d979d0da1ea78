"""Warnings name the line of the caller."""

from __future__ import annotations

import pytest

from renderers.core.caller_warnings import warn_caller


def test_a_warning_is_issued_at_the_line_outside_of_the_package() -> None:
    with pytest.warns(UserWarning, match="^slow$") as warned:
        warn_caller("slow", UserWarning)
    assert warned[0].filename == __file__
