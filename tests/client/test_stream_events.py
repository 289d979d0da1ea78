"""Server-sent events are decoded from chunks of any size."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers.client.stream_events import EventDecoder, read_event, read_server_message
from renderers.errors import EngineStreamError, MalformedGenerateResponseError


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text(), max_size=5), st.data())
def test_events_do_not_depend_on_the_chunks(texts: list[str], data: st.DataObject) -> None:
    events = [json.dumps({"text": text}, ensure_ascii=data.draw(st.booleans())) for text in texts]
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    raw = "".join(f": comment{newline}data: {event}{newline}{newline}" for event in events).encode(
        "utf-8", "surrogatepass"
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    decoder = EventDecoder()
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    decoded = [event for chunk in chunks for event in decoder.feed(chunk)]
    assert decoded == [event.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for event in events]


def test_line_separators_in_data_do_not_end_an_event() -> None:
    assert EventDecoder().feed('data: {"text": "a\u2028b\x85c"}\n\n'.encode()) == ['{"text": "a\u2028b\x85c"}']


def test_data_of_several_lines_are_joined() -> None:
    assert EventDecoder().feed(b"data: {\ndata:}\n\n") == ["{\n}"]


def test_an_event_with_an_error_is_an_error() -> None:
    with pytest.raises(EngineStreamError, match="in the stream: no memory"):
        read_event('{"error": {"message": "no memory"}}')
    with pytest.raises(MalformedGenerateResponseError, match="must be JSON"):
        read_event("oops")


def test_a_response_without_a_message_has_none() -> None:
    assert read_server_message([]) is None
    assert read_server_message({"a": 1}) is None
