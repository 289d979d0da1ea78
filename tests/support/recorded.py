"""Requests to real engines and their responses, recorded by `scripts.record_engine` in `tests/client/recorded`."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["RECORDED", "VLLM_VERSIONS", "Exchange", "OneLine", "indented_json", "read_exchanges", "write_exchanges"]

RECORDED = Path(__file__).parents[1] / "client" / "recorded"
VLLM_VERSIONS = ("0.31.0", "0.32.0")
_DONE = "[DONE]"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request, and the response of an engine to it.

    `body` is the text of the response, with JSON written without spaces. A stream has the type `text/event-stream`.
    """

    name: str
    method: str
    path: str
    request: Any
    status: int
    content_type: str
    body: str

    @property
    def json(self) -> Any:
        """The body of a response that is no stream."""
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of the events of a stream; `"[DONE]"` as it is."""
        data = [line.removeprefix("data: ") for line in self.body.split("\n") if line]
        return [event if event == _DONE else json.loads(event) for event in data]


@functools.cache
def read_exchanges(engine: str) -> dict[str, Exchange]:
    """Return the recorded exchanges with an engine, such as `vllm-0.32.0`, by name."""
    entries = json.loads((RECORDED / f"{engine}.json").read_text(encoding="utf-8"))
    return {name: _exchange(name, entry) for name, entry in entries.items()}


def _exchange(name: str, entry: dict[str, Any]) -> Exchange:
    response = entry["response"]
    if "events" in response:
        data = (event if event == _DONE else _compact(event) for event in response["events"])
        body = "".join(f"data: {event}\n\n" for event in data)
    else:
        body = _compact(response["json"]) if "json" in response else ""
    return Exchange(
        name=name,
        method=entry["method"],
        path=entry["path"],
        request=entry.get("request"),
        status=response["status"],
        content_type=response["content_type"],
        body=body,
    )


def write_exchanges(engine: str, exchanges: Sequence[Exchange]) -> None:
    """Write the exchanges with an engine: a line for each request, each body of a response, and each event of a stream.

    A response without a body has neither `json` nor `events`.
    """
    entries = {exchange.name: _entry(exchange) for exchange in exchanges}
    (RECORDED / f"{engine}.json").write_text(indented_json(entries) + "\n", encoding="utf-8")


def _entry(exchange: Exchange) -> dict[str, Any]:
    request = {} if exchange.request is None else {"request": OneLine(exchange.request)}
    response: dict[str, Any] = {"status": exchange.status, "content_type": exchange.content_type}
    if exchange.content_type.startswith("text/event-stream"):
        response["events"] = [OneLine(event) for event in exchange.events]
    elif exchange.body:
        response["json"] = OneLine(exchange.json)
    return {"method": exchange.method, "path": exchange.path, **request, "response": response}


class OneLine(NamedTuple):
    """A value that is written in one line."""

    value: Any


def indented_json(value: Any, indent: str = "") -> str:
    """Return JSON with one line for each item, except in a `OneLine`."""
    inner = indent + "  "
    if isinstance(value, dict):
        items = (f"{inner}{_compact(key)}: {indented_json(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + indented_json(item, inner) for item in value) + f"\n{indent}]"
    return _compact(value.value if isinstance(value, OneLine) else value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
