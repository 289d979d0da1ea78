"""Memory that parsing leaves behind goes back to the system."""

from __future__ import annotations

import sys

import pytest

from renderers.tokenizer.heap import give_back_freed_memory


def test_it_does_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    give_back_freed_memory()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_blocks_are_given_back() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    # Many small blocks, with one after them that keeps the C library from giving them back by itself.
    blocks = [bytes(1000) for _ in range(60_000)]
    last = bytes(1000)
    full = resident()
    del blocks
    give_back_freed_memory()
    assert resident() < full - 30_000_000
    assert len(last) == 1000
