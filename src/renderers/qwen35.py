"""The import path of release 0.1; the class is in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import Qwen35Renderer

__all__ = ["Qwen35Renderer"]
