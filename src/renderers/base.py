"""The import path of release 0.1: every name of `renderers`, the registry, and helpers for custom bridges."""

from __future__ import annotations

from typing import Any

import renderers
from renderers import *
from renderers.compat.bridge_helpers import introduces_user_query as introduces_user_query
from renderers.compat.bridge_helpers import resolve_thinking_retention as resolve_thinking_retention
from renderers.compat.bridge_helpers import (
    should_rerender_for_thinking_retention as should_rerender_for_thinking_retention,
)
from renderers.family_renderers import RENDERER_REGISTRY as RENDERER_REGISTRY


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(renderers, name)
