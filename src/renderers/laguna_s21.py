"""The import path of release 0.1; the class is in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import LagunaS21Renderer

__all__ = ["LagunaS21Renderer"]
