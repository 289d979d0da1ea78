"""Copies of renderers with changed settings."""

from __future__ import annotations

import dataclasses
from typing import Any

from renderers import ChatRenderer


def with_settings(renderer: ChatRenderer, **changes: Any) -> ChatRenderer:
    """Return a renderer of the same class with other settings."""
    return type(renderer)._from_settings(dataclasses.replace(renderer.settings, **changes))
