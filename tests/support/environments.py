"""Create virtual environments for packages that cannot be installed beside ours, such as engines and old releases."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["CPU_TORCH_WHEELS", "create_environment", "find_environment", "install", "uninstall"]

CPU_TORCH_WHEELS = "https://download.pytorch.org/whl/cpu/torch/"
"""A page with builds of torch for the CPU. For Linux, the index has only the GPU build, of several gigabytes."""


def find_environment(home: Path, fill: Callable[[str], None]) -> str:
    """Return the interpreter of a virtual environment.

    If the environment is missing or incomplete, it is created, and `fill` is called with the interpreter to install
    packages.
    """
    # Written last, so that an incomplete environment is created again.
    stamp = home / "complete"
    if not stamp.is_file():
        fill(create_environment(home))
        stamp.touch()
    return _interpreter(home)


def create_environment(home: Path) -> str:
    """Create a virtual environment, in place of an earlier one, and return its interpreter."""
    shutil.rmtree(home, ignore_errors=True)
    if shutil.which("uv"):
        _run(["uv", "venv", "--quiet", "--python", sys.executable, str(home)])
    else:
        _run([sys.executable, "-m", "venv", str(home)])
    return _interpreter(home)


def install(python: str, requirements: Sequence[str], *, options: Sequence[str] = ()) -> None:
    """Install packages into the environment of an interpreter, with options that pip and uv share."""
    _run([*_pip(python, "install"), *options, *requirements])


def uninstall(python: str, package: str) -> None:
    """Remove a package, if it is there, from the environment of an interpreter."""
    _run([*_pip(python, "uninstall"), *(() if shutil.which("uv") else ("--yes",)), package])


def _interpreter(home: Path) -> str:
    return str(home / "bin" / "python")


def _pip(python: str, command: str) -> list[str]:
    if shutil.which("uv"):
        return ["uv", "pip", command, "--quiet", "--python", python]
    return [python, "-m", "pip", command, "--quiet", "--disable-pip-version-check"]


def _run(command: Sequence[str]) -> None:
    # pip regards packages on PYTHONPATH as installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
