"""Typed configs, one class per family. Importing this package loads pydantic and registers all classes."""

from __future__ import annotations

# Importing a vendor's module registers its config classes.
from renderers.families.configs import (  # noqa: F401
    base,
    deepseek,
    gemma,
    glm,
    gpt_oss,
    kimi,
    laguna,
    llama,
    minimax,
    mistral,
    nemotron,
    others,
    qwen,
)
