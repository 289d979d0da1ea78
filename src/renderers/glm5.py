"""The import path of release 0.1; the classes are in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import GLM5Renderer, GLM51Renderer, GLM53Renderer

__all__ = ["GLM5Renderer", "GLM51Renderer", "GLM53Renderer"]
