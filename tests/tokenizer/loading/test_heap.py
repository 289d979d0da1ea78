"""Memory that parsing leaves behind goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from renderers.tokenizer.loading.load import release_freed_memory

FREES = """
from renderers.tokenizer.loading.load import release_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

# Many small blocks, with one after them that keeps the C library from giving them back by itself.
blocks = [bytes(1000) for _ in range(60_000)]
last = bytes(1000)
full = resident()
del blocks
release_freed_memory()
print(full - resident(), len(last))
"""


def test_it_does_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    release_freed_memory()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_blocks_are_given_back() -> None:
    # In a process of its own: where others have left holes, small blocks fill these.
    done = subprocess.run([sys.executable, "-c", FREES], check=True, capture_output=True, text=True)
    assert int(done.stdout.split()[0]) > 30_000_000
