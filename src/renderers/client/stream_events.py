"""Read the events of a stream: server-sent events with JSON data."""

from __future__ import annotations

from renderers.client.response import read_json
from renderers.core.jsontypes import JsonObject
from renderers.errors import EngineStreamError

__all__ = ["END_OF_STREAM", "EventDecoder", "check_finished", "read_event", "read_server_message"]

END_OF_STREAM = "[DONE]"
"""The data of the last event."""


class EventDecoder:
    """Collect the data of server-sent events from chunks of bytes.

    >>> decoder = EventDecoder()
    >>> decoder.feed(b"data: {}\\n\\n: comment\\n\\nda"), decoder.feed(b"ta: [DONE]\\r\\n\\r\\n")
    (['{}'], ['[DONE]'])
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that end in a chunk."""
        # Lines are split at newlines only: JSON data may contain other line separators, such as U+2028.
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        events = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                events.append(b"\n".join(self._data).decode("utf-8", "replace"))
                self._data = []
        return events


def read_server_message(payload: object) -> str | None:
    """Return the message of an error response, in the forms of vLLM, SGLang and FastAPI. None if there is none.

    >>> read_server_message({"error": {"message": "too long", "code": 400}}), read_server_message({"detail": "no"})
    ('too long', 'no')
    """
    if not isinstance(payload, dict):
        return None
    error = payload.get("error", payload.get("detail", payload.get("message")))
    if isinstance(error, dict):
        error = error.get("message")
    return error if error is None or isinstance(error, str) else str(error)


def read_event(data: str) -> JsonObject:
    """Return the JSON object of an event.

    Raises:
        EngineStreamError: The event reports an error. Has the words of the server.
        MalformedGenerateResponseError: The event is not JSON.
    """
    event = read_json(data)
    if event.get("error") is not None:
        raise EngineStreamError(f"the engine reported an error in the stream: {read_server_message(event)}")
    return event


def check_finished(finish_reason: object, count: int) -> None:
    """Check that a stream had an event with a finish reason.

    Raises:
        EngineStreamError: It had none.
    """
    if finish_reason is None:
        raise EngineStreamError(f"the stream ended after {count} tokens, before the completion did")
