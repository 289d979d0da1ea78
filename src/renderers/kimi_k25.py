"""The import path of release 0.1; the class is in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import KimiK25Renderer

__all__ = ["KimiK25Renderer"]
