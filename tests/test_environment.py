"""The tests set their own environment: variables of the shell do not change their outcome."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.models import ROOT


@pytest.mark.parametrize(
    "settings",
    [
        {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
        {"HF_HUB_CACHE": "/nowhere", "HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_other"},
        {"RENDERERS_VERIFY": "0", "RENDERERS_CACHED_TOKENIZERS": "0", "HF_HOME": "/nowhere"},
    ],
    ids=lambda settings: " ".join(settings),
)
def test_variables_of_the_shell_do_not_reach_the_tests(settings: dict[str, str]) -> None:
    tests = "first_load_asks or is_read_with_a_token or not_cached_is_not_found or is_read_as_its_own_client"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "tests/tokenizer/loading/test_hub.py",
        "tests/tokenizer/loading/test_locate.py",
        "-k",
        tests,
    ]
    done = subprocess.run(command, env=os.environ | settings, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
