"""The import path of release 0.1; the class is in `renderers.family_renderers`."""

from __future__ import annotations

from renderers.family_renderers import PrimeQwen3Renderer

__all__ = ["PrimeQwen3Renderer"]
