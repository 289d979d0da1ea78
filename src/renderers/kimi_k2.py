"""The import path of release 0.1; the class is in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import KimiK2Renderer

__all__ = ["KimiK2Renderer"]
