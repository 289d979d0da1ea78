"""Types of JSON data that several layers share."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A message, a tool or another JSON object."""

Arguments: TypeAlias = tuple[tuple[str, Any], ...]
"""Arguments of a program as hashable pairs, so that they can be part of a cache key."""
