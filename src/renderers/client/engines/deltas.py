"""Join the events of a stream to one response, where each event has the tokens after those of the last one."""

from __future__ import annotations

from collections.abc import Callable

from renderers.client.completion import Completion
from renderers.client.evidence import read_ids, read_list, read_object
from renderers.client.response import read_choice
from renderers.client.stream_events import check_finished, read_event
from renderers.core.jsontypes import JsonObject

__all__ = ["DeltaReader"]


class DeltaReader:
    """Reads events that have a choice with `token_ids` and `logprobs`. `read` reads the joined response."""

    def __init__(self, read: Callable[[JsonObject], Completion]) -> None:
        self._read = read
        self._payload: JsonObject = {}
        self._choice: JsonObject = {"token_ids": []}

    def feed(self, data: str) -> list[int]:
        """Return the ids that an event adds."""
        event = read_event(data)
        choices = read_list(event.pop("choices", None), name="choices")
        self._payload |= _present(event)
        if not choices:
            return []
        choice = read_choice({"choices": choices})
        joined = self._choice
        ids = read_ids(choice.pop("token_ids", None) or [], name="choice.token_ids")
        joined["token_ids"] += ids
        logprobs = choice.pop("logprobs", None)
        if logprobs is not None:
            parts = joined.setdefault("logprobs", {})
            for name, values in _present(read_object(logprobs, name="choice.logprobs")).items():
                parts.setdefault(name, []).extend(read_list(values, name=f"choice.logprobs.{name}"))
        if isinstance(choice.get("sampling_mask"), list):
            joined.setdefault("sampling_mask", []).extend(choice.pop("sampling_mask"))
        joined |= _present(choice)
        return ids

    def close(self) -> Completion:
        """Return the completion of all events."""
        check_finished(self._choice.get("finish_reason"), len(self._choice["token_ids"]))
        return self._read({**self._payload, "choices": [self._choice]})


def _present(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
