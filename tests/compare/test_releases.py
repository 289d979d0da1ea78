"""Jobs run with both releases. Here, this release is in both places."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from renderers import EMBEDDED
from scripts.compare.differences import differences
from scripts.compare.releases import OldRelease, run_model


@pytest.fixture(scope="module")
def release() -> Iterator[OldRelease]:
    with OldRelease(sys.executable) as release:
        yield release


def test_the_families_have_their_switches(release: OldRelease) -> None:
    assert release.families()["qwen3"] == ["enable_thinking"]


def test_a_release_does_not_differ_from_itself(release: OldRelease) -> None:
    (results,) = run_model(release, str(EMBEDDED), quick=True)
    assert results.reason is None
    assert len(results.pairs) > 100
    assert [difference for pair in results.pairs for difference in differences(pair)] == []


def test_a_model_that_does_not_load_has_a_reason(release: OldRelease) -> None:
    (results,) = run_model(release, str(EMBEDDED / "none"), quick=True)
    assert results.reason is not None
    assert results.reason.startswith("release 0.1: ")
    assert results.pairs == []


def test_a_process_that_ends_is_an_error() -> None:
    with OldRelease(sys.executable) as release:
        release.send({"no": "model"})
        with pytest.raises(RuntimeError, match="ended with the status 1"):
            release.receive()
