"""The import path of release 0.1; the classes are in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import Nemotron3Renderer, Nemotron3UltraRenderer, Nemotron35Renderer

__all__ = ["Nemotron3Renderer", "Nemotron3UltraRenderer", "Nemotron35Renderer"]
