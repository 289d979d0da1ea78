"""Settings for all tests: a Hugging Face cache of their own, filled with real models where these are at hand.

Real models come from the folder that `SHARED` names (`../shared` by default): its `hub/unpack` lays them out as a
cache. Tests that need them are skipped where there is no such folder, and say so.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.models import CACHE, HUB_AT_HAND, hub_models, model_behind, unpack_hub

# Before anything imports huggingface_hub, which reads these once.
os.environ["HF_HOME"] = str(CACHE)
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ.pop("HF_HUB_CACHE", None)
os.environ["RENDERERS_VERIFY"] = "1"  # every run of a template is compared with a plain one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of one real model beside each other, before all others: whoever runs them loads it once."""
    places = {name: at for at, name in enumerate(hub_models())}

    def place(item: pytest.Item) -> int:
        callspec = getattr(item, "callspec", None)
        models = [model_behind(value) for value in callspec.params.values()] if callspec else []
        return min((places[name] for name in models if name), default=len(places))

    items.sort(key=place)


@pytest.fixture(scope="session")
def hub() -> Path:
    """The root of a Hugging Face cache with real models in it."""
    if not HUB_AT_HAND:
        pytest.skip("real models are not at hand (set SHARED)")
    return unpack_hub()
