"""Renderers with changed settings."""

from __future__ import annotations

import dataclasses
from typing import Any

from renderers import ChatRenderer, create_renderer


def with_settings(renderer: ChatRenderer, **changes: Any) -> ChatRenderer:
    """Return a renderer of the same class with other settings."""
    return type(renderer)._from_settings(dataclasses.replace(renderer.settings, **changes))


def template_renderer(tokenizer: Any, **options: Any) -> ChatRenderer:
    """Create a renderer that runs the chat template, also for a family with a program in Python."""
    renderer = create_renderer(tokenizer, **options)
    try:
        renderer.template()
    except TypeError:
        return create_renderer(tokenizer, program="template", content_tokens="template", **options)
    return renderer
