"""Fixtures of all tests of the client."""

from __future__ import annotations

import pytest

from renderers.client.context_length import _LOOKUPS, context_lengths


@pytest.fixture(autouse=True)
def _without_known_context_lengths() -> None:
    """Forget the context lengths of servers of other tests, which may have had the same port."""
    context_lengths.clear()
    _LOOKUPS.clear()
