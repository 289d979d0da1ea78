"""Read the JSON body of a response. Large base64 fields are not decoded as JSON strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from renderers.client.evidence import read_list, read_object
from renderers.core.jsontypes import JsonObject
from renderers.core.text import quote_short
from renderers.errors import MalformedGenerateResponseError

__all__ = ["parse_generate_response", "read_choice", "read_json"]

_BLOB_FIELDS = ("routed_experts", "compact_logprobs")
_BLOB = re.compile(rb'\s*:\s*\{\s*"data"\s*:\s*(?P<blob>"[^"\\]*")')
"""The text after the name of such a field."""


def read_json(raw: bytes | str) -> JsonObject:
    """Return the JSON object of a body.

    Raises:
        MalformedGenerateResponseError: The body is not JSON, or not an object. Quotes its start.
    """
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:
        start = bytes(raw[:200]).decode("utf-8", "replace") if isinstance(raw, bytes) else raw[:200]
        raise MalformedGenerateResponseError(
            f"the response must be JSON, not {quote_short(start)} ({len(raw)} bytes): {error}"
        ) from error
    return read_object(payload, name="the response")


def parse_generate_response(raw: bytes) -> JsonObject:
    """Return the JSON of a response to `/inference/v1/generate`.

    `data` of `routed_experts` and of `compact_logprobs` is a memoryview of `raw` with the base64 text: it can have many
    megabytes.

    Raises:
        MalformedGenerateResponseError: The body is not the JSON of an object.

    >>> parsed = parse_generate_response(b'{"choices": [{"routed_experts": {"data": "AQI=", "shape": [2, 1, 1]}}]}')
    >>> bytes(parsed["choices"][0]["routed_experts"]["data"])
    b'AQI='
    """
    blobs = sorted(span for field in _BLOB_FIELDS for span in _find_blobs(raw, field))
    if not blobs:
        return read_json(raw)
    parts, end = [], 0
    for index, (start, stop) in enumerate(blobs):
        # A number takes the place of the text.
        parts += [raw[end:start], str(-1 - index).encode()]
        end = stop
    payload = read_json(b"".join((*parts, raw[end:])))
    choices = payload.get("choices")
    holders = [
        holder
        for choice in (choices if isinstance(choices, list) else [])
        if isinstance(choice, dict)
        for holder in (choice.get(field) for field in _BLOB_FIELDS)
        if isinstance(holder, dict) and type(holder.get("data")) is int
    ]
    if sorted(-1 - holder["data"] for holder in holders) != list(range(len(blobs))):
        # There is such a field outside of the choices.
        return read_json(raw)
    view = memoryview(raw)
    for holder in holders:
        start, stop = blobs[-1 - holder["data"]]
        holder["data"] = view[start + 1 : stop - 1]
    return payload


def _find_blobs(raw: bytes, field: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each text `data` of a field, with its quotes."""
    # Quotes in a JSON string are escaped, so this finds only fields. It is many times faster than a pattern.
    name = f'"{field}"'.encode()
    start = raw.find(name)
    while start >= 0:
        match = _BLOB.match(raw, start + len(name))
        if match:
            yield match.span("blob")
        start = raw.find(name, match.end() if match else start + len(name))


def read_choice(payload: JsonObject) -> JsonObject:
    """Return the only choice of a response.

    Raises:
        MalformedGenerateResponseError: There is none, or more than one.
    """
    choices: list[Any] = read_list(payload.get("choices"), name="choices")
    if len(choices) != 1:
        raise MalformedGenerateResponseError(f"choices must have one entry, not {len(choices)}")
    return read_object(choices[0], name="choices[0]")
