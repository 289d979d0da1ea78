"""The environments of peers, the settings of all benchmark processes, and the facts that the numbers depend on.

Each peer has its own virtual environment below `.cache/peers`, created on the first run. The packages beside it have
the same versions there as in ours, if ours has them.
"""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import version

from renderers.core.native import COMPILED
from tests.support.environments import CPU_TORCH_WHEELS, create_environment, install
from tests.support.models import CACHE

SAME_VERSIONS = ("transformers", "tokenizers", "huggingface_hub")
FOREIGN_SETTINGS = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "TOKENIZERS_", "RAYON_", "RENDERERS_")


def pinned(*packages: str) -> tuple[str, ...]:
    """Return requirements of packages with the versions of our environment."""
    return tuple(f"{package}=={version(package)}" for package in packages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A package to compare with, packages to install with it, and a page of wheels that the index lacks."""

    requirement: str
    beside: tuple[str, ...]
    wheels: str | None = None

    @property
    def label(self) -> str:
        return self.requirement.replace("==", " ")


OLD_RELEASE = Peer(
    requirement="renderers==0.1.12",
    beside=pinned("httpx", "jinja2", *SAME_VERSIONS),
)
TML = Peer(
    requirement="tml-renderers==0.2.1",
    beside=(*pinned("numpy"), "torch==2.13.0+cpu; sys_platform == 'linux'", "torch==2.13.0; sys_platform != 'linux'"),
    wheels=CPU_TORCH_WHEELS,
)

TOKENIZERS = f"tokenizers {version('tokenizers')}"
TRANSFORMERS = f"transformers {version('transformers')}"

MEMORY = """
import json, resource
try:
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    peak, after = (int(status[key].split()[0]) / 1024 for key in ("VmHWM", "VmRSS"))
except FileNotFoundError:
    peak, after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, None
"""
"""Code that sets `peak` and `after` to the peak and the current resident memory, in MiB. `after` is None if unknown.

On Linux `ru_maxrss` survives `exec`: it is never below the memory of the parent process. `VmHWM` is that of the process
alone. On macOS `ru_maxrss` is in bytes.
"""


@functools.cache
def find_python(peer: Peer) -> str | None:
    """Return the interpreter of the environment of a peer; None if it cannot be created, with the reason printed."""
    home = CACHE.parent / "peers" / peer.requirement.replace("==", "-")
    requirements = [peer.requirement, *peer.beside]
    # Written last, so that an incomplete or outdated environment is created again.
    stamp = home / "requirements.txt"
    if not stamp.is_file() or stamp.read_text().splitlines() != requirements:
        try:
            links = ["--find-links", peer.wheels] if peer.wheels else []
            install(create_environment(home), requirements, options=links)
        except subprocess.CalledProcessError as error:
            reason = (error.stderr.strip().splitlines() or [str(error)])[-1]
            print(f"Skipped: {peer.label}, as its environment cannot be created: {reason}\n")
            return None
        stamp.write_text("\n".join(requirements) + "\n")
    return str(home / "bin" / "python")


def child_environment(**settings: str) -> dict[str, str]:
    """Return our environment variables without settings of the libraries, plus those that all contestants get."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
    common = {"HF_HOME": str(CACHE), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    return {**kept, **common, **settings}


def facts() -> str:
    """Return the facts that the numbers depend on, as a sentence."""
    packages = ", ".join(f"{package} {version(package)}" for package in (*SAME_VERSIONS, "jinja2"))
    compiled = "with" if COMPILED else "without"
    machine = f"{platform.system()} {platform.machine()} with {os.cpu_count()} CPUs"
    return f"Measured on {machine}, Python {platform.python_version()}, {packages}, {compiled} the C extension."
