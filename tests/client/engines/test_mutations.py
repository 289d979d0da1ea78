"""A response with a changed field gives a consistent completion or an error of this package, never anything else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers.client.completion import Completion
from renderers.client.engines.select import ENGINES
from renderers.errors import EngineError
from tests.client.engines.test_engines import ENGINE_OF_FORMAT, FORMATS, request_of
from tests.support.engine_formats import stream_events, whole_response
from tests.support.scripted_server import Reply

TOP = [{7: -0.5, 5: -1.5, 6: -2.5}, {8: -0.6, 5: -2.0, 4: -2.5}, {9: -0.7, 5: -1.9, 3: -2.5}]
REPLY = Reply([7, 8, 9], [-0.5, -0.6, -0.7], top=TOP, chunk=1)
VALUES = st.sampled_from(
    [None, True, 0, -1, 7, 2**40, -0.5, 1.5, float("nan"), "", "token_id:7", [], [7], [None], {}, {"a": 1}]
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values within JSON data."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from paths(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    result = copy.deepcopy(value)
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return result


def check(completion: Completion) -> None:
    """Check that a completion is consistent."""
    assert len(completion.token_ids) == len(completion.logprobs)
    assert all(type(token_id) is int and 0 <= token_id < 2**32 for token_id in completion.token_ids)
    assert all(type(logprob) is float and -9999 < logprob < 1e-3 for logprob in completion.logprobs)
    assert completion.finish_reason is None or isinstance(completion.finish_reason, str)
    assert completion.request_id is None or isinstance(completion.request_id, str)
    assert completion.usage is None or isinstance(completion.usage, dict)
    assert completion.stop_reason is None or isinstance(completion.stop_reason, int | str)
    if completion.top_ids is not None:
        assert completion.top_logprobs is not None
        assert list(map(len, completion.top_ids)) == list(map(len, completion.top_logprobs))
        assert len(completion.top_ids) == len(completion.token_ids)


@FORMATS
@pytest.mark.parametrize("top_logprobs", [0, 1])
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_changed_response_is_consistent_or_refused(format_name: str, top_logprobs: int, data: st.DataObject) -> None:
    engine, request = ENGINES[ENGINE_OF_FORMAT[format_name]], request_of(top_logprobs=top_logprobs)
    payload = whole_response(format_name, engine.build_request(request).body, REPLY)
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(paths(payload)) or [("choices",)]))
        payload = changed(payload, path, data.draw(VALUES))
    try:
        completion = engine.read_response(json.dumps(payload).encode(), request)
    except EngineError:
        return
    check(completion)


@FORMATS
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_stream_with_a_changed_event_is_consistent_or_refused(format_name: str, data: st.DataObject) -> None:
    engine, request = ENGINES[ENGINE_OF_FORMAT[format_name]], request_of(stream=True)
    events = stream_events(format_name, engine.build_request(request).body, REPLY)
    number = data.draw(st.integers(0, len(events) - 1))
    path = data.draw(st.sampled_from(list(paths(events[number]))))
    events[number] = changed(events[number], path, data.draw(VALUES))
    reader = engine.open_stream(request)
    try:
        ids = [token_id for event in events for token_id in reader.feed(json.dumps(event))]
        completion = reader.close()
    except EngineError:
        return
    check(completion)
    assert ids == completion.token_ids
