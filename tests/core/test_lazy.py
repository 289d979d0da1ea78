"""Properties that are computed once."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import renderers
from renderers.core.lazy import lazy, lazy_pattern

SECONDS = 30


class Slow:
    """An object with one property, computed when `go` is set."""

    def __init__(self) -> None:
        self.started, self.go = threading.Event(), threading.Event()

    @lazy
    def value(self) -> object:
        self.started.set()
        self.go.wait(SECONDS)
        return object()


def test_the_value_is_computed_once_and_kept() -> None:
    slow = Slow()
    slow.go.set()
    assert slow.value is slow.value
    assert vars(slow)["value"] is slow.value


def test_threads_that_race_get_the_same_object() -> None:
    slow = Slow()
    with ThreadPoolExecutor(8) as pool:
        values = [pool.submit(lambda: slow.value) for _ in range(8)]
        slow.started.wait(SECONDS)
        slow.go.set()
        assert len({id(value.result()) for value in values}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_during_a_computation_can_compute_its_own() -> None:
    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.started.wait(SECONDS)

    def compute() -> None:
        other = Slow()
        other.go.set()
        sys.exit(0 if other.value is other.value else 1)

    child = multiprocessing.get_context("fork").Process(target=compute)
    child.start()
    child.join(SECONDS)
    hung = child.is_alive()
    if hung:
        child.kill()
    slow.go.set()
    thread.join()
    assert not hung
    assert child.exitcode == 0


def test_no_module_uses_a_cached_property_with_a_lock() -> None:
    package = Path(renderers.__file__).parent
    modules = [path for path in package.rglob("*.py") if path.name != "lazy.py"]
    assert [path for path in modules if "cached_property" in path.read_text()] == []


def test_a_lazy_pattern_behaves_as_the_compiled_one() -> None:
    compiled, pattern = re.compile("(a)|B", re.IGNORECASE), lazy_pattern("(a)|B", re.IGNORECASE)
    assert pattern.findall("xAbA") == compiled.findall("xAbA")
    assert pattern.sub(".", "xab") == compiled.sub(".", "xab")
    assert (pattern.pattern, pattern.flags, pattern.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert pattern.match("x") is None


def test_a_lazy_pattern_is_compiled_at_its_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.match("")
