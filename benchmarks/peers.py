"""What the benchmarks have in common: peers' environments, what every process is given, what numbers depend on.

A peer lives in a virtual environment of its own, made on the first run and kept below `.cache/peers`; the packages
that decide the outcome have our versions there.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from renderers.parse.pieces import COMPILED
from tests.support.models import CACHE

__all__ = ["INCUMBENT", "MEMORY", "TML", "Peer", "child_environment", "facts", "find_python"]

SAME_VERSIONS = ("transformers", "tokenizers", "huggingface_hub")
FOREIGN_SETTINGS = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "TOKENIZERS_", "RAYON_", "RENDERERS_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A package to compare with, what is installed beside it, and a page of wheels that the index does not have."""

    requirement: str
    beside: tuple[str, ...]
    wheels: str | None = None

    @property
    def label(self) -> str:
        return self.requirement.replace("==", " ")


INCUMBENT = Peer(
    requirement="renderers==0.1.12",
    beside=("httpx", *(f"{package}=={version(package)}" for package in SAME_VERSIONS)),
)
TML = Peer(
    requirement="tml-renderers==0.2.1",
    # On Linux the index has only a torch of several gigabytes, for GPUs.
    beside=("numpy", "torch==2.13.0+cpu; sys_platform == 'linux'", "torch==2.13.0; sys_platform != 'linux'"),
    wheels="https://download.pytorch.org/whl/cpu/torch/",
)

MEMORY = """
import json, resource
try:
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    peak, after = (int(status[key].split()[0]) / 1024 for key in ("VmHWM", "VmRSS"))
except FileNotFoundError:
    peak, after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, None
"""
"""Binds the peak of a process's memory and what is resident now, in MiB; None where the system does not tell.

On Linux, `ru_maxrss` survives `exec`: it is never below the memory of the process that started this one.
`VmHWM` is this one's own. On macOS, `ru_maxrss` counts bytes.
"""


def find_python(peer: Peer) -> str | None:
    """Returns the interpreter of a peer's environment; None where none can be made, and says why."""
    home = CACHE.parent / "peers" / peer.requirement.replace("==", "-")
    wanted = [peer.requirement, *peer.beside]
    # Written last: an environment that was interrupted, or is for other versions, is made anew.
    stamp = home / "requirements.txt"
    if not stamp.is_file() or stamp.read_text().splitlines() != wanted:
        try:
            _make_environment(home, peer)
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or [str(error)])[-1]
            print(f"{peer.label} is left out, for its environment cannot be made: {reason}\n")
            return None
        stamp.write_text("\n".join(wanted) + "\n")
    return str(home / "bin" / "python")


def _make_environment(home: Path, peer: Peer) -> None:
    """Makes a virtual environment that holds a peer."""
    shutil.rmtree(home, ignore_errors=True)
    python = str(home / "bin" / "python")
    if shutil.which("uv"):
        make = ["uv", "venv", "--quiet", "--python", sys.executable, str(home)]
        install = ["uv", "pip", "install", "--quiet", "--python", python]
    else:
        make = [sys.executable, "-m", "venv", str(home)]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    links = ["--find-links", peer.wheels] if peer.wheels else []
    for command in (make, [*install, *links, peer.requirement, *peer.beside]):
        subprocess.run(command, check=True, capture_output=True, text=True)


def child_environment(**settings: str) -> dict[str, str]:
    """Returns our environment with the settings that all contestants get, and none of the user's own for them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
    common = {"HF_HOME": str(CACHE), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    return {**kept, **common, **settings}


def facts(*, rounds: int) -> Iterator[str]:
    """Yields what the numbers depend on."""
    packages = ", ".join(f"{package} {version(package)}" for package in ("renderers", *SAME_VERSIONS))
    compiled = "built" if COMPILED else "not built"
    yield f"Counted rounds: {rounds}. The part in C is {compiled}. Python {platform.python_version()}, {packages}."
    yield f"{platform.system()} {platform.machine()}, CPUs: {os.cpu_count()}, load average: {os.getloadavg()[0]:.1f}."
