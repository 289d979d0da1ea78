"""`renderers compile`: write compiled vocabularies to the cache folder."""

from __future__ import annotations

from collections.abc import Sequence

from renderers.cli.inputs import load_model
from renderers.tokenizer.compile_ahead import compile_ahead


def compile(models: Sequence[str], *, revision: str | None) -> str:  # noqa: A001 - the name of the command
    """Compile the vocabularies of models. Return a line per model: its name, the file and its size."""
    lines = []
    for model in models:
        path = compile_ahead(load_model(model, revision))
        lines.append(f"{model}: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return "\n".join(lines)
