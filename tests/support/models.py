"""Locate the real models that tests use, if they are available."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

__all__ = [
    "CACHE",
    "HUB_AT_HAND",
    "KIMI_PATTERN",
    "ROOT",
    "hub_models",
    "model_behind",
    "one_model_per_template",
    "one_model_per_vocabulary",
    "snapshot_of",
    "unpack_hub",
]

KIMI_PATTERN = (
    r"[\p{Han}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The split pattern of Kimi, repeated here so that the reference does not depend on the package."""

ROOT = Path(__file__).resolve().parents[2]
SHARED = (ROOT / os.environ.get("SHARED", "../shared")).resolve()
CACHE = ROOT / ".cache" / "huggingface"
HUB_AT_HAND = (SHARED / "hub" / "unpack").is_file()


@functools.cache
def unpack_hub() -> Path:
    """Unpack the real models into a Hugging Face cache, and return its root."""
    subprocess.run([sys.executable, SHARED / "hub" / "unpack", CACHE], check=True, capture_output=True)
    return CACHE


@functools.cache
def hub_models() -> dict[str, dict[str, object]]:
    """Return the manifest entries of the real models by name; empty if there are none."""
    if not HUB_AT_HAND:
        return {}
    models: dict[str, dict[str, object]] = json.loads((SHARED / "hub" / "manifest.json").read_text())["models"]
    return models


def one_model_per_vocabulary() -> list[str]:
    """Return one model for each distinct pair of vocabulary and tokenizer config."""
    first: dict[tuple[object, object], str] = {}
    for name, model in hub_models().items():
        first.setdefault((model["tokenizer"], model["config"]), name)
    return list(first.values())


def one_model_per_template() -> list[str]:
    """Return one model for each distinct set of files that includes a template."""
    first: dict[str, str] = {}
    for name, model in hub_models().items():
        if model["template"]:
            first.setdefault(str([model[key] for key in ("tokenizer", "template", "config", "stop_ids")]), name)
    return list(first.values())


def model_behind(argument: object) -> str | None:
    """Return the real model that an argument of a test refers to, by its name or template; None if there is none."""
    names = (argument, *(getattr(argument, key, None) for key in ("model", "name")), *getattr(argument, "names", ()))
    known = _by_name_or_template()
    return next((known[name] for name in names if isinstance(name, str) and name in known), None)


@functools.cache
def _by_name_or_template() -> dict[str, str]:
    by_template = {str(model["template"]): name for name, model in reversed(hub_models().items())}
    return by_template | {name: name for name in hub_models()}


def snapshot_of(name: str) -> Path:
    """Return the directory with the files of a real model."""
    return next((unpack_hub() / "hub" / ("models--" + name.replace("/", "--")) / "snapshots").iterdir())
