"""The recorded responses have the shape of those of a running server, so tests that read them stay true."""

from __future__ import annotations

from typing import Any

from tests.engine.recording import send
from tests.engine.server import EngineServer
from tests.support.recorded import read_exchanges


def shape(value: Any) -> Any:
    """Return JSON data with the types of values in their place, and lists with the shapes of their items."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted({repr(shape(item)) for item in value})
    return type(value).__name__


def test_recorded_responses_have_the_shape_of_new_ones(server: EngineServer, record_property: Any) -> None:
    # The recorded server has a smaller context, and one of them has no scale-out endpoints.
    skipped = {"generate disabled", "generate full context"}
    compared = 0
    for name, recorded in read_exchanges(f"vllm-{server.version}").items():
        if name in skipped or "overlong" in name:
            continue
        new = send(server, name, recorded.path, recorded.request)
        assert (new.status, new.content_type) == (recorded.status, recorded.content_type), name
        if new.content_type.startswith("text/event-stream"):
            assert shape(new.events) == shape(recorded.events), name
        elif new.body:
            assert shape(new.json) == shape(recorded.json), name
        compared += 1
    record_property("responses", compared)
