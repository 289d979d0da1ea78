"""Functions in C survive finalizers that change their arguments in the middle of a call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from renderers.core.native import COMPILED
from tests.support.finalizers import CALLS

pytestmark = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")


@pytest.mark.parametrize("name", CALLS)
def test_finalizers_can_change_the_arguments_of_a_call(name: str) -> None:
    # Freed memory is overwritten, so that a read of it fails.
    variables = {**os.environ, "PYTHONMALLOC": "debug"}
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.support.finalizers", name]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")
