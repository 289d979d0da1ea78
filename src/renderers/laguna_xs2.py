"""The import path of release 0.1; the classes are in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import LagunaM1Renderer, LagunaXS2Renderer, LagunaXS21Renderer

__all__ = ["LagunaM1Renderer", "LagunaXS2Renderer", "LagunaXS21Renderer"]
