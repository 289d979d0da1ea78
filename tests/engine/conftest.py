"""The servers of the tests in this folder. The tests are collected only if `ENGINE_VERSIONS` lists versions of vLLM."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from renderers import ChatRenderer, create_renderer, load_tokenizer
from tests.engine.installation import TOKENIZER
from tests.engine.server import EngineServer, running_server
from tests.support.models import unpack_hub

VERSIONS = os.environ.get("ENGINE_VERSIONS", "").split()
collect_ignore_glob = [] if VERSIONS else ["test_*.py"]


@pytest.fixture(scope="session", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[EngineServer]:
    """A running vLLM server of each version, one at a time."""
    with running_server(request.param) as server:
        yield server


@pytest.fixture(scope="session")
def renderer() -> ChatRenderer:
    """A renderer with the tokenizer and the template of the served model, which keeps the reasoning of all turns."""
    unpack_hub()
    return create_renderer(load_tokenizer(TOKENIZER), thinking_retention="all")
